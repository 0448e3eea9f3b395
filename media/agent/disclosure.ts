/**
 * The sentence that says that the agent is an AI. It stays due until it was played in full: early speech may cut it
 * off.
 */
import type { CallEventBody } from '../contract/messages.ts'

export class Disclosure {
  #owed: string | null

  constructor(text: string | null) {
    this.#owed = text
  }

  /** The text to speak before anything else, or null once it was played. */
  get owed(): string | null {
    return this.#owed
  }

  note(event: CallEventBody): void {
    if (event.type !== 'turn.finished' || event.turn.role !== 'agent' || this.#owed === null) return
    if (event.turn.heard_text.includes(this.#owed.trim())) this.#owed = null
  }
}
