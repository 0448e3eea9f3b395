/** Who speaks to the caller in the agent's place: an operator, who the call was given to, or both; the agent has it after the last. */
import type { Operated } from '../agent/agent-session.ts'

export class SpeakerControl {
  readonly #talk: Operated
  readonly #held = new Set<string>()

  constructor(talk: Operated) {
    this.#talk = talk
  }

  /** The agent, as one of those has it who may take its place. */
  for(who: string, onTaken: () => void = () => {}): Operated {
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
