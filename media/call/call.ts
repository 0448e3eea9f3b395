/**
 * One call on this engine: feeds `machine.ts` and performs its effects; the only place that assigns the call's state.
 * It owns the leg and the conversation and closes both. `done` settles when `call.ended` is on the bus.
 */

import type { AgentSession } from '../agent/agent-session.ts'
import { TAKEN_OVER } from '../agent/answers.ts'
import { Conversation, type ConversationOptions } from '../agent/conversation.ts'
import { presynthesize } from '../agent/opening.ts'
import type { Abilities } from '../agent/own-tools.ts'
import { lastWords } from '../agent/phrases.ts'
import { RealtimeConversation } from '../agent/realtime.ts'
import { type CheckedWrapUp, wrapUpCall } from '../agent/wrap-up.ts'
import { narrowRate } from '../audio/wideband.ts'
import type { CallCommand, CallEventBody, EndedReason, RecordingInfo } from '../contract/messages.ts'
import { BROWSER, type CallPlan, PlanSecrets, RoomSecret, type TransferTarget } from '../contract/plan.ts'
import type { DialFailure, DialResult } from '../ports/dialer.ts'
import type { InboundOffer } from '../ports/inbound.ts'
import type { KnowledgeHit } from '../ports/knowledge.ts'
import type { Leg, LegSink, TransferResult } from '../ports/leg.ts'
import type { Recording } from '../ports/recording.ts'
import type { Stt, Tts } from '../ports/speech.ts'
import { recordingSink } from '../recording/sink.ts'
import { ReplayRecorder } from '../replay/recorder.ts'
import type { Log } from '../shared/log.ts'
import { createBridgeDialer } from './bridge-dialer.ts'
import type { CallDeps, OnSwitch, ReplayLog } from './deps.ts'
import { CallEvents } from './events.ts'
import { Lease } from './lease.ts'
import {
  answering,
  type CallEffect,
  type CallInput,
  type CallOutcome,
  type CallState,
  dialing,
  stepCall,
} from './machine.ts'
import { Monitors } from './monitors.ts'
import { PaidTime } from './paid-time.ts'
import { recordOf } from './record.ts'
import { CallSpans } from './spans.ts'
import { SpeakerControl } from './speaker-control.ts'
import { Timers } from './timers.ts'
import { Transfers } from './transfers.ts'

export type { CallDeps, OnSwitch, ReplayLog }

const PROGRESS_MS = 5000
/** Milliseconds for a knowledge search; it must answer before the wait needs a filler, see agent/toolbox.ts. */
const SEARCH_TIMEOUT_MS = 800
const SEARCH_CHARS = 400
const GOODBYE_MS = 10_000
const WRAP_UP_MS = 15_000
/** Results of an offer that produced no leg: the caller gave up first, or no answer could be made (the peer was answered). */
const CALLER_GONE: DialFailure = { status: 'canceled', reason: 'caller_canceled', sipCode: 487 }
const NO_ROOMS: DialFailure = { status: 'failed', reason: 'room_unreachable', sipCode: null }
const NOT_ANSWERED: DialFailure = { status: 'failed', reason: 'internal_error', sipCode: null }

export class Call {
  readonly plan: CallPlan
  readonly done: Promise<void>
  readonly #deps: CallDeps
  readonly #log: Log
  readonly #spans: CallSpans
  readonly #events: CallEvents
  readonly #dialAbort = new AbortController()
  readonly #timers: Timers
  readonly #lease: Lease
  readonly #finished: () => void
  #state: CallState
  #leg: Leg | null = null
  #conversation: AgentSession | null = null
  #secrets: PlanSecrets = { tool_headers: {}, llm_api_key: null, vendor_keys: {} }
  readonly #onSwitch: OnSwitch = change => this.#events.emit({ type: 'provider.switched', ...change })
  #answeredAt: number | null = null
  #talkedMs = 0
  #wrapUp: CheckedWrapUp | null = null
  #recording: Recording | null = null
  #edges: ReturnType<ReplayLog['open']> | null = null
  #recorder: ReplayRecorder | null = null
  #recorded: RecordingInfo | null = null
  #monitors: Monitors | null = null
  #transfers: Transfers | null = null
  /** When the far end was last known to be there, if that was before the leg's end. */
  #goneMs: number | undefined

