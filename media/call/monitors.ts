/**
 * Operators who monitor a live call in a separate room: they hear it, whisper to its agent, or speak instead of the
 * agent. The room is joined for the first operator and left after the last.
 */

import type { AgentControls } from '../agent/agent-session.ts'
import { type Dictated, Dictation } from '../agent/dictation.ts'
import { mix } from '../audio/mix.ts'
import type { CallCommand, CallEventBody, MonitorMode } from '../contract/messages.ts'
import { type RoomPlan, RoomSecret } from '../contract/plan.ts'
import type { Sealer } from '../contract/seal.ts'
import type { AudioFrame, LegSink, TransferResult } from '../ports/leg.ts'
import type { MonitorRoom, Rooms } from '../ports/rooms.ts'
import type { Stt, Vad } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { FrameQueue } from './frame-queue.ts'

type Admission = Extract<CallCommand, { type: 'call.monitor' }>

export interface MonitorsOptions {
  callId: string
  language: string
  /** Sample rate of the call's leg in Hz. */
  sampleRate: number
  rooms: Rooms
  sealer: Sealer
  clock: Clock
  log: Log
  vad: Vad
  stt: Stt
  talk: AgentControls
  /** 20 ms of the operator who took over, as the caller hears it. */
  onSpoken?(pcm: Int16Array): void
  emit(body: CallEventBody): void
}

interface Operator {
  id: string
  identity: string
  mode: MonitorMode
  present: boolean
  dictation: Dictation | null
  cancelWait(): void
}

/** Milliseconds after which an operator who has a token but does not join or rejoin is removed. */
export const SHOWS_UP_MS = 60_000
/** Milliseconds between two attempts to join the room. */
const REJOIN_MS = 2000
/**
 * Milliseconds to wait for pending transcriptions: after a change of mode, and (`CLOSING_MS`) at the end of the call.
 */
const LAST_WORDS_MS = 6000
const CLOSING_MS = 1000
/** Milliseconds that a caller waits for an operator to take over. */
export const TRANSFER_WAIT_MS = 45_000

export class Monitors {
  readonly #options: MonitorsOptions
  readonly #operators = new Map<string, Operator>()
  /** The caller's audio for the operators; the active operator's audio for the caller. */
  readonly #caller = new FrameQueue()
  readonly #takeover = new FrameQueue()
  #room: MonitorRoom | null = null
  #entering = false
  /** The operator who speaks to the caller. */
  #taken: Operator | null = null
  readonly #over = new AbortController()
  #waiting: { settle(taken: boolean): void } | null = null

  constructor(options: MonitorsOptions) {
    this.#options = options
  }

