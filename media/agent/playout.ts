/**
 * The agent's speech as a queue that the leg pulls from: the only module that knows what was played. A run of speech
 * consists of sentences, each of which is written while it is being synthesised.
 */
import { FRAME_MS, frameSamples } from '../audio/frames.ts'
import { PendingAudio } from '../audio/pending.ts'
import type { SpokenWord } from '../ports/speech.ts'
import { heardText, paceOf, SHORTEST, USUAL_PACE } from './heard.ts'

/** A sentence that is being synthesised. */
export interface Sentence {
  readonly text: string
  /** Adds audio; `sampleRate` is its own, in Hz. */
  write(pcm: Int16Array, sampleRate: number): void
  /** Adds word timings, counted from the first sample written. */
  time(words: readonly SpokenWord[]): void
  /** Ends the sentence. `failed`: its audio is incomplete. Returns false when it was already given up. */
  end(failed?: boolean): boolean
}

export interface Spoken {
  text: string
  heardText: string
  heardMs: number
  /** Time of the first frame on the wire; null when none was played. */
  startedMs: number | null
  endedMs: number | null
}

interface Entry {
  text: string
  sound: PendingAudio
  played: number
  words: SpokenWord[]
  complete: boolean
  failed: boolean
}

export interface PlayoutEvents {
  /** First frame of a run of speech, with its time on the wire. */
  onStarted(atMs: number): void
  /** Everything queued was played, and the run was closed. */
  onFinished(atMs: number): void
  /** A sentence was given up because its audio did not arrive. */
  onStalled(): void
}

/** Milliseconds without audio after which a sentence is given up. Longer than the deadlines of the TTS adapters. */
const STALLED_MS = 12_000

/** Minimum length in letters of a sentence that updates the voice's pace. */
const PACED_LETTERS = 30

export class Playout {
  readonly #rate: number
  readonly #frame: number
  readonly #perMs: number
  readonly #events: PlayoutEvents
  #queue: Entry[] = []
  #done: Entry[] = []
  #startedMs: number | null = null
  #lastMs: number | null = null
  #open = false
  #running = false
  #paused = false
  /** Milliseconds waited for the next audio of the sentence. */
  #waitedMs = 0
  #pace = USUAL_PACE
  /** Number of frames that were due within a sentence and not synthesised in time. */
  starved = 0

  constructor(sampleRate: number, events: PlayoutEvents) {
    this.#rate = sampleRate
    this.#frame = frameSamples(sampleRate)
    this.#perMs = sampleRate / 1000
    this.#events = events
  }

  /** True from the first sentence queued until the run is finished or cut. */
  get active(): boolean {
    return this.#running
  }

  /** True after the first frame was played, unless paused. */
  get sounding(): boolean {
    return this.#running && !this.#paused && this.#startedMs !== null
  }

  /** Starts a sentence. The run stays open between sentences until `finish` closes it. */
  add(text: string): Sentence {
    this.#open = true
    this.#running = true
    const entry: Entry = {
      text,
      sound: new PendingAudio(this.#rate),
      played: 0,
      words: [],
      complete: false,
      failed: false,
    }
    this.#queue.push(entry)
    return {
      text,
      write: (pcm, sampleRate) => {
        if (!entry.complete) entry.sound.write(pcm, sampleRate)
      },
      time: words => {
        entry.words.push(...words)
      },
      end: (failed = false) => {
        if (entry.complete) return false
        entry.complete = true
        entry.failed = failed
        entry.sound.end()
        return true
      },
    }
  }

  finish(): void {
    this.#open = false
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
  }

  pull(atMs: number): Int16Array | null {
    if (this.#paused) return null
    this.#retire()
    const entry = this.#queue[0]
    if (!entry) {
      if (this.#running && !this.#open) {
        this.#running = false
        this.#events.onFinished(this.#lastMs ?? atMs)
      }
      return null
    }
    if (entry.sound.available < this.#frame && !entry.complete) {
      if (entry.played > 0) this.starved++
      this.#waitedMs += FRAME_MS
      if (this.#waitedMs >= STALLED_MS) this.#giveUp(entry)
      return null
    }
    this.#waitedMs = 0
    const pcm = this.#take(entry)
    if (this.#startedMs === null) {
      this.#startedMs = atMs
      this.#events.onStarted(atMs)
    }
    this.#lastMs = atMs + FRAME_MS
    return pcm
  }

  /** Returns what was played of this run so far. */
  spoken(): Spoken {
    const entries = [...this.#done, ...this.#queue]
    const heard = entries.map(entry =>
      heardText({
        text: entry.text,
        playedMs: entry.played / this.#perMs,
        totalMs: entry.complete && !entry.failed ? entry.sound.length / this.#perMs : null,
        words: entry.words,
        pace: this.#pace,
      }),
    )
    return {
      text: entries.map(entry => entry.text).join(' '),
      heardText: heard.filter(text => text !== '').join(' '),
      heardMs: Math.round(entries.reduce((sum, entry) => sum + entry.played, 0) / this.#perMs),
      startedMs: this.#startedMs,
      endedMs: this.#lastMs,
    }
  }

  /** Drops the run; the next `add` starts a new one. */
  clear(): void {
    for (const entry of this.#queue) entry.complete = true // ignore audio that arrives late
    this.#queue = []
    this.#done = []
    this.#open = false
    this.#running = false
    this.#paused = false
    this.#waitedMs = 0
    this.#startedMs = null
    this.#lastMs = null
  }

  #giveUp(entry: Entry): void {
    this.#waitedMs = 0
    entry.complete = true
    entry.failed = true
    entry.sound.end()
    this.#events.onStalled()
  }

  #retire(): void {
    while (this.#queue[0]?.complete && this.#queue[0].sound.available === 0) {
      const entry = this.#queue.shift()!
      this.#done.push(entry)
      if (entry.failed || entry.text.length < PACED_LETTERS) continue
      const pace = paceOf(entry.text, entry.sound.length / this.#perMs)
      if (pace > SHORTEST * USUAL_PACE) this.#pace = pace
    }
  }

  #take(entry: Entry): Int16Array {
    const samples = Math.min(this.#frame, entry.sound.available)
    const pcm = entry.sound.take(samples)
    entry.played += samples
    if (samples === this.#frame) return pcm
    const frame = new Int16Array(this.#frame)
    frame.set(pcm)
    return frame
  }
}
