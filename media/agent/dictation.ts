/** Transcribes a speaker who is not answered: utterances between pauses, in order. */
import type { AudioFrame } from '../ports/leg.ts'
import type { Stt, SttStream, Vad, VadStream, VoiceFrame } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { silent, stepVad, type VadState } from './vad-hysteresis.ts'

export interface Dictated {
  text: string
  /** Arrival times in ms. */
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

/** Milliseconds of silence that end an utterance. */
const PAUSE_MS = 700
/** Milliseconds without VAD windows that end an utterance; windows may arrive this late. */
const NO_SOUND_MS = PAUSE_MS + 500
/** Longest utterance in ms that STT accepts at once; a longer one is split. */
const LONGEST_MS = 15_000
/** Padding in ms: VAD reports speech some time after its start, and words fade out. */
const AROUND_MS = 250

export class Dictation {
  readonly #options: DictationOptions
  readonly #vad: VadStream
  readonly #stt: SttStream
  readonly #closed = new AbortController()
  #voice: VadState = silent
  #utterance: { startMs: number; lastMs: number } | null = null
  /** Transcriptions finish in the order of the utterances. */
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

  /** Ends the utterance when VAD windows stop arriving, as when a microphone is muted. */
  tick(nowMs: number): void {
    if (this.#utterance && nowMs - this.#utterance.lastMs > NO_SOUND_MS) this.#transcribe()
  }

  /** Transcribes what was said so far. */
  end(): void {
    if (this.#utterance) this.#transcribe()
  }

  /** Waits at most `maxWaitMs` for pending transcriptions. */
  async close(maxWaitMs: number): Promise<void> {
    const { clock } = this.#options
    this.end()
    let cancel = () => {}
    const late = new Promise<void>(resolve => (cancel = clock.after(maxWaitMs, resolve)))
    await Promise.race([this.#reading, late])
    cancel()
    this.#closed.abort()
    this.#vad.close()
    this.#stt.close()
  }

  #onVoice(frame: VoiceFrame): void {
    const { state, reading } = stepVad(this.#voice, frame)
    this.#voice = state
    const { voiced, atMs, windowMs } = reading
    if (voiced) {
      this.#utterance ??= { startMs: atMs - windowMs, lastMs: atMs }
      this.#utterance.lastMs = atMs
    }
    if (!this.#utterance) return
    const { startMs, lastMs } = this.#utterance
    if (atMs - lastMs >= PAUSE_MS || atMs - startMs >= LONGEST_MS) this.#transcribe()
  }

  #transcribe(): void {
    const { startMs, lastMs: endMs } = this.#utterance!
    this.#utterance = null
    const { signal } = this.#closed
    // Request it now: STT keeps the audio only for a while.
    const words = this.#stt.transcribe(startMs - AROUND_MS, endMs + AROUND_MS, signal)
    this.#reading = this.#reading
      .then(() => words)
      .then(({ text }) => {
        if (text.trim() !== '' && !signal.aborted) this.#options.onSaid({ text: text.trim(), startMs, endMs })
      })
      .catch(error => {
        if (!signal.aborted) this.#options.log.warn({ err: error }, "could not transcribe an operator's speech")
      })
    words.catch(() => {}) // logged above
  }
}
