/** Words of somebody who speaks without being answered: utterances between pauses, read one after the other. */
import type { AudioFrame } from '../ports/leg.ts'
import type { Stt, SttStream, Vad, VadStream, VoiceFrame } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { hear, silent, type VoiceState } from './voice.ts'

export interface Dictated {
  text: string
  /** Wire times. */
  startMs: number
  endMs: number
}

export interface DictationOptions {
  vad: Vad
  stt: Stt
  sampleRate: number
  language: string
  clock: Clock
  log: Log
  onSaid(said: Dictated): void
}

/** A pause that ends a utterance. */
const PAUSE_MS = 700
/** So late may windows of a voice come. */
const NO_SOUND_MS = PAUSE_MS + 500
/** Recognition takes no more at a time; the words so far are read then. */
const LONGEST_MS = 15_000
/** The detector hears a voice some time after its beginning, and words have soft ends. */
const AROUND_MS = 250

export class Dictation {
  readonly #options: DictationOptions
  readonly #vad: VadStream
  readonly #stt: SttStream
  readonly #closed = new AbortController()
  #voice: VoiceState = silent
  #utterance: { startMs: number; lastMs: number } | null = null
  /** Read in the order they were said. */
  #reading: Promise<void> = Promise.resolve()

  constructor(options: DictationOptions) {
    const { vad, stt, sampleRate, language } = options
    this.#options = options
    this.#stt = stt.open({ sampleRate, language })
    this.#vad = vad.open({ sampleRate, onVoice: frame => this.#onVoice(frame) })
  }

  push(frame: AudioFrame): void {
    if (this.#closed.signal.aborted) return
    this.#stt.push(frame)
    this.#vad.push(frame)
  }

  /** Without sound there are no voice windows either: a microphone that was switched off ends what was said. */
  tick(nowMs: number): void {
    if (this.#utterance && nowMs - this.#utterance.lastMs > NO_SOUND_MS) this.#read()
  }

  /** Reads what was said till now. */
  end(): void {
    if (this.#utterance) this.#read()
  }

  /** Waits no longer than that for words that are being read. */
  async close(patienceMs: number): Promise<void> {
    const { clock } = this.#options
    this.end()
    let cancel = () => {}
    const late = new Promise<void>(resolve => (cancel = clock.after(patienceMs, resolve)))
    await Promise.race([this.#reading, late])
    cancel()
    this.#closed.abort()
    this.#vad.close()
    this.#stt.close()
  }

  #onVoice(frame: VoiceFrame): void {
    const { state, reading } = hear(this.#voice, frame)
    this.#voice = state
    const { voiced, atMs, windowMs } = reading
    if (voiced) {
      this.#utterance ??= { startMs: atMs - windowMs, lastMs: atMs }
      this.#utterance.lastMs = atMs
    }
    if (!this.#utterance) return
    const { startMs, lastMs } = this.#utterance
    if (atMs - lastMs >= PAUSE_MS || atMs - startMs >= LONGEST_MS) this.#read()
  }

  #read(): void {
    const { startMs, lastMs: endMs } = this.#utterance!
    this.#utterance = null
    const { signal } = this.#closed
    // Asked for now: the sound is kept for a while only.
    const words = this.#stt.transcribe(startMs - AROUND_MS, endMs + AROUND_MS, signal)
    this.#reading = this.#reading
      .then(() => words)
      .then(({ text }) => {
        if (text.trim() !== '' && !signal.aborted) this.#options.onSaid({ text: text.trim(), startMs, endMs })
      })
      .catch(error => {
        if (!signal.aborted) this.#options.log.warn({ err: error }, "an operator's words could not be read")
      })
    words.catch(() => {}) // told above
  }
}
