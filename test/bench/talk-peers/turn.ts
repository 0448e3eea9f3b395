/** One end of a conversation, judged by times alone: when its next words are due, and how the other end reacted. */

/** Milliseconds of silence that end an utterance. */
const GAP_MS = 120
/** Milliseconds of silence after which the other end has finished. */
const QUIET_MS = 300
const PATIENCE_MS = 15_000
/** An answer that started during the sentence may be the only one. */
const AFTER_CUT_IN_MS = 4000

export interface Said {
  firstSentMs: number
  lastSentMs: number
  /** Start of the first utterance after the last word. Null when none began later. */
  answeredMs: number | null
  /** The last audio of the utterance that these words interrupted. Null when the other end was silent. */
  stoppedMs: number | null
  /** Utterances of the other end that began during these words. */
  cutIns: number
}

export interface Words {
  /** Length in packets. */
  packets: number
  /**
   * Milliseconds after the other end began at which to speak; null waits for silence. Never before the other end's
   * greeting.
   */
  overMs: number | null
}

export class Turns {
  #words: Words | null = null
  #said: Said = { firstSentMs: 0, lastSentMs: 0, answeredMs: null, stoppedMs: null, cutIns: 0 }
  #sent = 0
  #givenMs = 0
  /** The current or latest utterance. */
  #begunMs = Number.NEGATIVE_INFINITY
  #lastMs = Number.NEGATIVE_INFINITY

  say(words: Words, nowMs: number): void {
    this.#words = words
    this.#said = { firstSentMs: 0, lastSentMs: 0, answeredMs: null, stoppedMs: null, cutIns: 0 }
    this.#sent = 0
    this.#givenMs = nowMs
  }

  /** Index of the packet of the words to send now; null for none. */
  next(nowMs: number): number | null {
    const words = this.#words
    if (!words || this.#sent >= words.packets) return null
    if (this.#sent === 0) {
      if (!this.#isTime(words.overMs, nowMs)) return null
      this.#said.firstSentMs = nowMs
    }
    this.#said.lastSentMs = nowMs
    return this.#sent++
  }

  /** Records audio of the other end. */
  heard(nowMs: number): void {
    const begins = nowMs - this.#lastMs >= GAP_MS
    if (begins) this.#begunMs = nowMs
    this.#lastMs = nowMs
    const words = this.#words
    if (!words || this.#sent === 0) return
    const said = this.#said
    if (this.#begunMs < said.firstSentMs) said.stoppedMs = nowMs
    else if (this.#sent < words.packets) said.cutIns += begins ? 1 : 0
    else if (this.#begunMs > said.lastSentMs) said.answeredMs ??= nowMs
  }

  /** The result of the words, once it is final; `late`: no reaction came. */
  settled(nowMs: number): Said | 'late' | null {
    const words = this.#words
    if (!words) return null
    const said = this.#said
    const isSaid = this.#sent === words.packets
    if (said.answeredMs !== null || (isSaid && said.cutIns > 0 && nowMs - said.lastSentMs > AFTER_CUT_IN_MS)) {
      this.#words = null
      return said
    }
    const sinceMs = isSaid ? said.lastSentMs : Math.max(this.#givenMs, said.lastSentMs)
    if (nowMs - sinceMs <= PATIENCE_MS) return null
    this.#words = null
    return 'late'
  }

  #isTime(overMs: number | null, nowMs: number): boolean {
    const quietMs = nowMs - this.#lastMs
    if (quietMs === Number.POSITIVE_INFINITY) return false
    return overMs === null ? quietMs >= QUIET_MS : quietMs < GAP_MS && nowMs - this.#begunMs >= overMs
  }
}
