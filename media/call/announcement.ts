/** An announcement spoken once to a person on a separate leg, before that person is connected to the caller. */
import { frameSamples } from '../audio/frames.ts'
import { PendingAudio } from '../audio/pending.ts'
import type { Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'

export interface AnnouncementOptions {
  text: string
  voice: string | null
  language: string
  /** Sample rate of the leg in Hz. */
  sampleRate: number
  tts: Tts
  clock: Clock
  log: Log
  /** Called when everything was spoken, or TTS failed: the connection must not wait for it. */
  onSaid(): void
}

/** Longest announcement in ms, because the caller waits meanwhile. */
const LONGEST_MS = 30_000

export class Announcement {
  readonly #options: AnnouncementOptions
  readonly #sound: PendingAudio
  readonly #stopped = new AbortController()
  readonly #cancelWait: () => void
  #made = false

  constructor(options: AnnouncementOptions) {
    this.#options = options
    this.#sound = new PendingAudio(options.sampleRate)
    this.#cancelWait = options.clock.after(LONGEST_MS, () => this.#end())
    void this.#voice()
  }

  /** Returns 20 ms; null is silence. */
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

  /** Stops: there is no listener any more. */
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
      if (!signal.aborted) log.warn({ err: error }, 'could not synthesise an announcement')
    }
    this.#sound.end()
    this.#made = true
  }
}
