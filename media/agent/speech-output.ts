/**
 * The agent's speech: turns sentences into audio, and the audio into turns of the transcript with what was played of
 * them. A run is continuous speech, from the first sentence queued to the last frame played or to the cut.
 */
import type { CallEventBody, TurnLatency } from '../contract/messages.ts'
import type { SpeechChunk, SpokenWord, Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { Playout } from './playout.ts'
import { buffered, type ReplyTimes } from './reply.ts'
import type { CallTranscript, OpenTurn } from './transcript.ts'

export interface SpeechOutputOptions {
  sampleRate: number
  tts: Tts
  voice: string | null
  language: string
  clock: Clock
  log: Log
  transcript: CallTranscript
  answeredMs: number
  /** Abort ends all speech. */
  signal: AbortSignal
  emit(body: CallEventBody): void
  onStarted(atMs: number): void
  /** A sentence was not spoken, or not completely. */
  onVoiceFailed(): void
  /** Text of a run that was played; called before `onFinished`. */
  onSaid(text: string): void
  /** A run was played to its end. */
  onFinished(): void
}

/** Reference times for the latency of the next run's first frame. */
export interface Awaited {
  endMs: number
  committedMs: number
  sttMs: number
}

const AUDIBLE = 150
const LEAD_MS = 10
/** Text without letters or digits may have no audio; that is not a failure. */
const SPEAKABLE = /[\p{L}\p{N}]/u

/** Removes leading silence except for 10 ms, so that no onset is clipped. */
export function fromFirstSound(pcm: Int16Array, sampleRate: number): Int16Array {
  const first = pcm.findIndex(sample => Math.abs(sample) > AUDIBLE)
  if (first < 0) return pcm.subarray(pcm.length)
  return pcm.subarray(Math.max(0, first - (sampleRate / 1000) * LEAD_MS))
}

const shifted = (word: SpokenWord, byMs: number): SpokenWord => ({
  text: word.text,
  startMs: word.startMs - byMs,
  endMs: word.endMs - byMs,
})

interface Run {
  turn: OpenTurn
  latency: TurnLatency | null
  filler: boolean
}

export class SpeechOutput {
  /** Timings of the reply that is being spoken. */
  times: ReplyTimes | null = null
  readonly #options: SpeechOutputOptions
  readonly #playout: Playout
  #run: Run | null = null
  #awaited: Awaited | null = null
  #waiters: (() => void)[] = []
  #saying = ''

  constructor(options: SpeechOutputOptions) {
    this.#options = options
    this.#playout = new Playout(options.sampleRate, {
      onStarted: atMs => {
        this.#measure(atMs)
        options.onStarted(atMs)
      },
      onFinished: () => {
        this.#close(false)
        options.onFinished()
      },
      onStalled: () => {
        options.log.error({}, 'speech synthesis stalled')
        options.onVoiceFailed()
      },
    })
  }

  get active(): boolean {
    return this.#playout.active
  }

  /** Full text of the current run, or of the last one. */
  get saying(): string {
    return this.#saying
  }

  /** True while audio of the run is being played. */
  get sounding(): boolean {
    return this.#playout.sounding
  }

  /** Text of the run that was played so far. */
  get heard(): string {
    return this.#playout.spoken().heardText
  }

  pull(atMs: number): Int16Array | null {
    return this.#playout.pull(atMs)
  }

  pause(): void {
    this.#playout.pause()
  }

  resume(): void {
    this.#playout.resume()
  }

  /** Sets the caller's turn that the next run answers. */
  expect(awaited: Awaited): void {
    this.#awaited = awaited
  }

  /** Speaks a fixed phrase: greeting, filler, apology. */
  say(text: string, filler = false): void {
    this.queue(text, buffered(this.#voicePhrase(text)), filler)
  }

  /** Synthesises a phrase into the cache, so that it can start without delay. */
  async warm(text: string): Promise<void> {
    try {
      for await (const _ of this.#voicePhrase(text));
    } catch {
      // reported when the phrase is spoken
    }
  }

  #voicePhrase(text: string): AsyncIterable<SpeechChunk> {
    const { tts, voice, language, signal } = this.#options
    return tts.speak({ text, voice, language, keep: true }, signal)
  }

  /** Queues a sentence that is already being synthesised. */
  queue(text: string, sound: AsyncIterable<SpeechChunk>, filler = false): void {
    if (this.#run) this.#run.filler &&= filler
    else {
      this.#run = { turn: this.#options.transcript.openAgent(), latency: null, filler }
      this.#saying = ''
    }
    this.#saying += `${text} `
    void this.#voiceOver(text, sound, !this.#playout.active)
  }

  /** Ends the run: no more sentences follow. */
  finish(): void {
    this.#playout.finish()
  }

  /** Stops at once. The transcript keeps what was played. */
  cut(): void {
    this.#playout.resume()
    if (this.#playout.active) this.#close(true)
  }

  whenQuiet(run: () => void): void {
    if (this.#playout.active) this.#waiters.push(run)
    else run()
  }

  quiet(): Promise<void> {
    return new Promise(resolve => this.whenQuiet(resolve))
  }

  /** Resolves those who wait for silence. */
  settle(): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const resume of waiters) resume()
  }

  /** `first`: the sentence begins a run, and a listener waits for it, so leading silence is removed. */
  async #voiceOver(text: string, sound: AsyncIterable<SpeechChunk>, first: boolean): Promise<void> {
    const sentence = this.#playout.add(text)
    let trim = first
    let trimmedMs = 0
    let failed = SPEAKABLE.test(text)
    try {
      for await (const { pcm, sampleRate, words } of sound) {
        if (pcm.length > 0) failed = false
        const audible = trim ? fromFirstSound(pcm, sampleRate) : pcm
        trimmedMs += ((pcm.length - audible.length) * 1000) / sampleRate
        trim &&= audible.length === 0
        sentence.write(audible, sampleRate)
        if (words) sentence.time(words.map(word => shifted(word, trimmedMs)))
      }
    } catch (error) {
      failed = true
      if (!this.#options.signal.aborted) this.#options.log.error({ err: error }, 'speech synthesis failed')
    }
    if (sentence.end(failed) && failed) this.#options.onVoiceFailed()
  }

  #measure(atMs: number): void {
    const [awaited, run] = [this.#awaited, this.#run]
    if (!awaited || !run) return
    this.#awaited = null
    const times = run.filler ? null : this.times
    const between = (from: number | null | undefined, to: number | null | undefined) =>
      from && to ? Math.round(to - from) : 0
    run.latency = {
      total_ms: Math.round(atMs - awaited.endMs),
      endpointing_ms: Math.round(awaited.committedMs - awaited.endMs),
      stt_ms: Math.round(awaited.sttMs),
      llm_first_token_ms: between(times?.startedMs, times?.firstTokenMs),
      tts_first_byte_ms: between(times?.firstTokenMs, times?.firstSoundMs),
      filler: run.filler,
    }
    this.#options.transcript.latencies.push(run.latency)
  }

  /** Closes the agent's turn, complete or up to the word where it was cut. */
  #close(interrupted: boolean): void {
    const { clock, transcript, emit, signal } = this.#options
    const spoken = this.#playout.spoken()
    this.#playout.clear()
    const run = this.#run
    this.#run = null
    if (!run) return
    const startedMs = spoken.startedMs ?? clock.now()
    const turn = transcript.closeAgent(run.turn, {
      text: spoken.text,
      heard_text: spoken.heardText,
      started_ms: this.#fromAnswer(startedMs),
      ended_ms: this.#fromAnswer(spoken.endedMs ?? startedMs),
      interrupted,
    })
    if (interrupted && spoken.heardMs > 0 && !signal.aborted) {
      emit({ type: 'barge_in', heard_ms: spoken.heardMs, heard_text: spoken.heardText })
    }
    if (!turn) return
    emit({ type: 'turn.finished', turn, latency: run.latency })
    this.#options.onSaid(turn.heard_text)
  }

  #fromAnswer(atMs: number): number {
    return Math.max(0, Math.round(atMs - this.#options.answeredMs))
  }
}