  private constructor(plan: CallPlan, deps: CallDeps, state: CallState, spans: CallSpans) {
    this.plan = plan
    this.#deps = deps
    this.#log = deps.log.child({ call_id: plan.call_id })
    this.#spans = spans
    this.#events = new CallEvents(spans.watching(plan.call_id, deps.bus.emitter(plan)), this.#log)
    this.#state = state
    this.#timers = new Timers(deps.clock)
    let finished = () => {}
    this.done = new Promise(resolve => (finished = resolve))
    this.#finished = finished
    const onLost = () => this.#feed({ type: 'end', reason: 'connection_lost' })
    this.#lease = new Lease({ ...deps, callId: plan.call_id, log: this.#log, timers: this.#timers, onLost })
  }

  static dial(plan: CallPlan, deps: CallDeps): Call {
    const call = new Call(plan, deps, dialing, new CallSpans(deps, plan.direction, plan.traceparent))
    call.#events.emit({ type: 'call.dialing', engine: deps.bus.engine, boot: deps.bus.boot })
    void call.#reach().then(result => call.#onDialed(result))
    return call
  }

  /** The offer was admitted with this plan; `spans` started with the offer. */
  static answer(plan: CallPlan, offer: InboundOffer, deps: CallDeps, spans = new CallSpans(deps, 'in', null)): Call {
    const call = new Call(plan, deps, answering, spans)
    offer.admitted?.(plan.call_id)
    void offer.answer().then(leg => {
      if (leg) call.#onDialed({ ok: true, leg })
      else call.#onDialed({ ok: false, failure: offer.signal.aborted ? CALLER_GONE : NOT_ANSWERED })
    })
    return call
  }

  command(command: CallCommand): void {
    switch (command.type) {
      case 'call.hangup':
        this.end(command.reason)
        return
      case 'call.monitor':
        this.#monitors?.admit(command)
        return
      case 'call.unmonitor':
        this.#monitors?.dismiss(command.monitor_id)
    }
  }

  /** Reaches the far end, over SIP or in a room. */
  async #reach(): Promise<DialResult> {
    const { plan } = this
    const { dialer, rooms, sealer } = this.#deps
    const { signal } = this.#dialAbort
    if (!plan.room) return dialer.dial({ plan, signal, onRinging: () => this.#feed({ type: 'ringing' }) })
    if (!rooms) return { ok: false, failure: NO_ROOMS }
    try {
      const { token } = RoomSecret.parse(sealer.open(plan.room.sealed, plan.call_id))
      this.#voiceGreeting()
      return await rooms.join({ plan, token, signal })
    } catch (error) {
      this.#log.error({ err: error }, 'could not open the sealed room token')
      return { ok: false, failure: NOT_ANSWERED }
    }
  }

  /** Synthesises the first sentence while the engine joins the room, because the caller is already waiting there. */
  #voiceGreeting(): void {
    this.#openSecrets()
    const tts = this.#deps.ttsFor(this.plan, this.#secrets, () => {})
    void presynthesize(this.plan, tts, this.#dialAbort.signal).catch(() => {}) // reported when it is spoken
  }

  #openSecrets(): void {
    const { sealed, call_id } = this.plan
    if (sealed) this.#secrets = PlanSecrets.parse(this.#deps.sealer.open(sealed, call_id))
  }

  end(reason: EndedReason): void {
    this.#feed({ type: 'end', reason })
  }

  #feed(input: CallInput): void {
    const { state, effects } = stepCall(this.#state, input)
    this.#state = state
    for (const effect of effects) this.#perform(effect)
  }

