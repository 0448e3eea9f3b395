/** Audio for a caller who waits for a transfer, 20 ms at a time; `transfer-machine.ts` selects its kind. */
import { FRAME_MS, rms } from '../audio/frames.ts'
import { createMusic, createRinging, type WaitingAudio } from '../audio/hold-audio.ts'
import { AudioPipe } from '../audio/pipe.ts'
import type { AudioFrame } from '../ports/leg.ts'
import { type TransferState, waitingAudio } from './transfer-machine.ts'

/** Milliseconds after the agent's last word, so that music does not start in its pauses. */
const MUSIC_AFTER_MS = 400
/** RMS of about −52 dBFS: some trunks send silence as early media until there is something to hear. */
const AUDIBLE = 80

export class HoldAudio {
  readonly #sampleRate: number
  readonly #music: WaitingAudio
  readonly #ringing: WaitingAudio
  #early: AudioPipe | null = null
  /** Milliseconds since the early media was last audible; null until it first was. */
  #silentMs: number | null = null
  #quietMs = 0

  /** `sampleRate`: the caller's, in Hz. `to`: the number called, which selects the country's ringing tone. */
  constructor(sampleRate: number, to: string) {
    this.#sampleRate = sampleRate
    this.#music = createMusic(sampleRate)
    this.#ringing = createRinging(sampleRate, to)
  }

  /** Adds early media of the called line. `sampleRate`, in Hz, is the same for each frame. */
  early({ pcm }: AudioFrame, sampleRate: number): void {
    if (rms(pcm) > AUDIBLE) this.#silentMs = 0
    this.#early ??= new AudioPipe(sampleRate, this.#sampleRate)
    this.#early.push(pcm)
  }

  /** `agent`: the agent's audio, which takes precedence: its last words, or those with which it must end the call. */
  next(state: TransferState, agent: Int16Array | null): Int16Array | null {
    // Pulled also when it is not played, so that it is not late afterwards.
    const early = this.#early?.pull() ?? null
    if (this.#silentMs !== null) this.#silentMs += FRAME_MS
    this.#quietMs = agent ? 0 : this.#quietMs + FRAME_MS
    if (agent || this.#quietMs < MUSIC_AFTER_MS) return agent
    const heard = waitingAudio(state, this.#silentMs)
    if (heard === 'early') return early
    return (heard === 'ringing' ? this.#ringing : this.#music).next()
  }
}
