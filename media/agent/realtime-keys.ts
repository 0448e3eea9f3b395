/** Digits that the caller presses, collected to one turn, for a speech-to-speech model. */
import { KEYS_END_MS, KEYS_MOST } from './turn.ts'

export class KeyEntry {
  #keys: { digits: string; lastMs: number; complete: boolean } | null = null

  /** True from the first key until `take`. */
  get open(): boolean {
    return this.#keys !== null
  }

  press(digit: string, nowMs: number): void {
    const ends = digit === '#'
    const digits = (this.#keys?.digits ?? '') + (ends ? '' : digit)
    this.#keys = { digits, lastMs: nowMs, complete: ends || digits.length >= KEYS_MOST }
  }

  /** Returns the digits once they are complete, and forgets them; null before. They are empty after `#` alone. */
  take(nowMs: number): { digits: string; lastMs: number } | null {
    const keys = this.#keys
    if (!keys || (!keys.complete && nowMs - keys.lastMs < KEYS_END_MS)) return null
    this.#keys = null
    return keys
  }
}