  admit({ monitor_id, mode, identity, room }: Admission): void {
    if (this.#over.signal.aborted) return
    const known = this.#operators.get(monitor_id)
    if (known) {
      if (known.mode === mode) return
      known.mode = mode
      void this.#endDictation(known, LAST_WORDS_MS)
      if (known.present) this.#options.emit({ type: 'monitor.changed', monitor_id, mode })
      this.#updateSpeaker(known)
      return
    }
    const operator: Operator = { id: monitor_id, identity, mode, present: false, dictation: null, cancelWait() {} }
    this.#operators.set(monitor_id, operator)
    this.#await(operator)
    void this.#enter(room)
  }

  dismiss(monitorId: string): void {
    const operator = this.#operators.get(monitorId)
    if (!operator) return
    this.#gone(operator)
    this.#forget(operator)
  }

  /** True while an operator speaks to the caller instead of the agent. */
  get taken(): boolean {
    return this.#taken !== null
  }

  /** Wraps the leg's sink for monitoring. */
  sink(sink: LegSink): LegSink {
    return {
      pull: atMs => {
        const agent = sink.pull(atMs)
        // An agent that stepped aside speaks only its last words, when the call must end.
        const spoken = this.#taken ? this.#takeover.take() : null
        if (spoken) this.#options.onSpoken?.(spoken)
        const said = this.#taken ? mix(spoken, agent) : agent
        // Operators hear each other through the room itself.
        this.#room?.play(mix(this.#caller.take(), agent))
        if (this.#operators.size > 0) this.#tick()
        return said
      },
      ulaw: () => (this.#taken ? null : (sink.ulaw?.() ?? null)),
      push: frame => {
        if (this.#room) this.#caller.add(frame.pcm)
        sink.push(frame)
      },
      dtmf: (digit, inSound) => sink.dtmf(digit, inSound),
      text: text => sink.text?.(text),
    }
  }

  /** Settles when an operator has taken the call over, or none did in time. */
  waitForOperator(name: string): Promise<TransferResult> {
    const { emit, clock } = this.#options
    if (this.#taken) return Promise.resolve({ ok: true })
    this.#waiting?.settle(false)
    emit({ type: 'transfer.waiting', name })
    return new Promise(resolve => {
      const settle = (taken: boolean) => {
        cancel()
        this.#waiting = null
        emit({ type: 'transfer.settled', name, accepted: taken })
        resolve(taken ? { ok: true } : { ok: false, code: 'failed', reason: 'Nobody is free to take the call.' })
      }
      const cancel = clock.after(TRANSFER_WAIT_MS, () => settle(false))
      this.#waiting = { settle }
    })
  }

  /** Ends monitoring with the call, after pending transcriptions. */
  async close(): Promise<void> {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    this.#waiting?.settle(false)
    const operators = [...this.#operators.values()]
    await Promise.all(operators.map(operator => this.#endDictation(operator, CLOSING_MS)))
    for (const operator of operators) {
      operator.cancelWait()
      if (operator.present) this.#options.emit({ type: 'monitor.left', monitor_id: operator.id })
    }
    this.#operators.clear()
    this.#leaveIfEmpty()
  }

  #tick(): void {
    const nowMs = this.#options.clock.now()
    for (const { dictation } of this.#operators.values()) dictation?.tick(nowMs)
  }

  // ---- the room ----

  /** Retries for as long as an operator is expected. */
  async #enter(room: RoomPlan): Promise<void> {
    const { clock, log } = this.#options
    if (this.#room || this.#entering) return
    this.#entering = true
    while (!this.#room && this.#operators.size > 0) {
      try {
        const opened = await this.#open(room)
        this.#room = opened
        for (const identity of opened.identities()) this.#onJoined(identity)
      } catch (error) {
        if (this.#over.signal.aborted) break
        log.warn({ err: error }, 'could not join the monitoring room')
        await new Promise<void>(resolve => void clock.after(REJOIN_MS, resolve))
      }
    }
    this.#entering = false
    this.#leaveIfEmpty()
  }

  async #open(room: RoomPlan): Promise<MonitorRoom> {
    const { callId, sealer, sampleRate, rooms, log } = this.#options
    const { token } = RoomSecret.parse(sealer.open(room.sealed, callId))
    return rooms.openMonitor({
      seat: { url: room.url, token },
      sampleRate,
      log,
      signal: this.#over.signal,
      onJoined: identity => this.#onJoined(identity),
      onLeft: identity => this.#onLeft(identity),
      onSound: (identity, frame) => this.#onSound(identity, frame),
      onText: (identity, text) => this.#onText(identity, text),
      onClosed: () => this.#onClosed(),
    })
  }

  #leaveIfEmpty(): void {
    if (this.#operators.size > 0 || this.#entering) return
    void this.#room?.close()
    this.#room = null
    this.#caller.clear()
  }

  // ---- who is there ----

  #byIdentity(identity: string): Operator | undefined {
    return [...this.#operators.values()].find(operator => operator.identity === identity)
  }

  #onJoined(identity: string): void {
    const operator = this.#byIdentity(identity)
    if (!operator || operator.present || this.#over.signal.aborted) return
    operator.present = true
    operator.cancelWait()
    this.#options.emit({ type: 'monitor.joined', monitor_id: operator.id, mode: operator.mode })
    this.#updateSpeaker(operator)
  }

  #onLeft(identity: string): void {
    const operator = this.#byIdentity(identity)
    if (!operator || this.#over.signal.aborted) return
    this.#gone(operator)
    this.#await(operator)
  }

  #onClosed(): void {
    this.#room = null
    for (const operator of [...this.#operators.values()]) {
      this.#gone(operator)
      this.#forget(operator)
    }
  }

  #await(operator: Operator): void {
    operator.cancelWait()
    operator.cancelWait = this.#options.clock.after(SHOWS_UP_MS, () => this.#forget(operator))
  }

  #gone(operator: Operator): void {
    if (!operator.present) return
    operator.present = false
    void this.#endDictation(operator, LAST_WORDS_MS)
    this.#options.emit({ type: 'monitor.left', monitor_id: operator.id })
    this.#updateSpeaker(operator)
  }

  #forget(operator: Operator): void {
    operator.cancelWait()
    this.#operators.delete(operator.id)
    this.#leaveIfEmpty()
  }

  // ---- who speaks ----

  /** After a change of an operator: the last one to take over speaks; after that one the agent speaks again. */
  #updateSpeaker(changed: Operator): void {
    const takes = changed.present && changed.mode === 'takeover'
    if (takes && this.#taken !== changed) this.#startTakeover(changed)
    else if (!takes && this.#taken === changed) {
      this.#taken = null
      this.#options.talk.stepIn()
    }
  }

  #startTakeover(operator: Operator): void {
    const { talk, emit } = this.#options
    const before = this.#taken
    if (!before && !talk.stepAside()) return // the call is ending, and the agent is speaking its last words
    this.#taken = operator
    this.#takeover.clear()
    if (before) {
      before.mode = 'listen'
      void this.#endDictation(before, LAST_WORDS_MS)
      emit({ type: 'monitor.changed', monitor_id: before.id, mode: 'listen' })
    }
    this.#waiting?.settle(true)
  }

  #onSound(identity: string, frame: AudioFrame): void {
    const operator = this.#byIdentity(identity)
    if (!operator?.present || this.#over.signal.aborted) return
    if (operator === this.#taken) this.#takeover.add(frame.pcm)
    else if (operator.mode !== 'whisper') return
    operator.dictation ??= this.#dictation(operator)
    operator.dictation.push(frame)
  }

  #onText(identity: string, text: string): void {
    const operator = this.#byIdentity(identity)
    // Typed text goes to the agent, whoever speaks; an operator who may only listen cannot send any.
    if (!operator?.present || operator.mode === 'listen' || text.trim() === '' || this.#over.signal.aborted) return
    this.#whisper(operator, text.trim())
  }

  #dictation(operator: Operator): Dictation {
    const { vad, stt, sampleRate, language, clock, log } = this.#options
    const { mode } = operator
    const onSaid = (said: Dictated) => {
      if (mode === 'whisper') this.#whisper(operator, said.text)
      else this.#options.talk.operatorSaid(said)
    }
    return new Dictation({ vad, stt, sampleRate, language, clock, log, onSaid })
  }

  #whisper(operator: Operator, text: string): void {
    this.#options.talk.instruct(text)
    this.#options.emit({ type: 'monitor.whispered', monitor_id: operator.id, text })
  }

  async #endDictation(operator: Operator, maxWaitMs: number): Promise<void> {
    const { dictation } = operator
    operator.dictation = null
    await dictation?.close(maxWaitMs)
  }
}
