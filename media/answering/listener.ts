/** Runs answering machine detection for one call: measures its audio, requests transcriptions, and reports results. */
import type { AudioFrame } from '../ports/leg.ts'
import type { SttStream } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import {
  type AnsweringEffect,
  type AnsweringInput,
  type AnsweringResult,
  type AnsweringState,
  type Evidence,
  initialAnswering,
  stepAnswering,
} from './detector.ts'
import { measureTone } from './tones.ts'

export interface ListenerOptions {
  sampleRate: number
  clock: Clock
  stt: Pick<SttStream, 'transcribe'>
  signal: AbortSignal
  onResult(found: Extract<AnsweringEffect, { type: 'result' }>): void
  /** A voicemail records from now on. */
  onSpeak(rule: 'beep' | 'silence' | 'timeout'): void
  /** The voicemail takes no message. */
  onNoMessage(): void
}

export class AnsweringListener {
  readonly #options: ListenerOptions
  #state: AnsweringState

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#state = initialAnswering(options.clock.now())
  }

  get result(): AnsweringResult | null {
    return this.#state.decided?.result ?? null
  }

  get evidence(): Evidence | null {
    return this.#state.decided
  }

  /** True when detection is complete, and the listener may be dropped. */
  get done(): boolean {
    return this.#state.done || this.#options.signal.aborted
  }

  /** Takes every 20 ms frame of the far end. */
  sound({ pcm, atMs }: AudioFrame): void {
    if (!this.done) this.#feed({ type: 'sound', measure: measureTone(pcm, this.#options.sampleRate), atMs })
  }

  /** Takes every VAD window, without the agent's echo. */
  voice(reading: { voiced: boolean; atMs: number; windowMs: number }, loudMs: number): void {
    this.#feed({ type: 'voice', ...reading, loudMs })
  }

  tick(atMs: number): void {
    this.#feed({ type: 'tick', atMs })
  }

  #feed(input: AnsweringInput): void {
    if (this.done) return
    const { state, effects } = stepAnswering(this.#state, input)
    this.#state = state
    for (const effect of effects) this.#perform(effect)
  }

  #perform(effect: AnsweringEffect): void {
    switch (effect.type) {
      case 'transcribe':
        void this.#transcribe(effect.fromMs, effect.toMs)
        return
      case 'result':
        this.#options.onResult(effect)
        return
      case 'speak':
        this.#options.onSpeak(effect.rule)
        return
      case 'no_message':
        this.#options.onNoMessage()
    }
  }

  async #transcribe(fromMs: number, toMs: number): Promise<void> {
    const { stt, signal, clock } = this.#options
    let text: string | null = null
    try {
      text = (await stt.transcribe(fromMs, toMs, signal)).text
    } catch {
      // Without words, the detector uses cadence.
    }
    this.#feed({ type: 'transcript', fromMs, toMs, text, atMs: clock.now() })
  }
}
