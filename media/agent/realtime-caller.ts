/**
 * The caller's turns for a speech-to-speech model. The vendor reports the start of speech and the end of a turn; our
 * own energy measurement gives the exact times. The text arrives later; the call's transcript reserves the turn's
 * position until then.
 */
import type { CallEventBody } from '../contract/messages.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { type LoudnessState, listenLevel, quiet } from './loudness.ts'
import type { Asked } from './realtime-wait.ts'
import type { CallTranscript, OpenCaller } from './transcript.ts'

export interface LiveCallerOptions {
  transcript: CallTranscript
  clock: Clock
  log: Log
  answeredMs: number
  emit(body: CallEventBody): void
}

/** Milliseconds by which the vendor may report speech after its start. */
const BEFORE_VOICE_MS = 600
/** Milliseconds for which a turn's audio is kept, for a new session that must receive it again. */
const KEEP_TURN_MS = 15_000
/** Silence in ms that separates two utterances. */
const GAP_MS = 500
/** Milliseconds of silence after which a missing end-of-speech event is assumed. */
const VOICE_GONE_MS = 5000
/** Milliseconds without packets after which no model can detect the end of a turn. */
const NO_SOUND_MS = 400

export class RealtimeCaller {
  readonly #options: LiveCallerOptions
  readonly #unread = new Map<string, { slot: OpenCaller; startMs: number; endMs: number }>()
  #loudness: LoudnessState = quiet
  #loudFromMs = 0
  #frameMs: number
  #talking: { startMs: number } | null = null
  readonly #recent: AudioFrame[] = []

  constructor(options: LiveCallerOptions) {
    this.#options = options
    this.#frameMs = options.answeredMs
  }

  get talking(): boolean {
    return this.#talking !== null
  }

  /** True while the transcript of a turn is pending. */
  get unread(): boolean {
    return this.#unread.size > 0
  }

  get lastLoudMs(): number {
    return this.#loudness.lastMs
  }

  /** Audio that no session has answered, and the moment before it. */
  get recent(): readonly AudioFrame[] {
    return this.#recent
  }

  /** True when packets stop in the middle of a turn, as with a far end that suppresses silence. */
  isMissing(nowMs: number): boolean {
    return this.talking && nowMs - this.#frameMs >= NO_SOUND_MS
  }

  isHeard(nowMs: number): boolean {
    return this.talking && nowMs - this.#loudness.lastMs < VOICE_GONE_MS
  }

  push(frame: AudioFrame): void {
    this.#frameMs = frame.atMs
    const beforeMs = this.#loudness.lastMs
    this.#loudness = listenLevel(this.#loudness, frame)
    const { lastMs } = this.#loudness
    if (lastMs === frame.atMs && lastMs - beforeMs > GAP_MS) this.#loudFromMs = lastMs
    this.#recent.push(frame)
    const keepMs = this.talking || this.unread ? KEEP_TURN_MS : BEFORE_VOICE_MS
    while (frame.atMs - this.#recent[0]!.atMs > keepMs) this.#recent.shift()
  }

  started(): void {
    const nowMs = this.#options.clock.now()
    const sinceMs = nowMs - this.#loudFromMs
    this.#talking = { startMs: sinceMs < 2 * BEFORE_VOICE_MS ? this.#loudFromMs : nowMs }
  }

  done(item: string): Asked {
    const nowMs = this.#options.clock.now()
    const startMs = this.#talking?.startMs ?? nowMs
    const endMs = Math.max(startMs, this.#loudness.lastMs)
    this.#talking = null
    for (const [old, { endMs }] of this.#unread) if (nowMs - endMs > KEEP_TURN_MS) this.#unread.delete(old)
    this.#unread.set(item, { slot: this.#options.transcript.openCaller(), startMs, endMs })
    return { endMs, committedMs: nowMs }
  }

  said(item: string, text: string | null): void {
    const { transcript, log, emit } = this.#options
    const heard = this.#unread.get(item)
    this.#unread.delete(item)
    if (!heard) return
    if (text === null) log.warn({}, "could not transcribe the caller's speech")
    if (!text) return
    const times = { started_ms: this.#fromAnswer(heard.startMs), ended_ms: this.#fromAnswer(heard.endMs) }
    emit({ type: 'turn.finished', turn: transcript.closeCaller(heard.slot, { text, ...times }), latency: null })
  }

  /** Drops pending turns of a session that is gone. */
  forget(): void {
    this.#talking = null
    this.#unread.clear()
  }

  #fromAnswer(atMs: number): number {
    return Math.max(0, Math.round(atMs - this.#options.answeredMs))
  }
}
