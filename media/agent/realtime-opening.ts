/**
 * Answering machine detection of an outbound call for a speech-to-speech agent, with separate STT before the model
 * listens.
 */
import type { AnsweredBy } from '../contract/messages.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { Stt, SttStream, Vad, VadStream } from '../ports/speech.ts'
import { Opening, type OpeningOptions } from './opening.ts'
import { hear, silent } from './vad-hysteresis.ts'

export class RealtimeOpening {
  readonly #opening: Opening
  readonly #stt: SttStream
  readonly #vad: VadStream

  /** `lastLoudMs` returns the time when the caller's audio was last loud. */
  constructor(stt: { stt: Stt; vad: Vad }, options: Omit<OpeningOptions, 'stt'>, lastLoudMs: () => number) {
    const { plan, sampleRate } = options
    this.#stt = stt.stt.open({ sampleRate, language: plan.language })
    this.#opening = new Opening({ ...options, stt: this.#stt })
    let voice = silent
    this.#vad = stt.vad.open({
      sampleRate,
      onVoice: frame => {
        const { state, reading } = hear(voice, frame)
        voice = state
        this.#opening.voice(reading, lastLoudMs())
      },
    })
  }

  get holding(): boolean {
    return this.#opening.holding
  }

  get done(): boolean {
    return this.#opening.done
  }

  get answeredBy(): AnsweredBy {
    return this.#opening.answeredBy
  }

  push(frame: AudioFrame): void {
    this.#opening.sound(frame)
    this.#stt.push(frame)
    this.#vad.push(frame)
  }

  tick(nowMs: number): void {
    this.#opening.tick(nowMs)
  }

  /** Stops deciding: another person speaks from now on. */
  giveWay(): void {
    this.#opening.giveWay()
  }

  close(): void {
    this.#vad.close()
    this.#stt.close()
  }
}
