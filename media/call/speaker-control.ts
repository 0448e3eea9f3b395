/** Turn ownership between the agent, operators and a transfer target: the agent speaks again after the last of them. */
import type { AgentControls } from '../agent/agent-session.ts'

export class SpeakerControl {
  readonly #talk: AgentControls
  readonly #held = new Set<string>()

  constructor(talk: AgentControls) {
    this.#talk = talk
  }

  /** The agent as seen by `who`, one of those who may speak instead of it. `onTaken` runs when `who` starts to. */
  for(who: string, onTaken: () => void = () => {}): AgentControls {
    return {
      stepAside: () => {
        if (!this.#talk.stepAside()) return false
        this.#held.add(who)
        onTaken()
        return true
      },
      stepIn: () => {
        if (this.#held.delete(who) && this.#held.size === 0) this.#talk.stepIn()
      },
      operatorSaid: said => this.#talk.operatorSaid(said),
      instruct: text => this.#talk.instruct(text),
    }
  }
}
