/** What a caller hears who waits for somebody, 20 ms at a time; `transfer-machine.ts` says which. */
import { FRAME_MS, rms } from '../audio/frames.ts'
import { SoundPipe } from '../audio/pipe.ts'
import { createMusic, createRinging, type WaitingSound } from '../audio/waiting.ts'
import type { AudioFrame } from '../ports/leg.ts'
import { heardBy, type TransferState } from './transfer-machine.ts'

/** After the agent's last word, so that music does not begin in its pauses. */
const MUSIC_AFTER_MS = 400
/** About −52 dBFS: some lines send silence until there is something to hear. */
const AUDIBLE = 80

export class HoldSound {
  readonly #sampleRate: number
  readonly #music: WaitingSound
  readonly #ringing: WaitingSound
  #early: SoundPipe | null = null
  /** Since anything was heard of their line; null: nothing was. */
  #silentMs: number | null = null
  #quietMs = 0

  /** `sampleRate`: of what the caller hears, in Hz. `to`: who is called; their country has a tone of its own. */
  constructor(sampleRate: number, to: string) {
    this.#sampleRate = sampleRate
    this.#music = createMusic(sampleRate)
    this.#ringing = createRinging(sampleRate, to)
  }

  /** Of their line, before it is answered. `sampleRate`, in Hz, is the same each time. */
  early({ pcm }: AudioFrame, sampleRate: number): void {
    if (rms(pcm) > AUDIBLE) this.#silentMs = 0
    this.#early ??= new SoundPipe(sampleRate, this.#sampleRate)
    this.#early.push(pcm)
  }

  /** `agent`: its words, which go before: its last ones, or those that it must end the call with. */
  next(state: TransferState, agent: Int16Array | null): Int16Array | null {
    // Also where nobody listens, so that it is not late afterwards.
    const early = this.#early?.pull() ?? null
    if (this.#silentMs !== null) this.#silentMs += FRAME_MS
    this.#quietMs = agent ? 0 : this.#quietMs + FRAME_MS
    if (agent || this.#quietMs < MUSIC_AFTER_MS) return agent
    const heard = heardBy(state, this.#silentMs)
    if (heard === 'early') return early
    return (heard === 'ringing' ? this.#ringing : this.#music).next()
  }
}
