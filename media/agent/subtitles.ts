/** Live updates for a far end with a screen: the agent's state, and the text of each turn as it becomes known. */
import type { CallEventBody } from '../contract/messages.ts'
import type { DisplayUpdate } from '../ports/leg.ts'

/** The audio source that is speaking. */
export interface Speaking {
  active: boolean
  sounding: boolean
  /** Text of the current run that was played so far. */
  heard: string
}

/** Interval between updates in pulled frames: five updates per second. */
const EVERY = 10

export class Subtitles {
  readonly #show: (shown: DisplayUpdate) => void
  readonly #watched: boolean
  readonly #turns = { agent: 0, caller: 0 }
  readonly #shown = { agent: '', caller: '' }
  #state = ''
  #frames = 0

  constructor(show: ((shown: DisplayUpdate) => void) | undefined) {
    this.#watched = show !== undefined
    this.#show = show ?? (() => {})
  }

  /** Call it every 20 ms. `busy`: an answer is in progress. */
  tick(speechOutput: Speaking, busy: boolean): void {
    if (!this.#watched) return
    const { sounding } = speechOutput
    const state = sounding ? 'speaking' : busy || speechOutput.active ? 'thinking' : 'listening'
    if (state !== this.#state) this.#show({ type: 'state', state })
    this.#state = state
    if (sounding && ++this.#frames % EVERY === 0) this.#words('agent', speechOutput.heard, false)
  }

  /** Shows the caller's text so far, given in parts. */
  heard(parts: readonly string[]): void {
    this.#words('caller', parts.filter(part => part !== '').join(' '), false)
  }

  note(body: CallEventBody): void {
    if (body.type !== 'turn.finished') return
    const { role, heard_text } = body.turn
    // An operator takes the agent's part, so the text is shown as the agent's.
    if (role !== 'tool') this.#words(role === 'operator' ? 'agent' : role, heard_text, true)
  }

  #words(who: 'agent' | 'caller', text: string, final: boolean): void {
    if (!this.#watched || (!final && (text === '' || text === this.#shown[who]))) return
    this.#show({ type: 'words', who, segment: `${who}-${this.#turns[who]}`, text, final })
    this.#shown[who] = final ? '' : text
    if (final) this.#turns[who]++
  }
}
