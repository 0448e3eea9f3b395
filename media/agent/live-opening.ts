/** Who answered a call that we placed, for an agent whose model does not listen yet: by speech-to-text of its own. */
import type { AnsweredBy } from '../contract/messages.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { Stt, SttStream, Vad, VadStream } from '../ports/speech.ts'
import { Opening, type OpeningOptions } from './opening.ts'
import { hear, silent } from './voice.ts'

export class LiveOpening {
  readonly #judge: Opening
  readonly #stt: SttStream
  readonly #vad: VadStream

  /** `lastLoudMs`: when the caller's sound was last loud. */
  constructor(stt: { stt: Stt; vad: Vad }, options: Omit<OpeningOptions, 'stt'>, lastLoudMs: () => number) {
    const { plan, sampleRate } = options
    this.#stt = stt.stt.open({ sampleRate, language: plan.language })
    this.#judge = new Opening({ ...options, stt: this.#stt })
    let voice = silent
    this.#vad = stt.vad.open({
      sampleRate,
      onVoice: frame => {
        const { state, reading } = hear(voice, frame)
        voice = state
        this.#judge.voice(reading, lastLoudMs())
      },
    })
  }

  get holding(): boolean {
    return this.#judge.holding
  }

  get done(): boolean {
    return this.#judge.done
  }

  get answeredBy(): AnsweredBy {
    return this.#judge.answeredBy
  }

  push(frame: AudioFrame): void {
    this.#judge.sound(frame)
    this.#stt.push(frame)
    this.#vad.push(frame)
  }

  tick(nowMs: number): void {
    this.#judge.tick(nowMs)
  }

  /** Somebody else speaks from now on. */
  giveWay(): void {
    this.#judge.giveWay()
  }

  close(): void {
    this.#vad.close()
    this.#stt.close()
  }
}
