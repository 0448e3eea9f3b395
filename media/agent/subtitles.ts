/** What the far end sees of a conversation: who is at it, and the words of each turn as they become known. */
import type { CallEventBody } from '../contract/messages.ts'
import type { Shown } from '../ports/leg.ts'

/** Of what speaks. */
export interface Speaking {
  readonly active: boolean
  readonly sounding: boolean
  /** Words heard by now of what is being said. */
  readonly heard: string
}

/** In pulled frames: five times a second. */
const EVERY = 10

export class Subtitles {
  readonly #show: (shown: Shown) => void
  readonly #watched: boolean
  readonly #turns = { agent: 0, caller: 0 }
  readonly #shown = { agent: '', caller: '' }
  #state = ''
  #frames = 0

  constructor(show: ((shown: Shown) => void) | undefined) {
    this.#watched = show !== undefined
    this.#show = show ?? (() => {})
  }

  /** Every 20 ms. `busy`: an answer is being worked on. */
  tick(speechOutput: Speaking, busy: boolean): void {
    if (!this.#watched) return
    const { sounding } = speechOutput
    const state = sounding ? 'speaking' : busy || speechOutput.active ? 'thinking' : 'listening'
    if (state !== this.#state) this.#show({ type: 'state', state })
    this.#state = state
    if (sounding && ++this.#frames % EVERY === 0) this.#words('agent', speechOutput.heard, false)
  }

  /** The caller's words so far, by their parts. */
  heard(parts: readonly string[]): void {
    this.#words('caller', parts.filter(part => part !== '').join(' '), false)
  }

  note(body: CallEventBody): void {
    if (body.type !== 'turn.finished') return
    const { role, heard_text } = body.turn
    // Whoever speaks in the agent's place is heard in its voice's place.
    if (role !== 'tool') this.#words(role === 'operator' ? 'agent' : role, heard_text, true)
  }

  #words(who: 'agent' | 'caller', text: string, final: boolean): void {
    if (!this.#watched || (!final && (text === '' || text === this.#shown[who]))) return
    this.#show({ type: 'words', who, segment: `${who}-${this.#turns[who]}`, text, final })
    this.#shown[who] = final ? '' : text
    if (final) this.#turns[who]++
  }
}
