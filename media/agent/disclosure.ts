/** The sentence that says it is an AI: owed until it was heard to its end. A caller's early words may cut it off. */
import type { CallEventBody } from '../contract/messages.ts'

export class Disclosure {
  #owed: string | null

  constructor(text: string | null) {
    this.#owed = text
  }

  /** To be said before anything else, or null. */
  get owed(): string | null {
    return this.#owed
  }

  note(event: CallEventBody): void {
    if (event.type !== 'turn.finished' || event.turn.role !== 'agent' || this.#owed === null) return
    if (event.turn.heard_text.includes(this.#owed.trim())) this.#owed = null
  }
}
