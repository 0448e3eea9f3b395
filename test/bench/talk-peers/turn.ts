/** One end of a conversation, judged by times alone: when its next words are due, and what the other end did about them. */

/** Of silence, which ends a utterance of sound. */
const GAP_MS = 120
/** The other end has finished. */
const QUIET_MS = 300
const PATIENCE_MS = 15_000
/** Who has answered into a sentence may owe nothing more. */
const AFTER_CUT_IN_MS = 4000

export interface Said {
  firstSentMs: number
  lastSentMs: number
  /** The first of a utterance of sound that began after the last word. Null: all that came began before it. */
  answeredMs: number | null
  /** The last of what the other end was saying when these words began. Null: it was silent. */
  stoppedMs: number | null
  /** Utterances of sound that began while these words were spoken. */
  cutIns: number
}

export interface Words {
  /** How many packets they take. */
  packets: number
  /** Speaks so long after the other end began; null: when it is silent. Nobody speaks before the other end has greeted. */
  overMs: number | null
}

export class Turns {
  #words: Words | null = null
  #said: Said = { firstSentMs: 0, lastSentMs: 0, answeredMs: null, stoppedMs: null, cutIns: 0 }
  #sent = 0
  #givenMs = 0
  /** The utterance that is heard, or was last. */
  #begunMs = Number.NEGATIVE_INFINITY
  #lastMs = Number.NEGATIVE_INFINITY

  say(words: Words, nowMs: number): void {
    this.#words = words
    this.#said = { firstSentMs: 0, lastSentMs: 0, answeredMs: null, stoppedMs: null, cutIns: 0 }
    this.#sent = 0
    this.#givenMs = nowMs
  }

  /** Which packet of the words leaves now; null: none does. */
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

  /** Sound of the other end. */
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

  /** What came of the words, once nothing more can; `late`: nothing came. */
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