  #perform(effect: CallEffect): void {
    switch (effect.type) {
      case 'emit_ringing':
        this.#events.emit({ type: 'call.ringing' })
        return
      case 'cancel_dial':
        this.#dialAbort.abort()
        return
      case 'start_conversation':
        this.#startConversation()
        return
      case 'say_goodbye':
        this.#sayGoodbye(effect.reason)
        return
      case 'hang_up':
        this.#spans.startHangup()
        void this.#leg?.hangup(effect.reason)
        return
      case 'wrap_up':
        void this.#makeWrapUp()
        return
      case 'finish':
        this.#finish(effect.outcome)
    }
  }

  #onDialed(result: DialResult): void {
    if (!result.ok) {
      this.#feed({ type: 'dial_failed', failure: result.failure })
      return
    }
    this.#adopt(result.leg)
    this.#feed({ type: 'answered' })
  }

  #adopt(leg: Leg): void {
    this.#leg = leg
    void leg.ended.then(end => {
      this.#goneMs = end.atMs
      const left = this.#transfers?.joined && end.reason === 'caller_hangup'
      const handedOver = this.#transfers?.parted ?? false
      this.#transfers?.callerEnded()
      this.#feed({ type: 'leg_ended', reason: left ? 'transferred' : end.reason, handedOver })
    })
  }

  #startConversation(): void {
    const { plan } = this
    const { clock, bus } = this.#deps
    const leg = this.#leg!
    this.#answeredAt = clock.wall()
    const startedMs = clock.now()
    let voices: { stt: Stt; tts: Tts }
    try {
      this.#openSecrets()
      const realtime = this.#deps.realtimeFor?.(plan, this.#secrets) ?? null
      voices = {
        stt: this.#deps.sttFor(plan, this.#secrets, this.#onSwitch),
        tts: this.#deps.ttsFor(plan, this.#secrets, this.#onSwitch),
      }
      const options: ConversationOptions = {
        plan: { ...plan, transfers: this.#reachable(leg) },
        secrets: this.#secrets,
        sampleRate: leg.sampleRate,
        clock,
        log: this.#log,
        vad: this.#deps.vad,
        ...voices,
        llm: this.#deps.llmFor(plan, this.#secrets, this.#onSwitch),
        fetch: this.#spans.fetching(this.#deps.fetch),
        abilities: this.#abilities(leg),
        emit: body => this.#events.emit(body),
        ...(leg.show ? { show: shown => leg.show!(shown) } : {}),
        onHangup: reason => this.#onAgentDone(reason),
      }
      if (!realtime) this.#edges = this.#deps.replayLog?.open(plan.call_id) ?? null
      if (this.#edges) this.#recorder = new ReplayRecorder(options, this.#edges.write)
      this.#conversation = realtime
        ? new RealtimeConversation({ ...options, realtime })
        : new Conversation({ ...options, ...this.#recorder?.edges })
    } catch (error) {
      this.#log.error({ err: error }, 'could not start conversation')
      this.#feed({ type: 'end', reason: 'internal_error' })
      return
    }
    this.#events.emit({ type: 'call.started', engine: bus.engine, boot: bus.boot })
    const conversation = this.#conversation
    const sink = this.#recorder?.sink(conversation) ?? conversation
    leg.attach(this.#withRecording(leg, this.#withOthers(leg, sink, voices), startedMs))
    if (this.#recorder) this.#recorder.start(() => conversation.start())
    else conversation.start()
    this.#feed({ type: 'started' })
    this.#timers.every(PROGRESS_MS, () => {
      this.#events.emit({ type: 'call.progress', talked_ms: conversation.talkedMs })
      this.#lease.check()
    })
    this.#timers.after(plan.max_call_ms, () => this.#feed({ type: 'end', reason: 'max_duration' }))
    this.#watchMoney(conversation)
  }

  #watchMoney(conversation: AgentSession): void {
    new PaidTime({
      plan: this.plan,
      bus: this.#deps.bus,
      log: this.#log,
      timers: this.#timers,
      reserveMs: GOODBYE_MS / 2,
      talkedMs: () => conversation.talkedMs,
      talking: () => this.#state.phase === 'talking',
      onExhausted: () => this.#feed({ type: 'end', reason: 'balance_exhausted' }),
    }).watch()
  }

  #withRecording(leg: Leg, sink: LegSink, startedMs: number): LegSink {
    const { call_id: callId, owner_id: ownerId, recording } = this.plan
    const { recorder } = this.#deps
    if (!recording || !recorder) return sink
    const { sampleRate } = leg
    const rate = narrowRate(sampleRate)
    this.#recording = recorder.start({ callId, ownerId, sampleRate: rate, startedMs, log: this.#log })
    return recordingSink(sink, this.#recording, sampleRate)
  }

  /** Adds operators and transfer targets, who may speak to the caller instead of the agent. */
  #withOthers(leg: Leg, sink: LegSink, { stt, tts }: { stt: Stt; tts: Tts }): LegSink {
    const { rooms, sealer, clock, vad, dialer, bus } = this.#deps
    const { call_id: callId, language } = this.plan
    const speakers = new SpeakerControl(this.#recorder?.operated(this.#conversation!) ?? this.#conversation!)
    const shared = { clock, log: this.#log, vad, stt, emit: (body: CallEventBody) => this.#events.emit(body) }
    const second = createBridgeDialer({ ...shared, plan: this.plan, dialer, line: leg.line, bus })
    this.#transfers = new Transfers({
      ...shared,
      plan: this.plan,
      leg,
      dialer: second,
      tts,
      talk: speakers.for('target'),
    })
    const whole = this.#transfers.sink(sink)
    if (!rooms) return whole
    const talk = speakers.for('operator', () => this.#transfers?.cancel(TAKEN_OVER))
    const onSpoken = (pcm: Int16Array) => this.#transfers?.operatorSpeaks(pcm)
    const { sampleRate } = leg
    this.#monitors = new Monitors({ ...shared, callId, language, sampleRate, rooms, sealer, talk, onSpoken })
    return this.#monitors.sink(whole)
  }

  #reachable(leg: Leg): CallPlan['transfers'] {
    const { rooms } = this.#deps
    return this.plan.transfers.filter(({ to }) => (to === BROWSER ? rooms : leg.line) !== undefined)
  }

  /** Operations that this call offers its agent. */
  #abilities(leg: Leg): Abilities {
    return {
      ...(leg.sendDtmf ? { sendDtmf: keys => leg.sendDtmf!(keys) } : {}),
      transfer: (target, about) => this.#give(target, about),
      searchKnowledge: query => this.#search(query),
    }
  }

  async #search(query: string): Promise<KnowledgeHit[]> {
    const { owner_id, project_id } = this.plan
    const request = { owner_id, project_id, query: query.slice(0, SEARCH_CHARS) }
    return (await this.#deps.bus.request('knowledge.search', request, SEARCH_TIMEOUT_MS)).found
  }

  async #give(target: TransferTarget, about: string): Promise<TransferResult> {
    const [transfers, monitors] = [this.#transfers!, this.#monitors]
    if (target.to === BROWSER) return transfers.waitFor(() => monitors!.waitForOperator(target.name))
    // An operator may still speak for a while after a transfer was answered.
    if (monitors?.taken) return { ok: false, code: 'busy', reason: TAKEN_OVER }
    return transfers.give(target, about)
  }

  #onAgentDone(reason: EndedReason): void {
    if (this.#state.phase === 'closing') this.#feed({ type: 'goodbye_over' })
    else this.#feed({ type: 'end', reason })
  }

  #sayGoodbye(reason: EndedReason): void {
    const conversation = this.#conversation!
    const { phrases } = conversation
    conversation.endWith(lastWords(phrases, reason), reason)
    this.#timers.after(GOODBYE_MS, () => this.#feed({ type: 'goodbye_over' }))
  }

  // ---- the end ----

  async #makeWrapUp(): Promise<void> {
    const conversation = this.#conversation
    if (this.#state.phase === 'closing') this.#events.emit({ type: 'call.closing', reason: this.#state.reason })
    if (this.#recorder) this.#recorder.stop(() => conversation?.stop(this.#goneMs))
    else conversation?.stop(this.#goneMs)
    this.#talkedMs = conversation?.talkedMs ?? 0
    const recorded = this.#recording?.finish() ?? null
    if (conversation) {
      const { goal, extraction } = this.plan
      try {
        await Promise.all([this.#monitors?.close(), this.#transfers?.close()])
        await conversation.settled()
        this.#edges?.close()
        const llm = this.#deps.llmFor(this.plan, this.#secrets, this.#onSwitch)
        const request = { ...conversation.request(), goal, extraction }
        this.#wrapUp = await wrapUpCall(llm, request, AbortSignal.timeout(WRAP_UP_MS))
      } catch (error) {
        this.#log.warn({ err: error }, 'wrap-up failed, closing the call without a summary')
      }
    }
    this.#recorded = await recorded
    this.#feed({ type: 'wrapped_up' })
  }

  #finish(outcome: CallOutcome): void {
    this.#timers.cancel()
    const media = this.#leg?.stats() ?? null
    const { clock, bus, traces } = this.#deps
    const record = recordOf({
      outcome,
      conversation: this.#conversation,
      wrapUp: this.#wrapUp,
      answeredAt: this.#answeredAt,
      endedAt: clock.wall(),
      talkedMs: this.#talkedMs,
      media,
      sip: traces?.take({ callId: this.plan.call_id, media, reason: outcome.reason }) ?? null,
      recording: this.#recorded,
    })
    this.#events.emit({ type: 'call.ended', record })
    void this.#events.sent.then(async () => {
      await bus.dropLease(this.plan.call_id).catch(() => {}) // the lease expires
      this.#finished()
    })
  }
}
