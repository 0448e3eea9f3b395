/** What is said once to somebody who is on a leg of their own, before they are connected to the caller. */
import { frameSamples } from '../audio/frames.ts'
import { PendingSound } from '../audio/pending.ts'
import type { Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'

export interface AnnouncementOptions {
  text: string
  voice: string | null
  language: string
  /** Of the leg, in Hz. */
  sampleRate: number
  tts: Tts
  clock: Clock
  log: Log
  /** All was said; or there is no voice to say it: nobody is kept apart for that. */
  onSaid(): void
}

/** The caller waits meanwhile. */
const LONGEST_MS = 30_000

export class Announcement {
  readonly #options: AnnouncementOptions
  readonly #sound: PendingSound
  readonly #stopped = new AbortController()
  readonly #cancelWait: () => void
  #made = false

  constructor(options: AnnouncementOptions) {
    this.#options = options
    this.#sound = new PendingSound(options.sampleRate)
    this.#cancelWait = options.clock.after(LONGEST_MS, () => this.#end())
    void this.#voice()
  }

  /** 20 ms; null is silence. */
  pull(): Int16Array | null {
    const frame = frameSamples(this.#options.sampleRate)
    const { available } = this.#sound
    if (available >= frame) return this.#sound.take(frame)
    if (!this.#made) return null
    if (available === 0) {
      this.#end()
      return null
    }
    const last = new Int16Array(frame)
    last.set(this.#sound.take(available))
    return last
  }

  /** Nobody hears it any more. */
  stop(): void {
    this.#cancelWait()
    this.#stopped.abort()
  }

  #end(): void {
    if (this.#stopped.signal.aborted) return
    this.stop()
    this.#options.onSaid()
  }

  async #voice(): Promise<void> {
    const { text, voice, language, tts, log } = this.#options
    const { signal } = this.#stopped
    try {
      for await (const { pcm, sampleRate } of tts.speak({ text, voice, language }, signal)) {
        this.#sound.write(pcm, sampleRate)
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'an announcement could not be voiced')
    }
    this.#sound.end()
    this.#made = true
  }
}
