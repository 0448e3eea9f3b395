/**
 * One call on this engine: feeds `machine.ts` and runs its effects; the only place that assigns the call's state. It
 * owns the leg and the conversation and closes both. `done` settles when `call.ended` is on the bus.
 */

import { Conversation, type ConversationOptions } from '../agent/conversation.ts'
import type { Abilities } from '../agent/own-tools.ts'
import { RealtimeConversation } from '../agent/realtime.ts'
import type { Talk } from '../agent/talk.ts'
import { type CheckedWrapUp, wrapUpCall } from '../agent/wrap-up.ts'
import { LEASE_RENEW_MS } from '../contract/bus.ts'
import { AskUnanswered, type EngineBus } from '../contract/bus-engine.ts'
import type { CallEventBody, CallRecord, EndedReason, ProviderSwitch, RecordingInfo } from '../contract/messages.ts'
import { type CallPlan, PlanSecrets } from '../contract/plan.ts'
import type { Sealer } from '../contract/seal.ts'
import type {
  Clock,
  Dialer,
  DialFailure,
  DialResult,
  Fetch,
  InboundOffer,
  Leg,
  LegSink,
  Llm,
  Log,
  RealtimeModel,
  Recorder,
  Recording,
  Stt,
  Tts,
  Vad,
} from '../ports.ts'
import { recordingSink } from '../recording/sink.ts'
import { EdgeRecorder } from '../replay/recorder.ts'
import {
  answering,
  type CallEffect,
  type CallInput,
  type CallState,
  dialing,
  type Outcome,
  stepCall,
} from './machine.ts'

/** Tells of a vendor that failed and of the one that takes its place; for the record of the call. */
export type OnSwitch = (change: ProviderSwitch) => void

/** Where what crosses the edges of a call is kept for a replay. */
export interface EdgeLog {
  open(callId: string): { write(line: string): void; close(): void }
}

export interface CallDeps {
  bus: EngineBus
  sealer: Sealer
  dialer: Dialer
  clock: Clock
  log: Log
  vad: Vad
  /** Ears, voice and text model of this plan; their keys come from its sealed part. */
  sttFor(plan: CallPlan, secrets: PlanSecrets, onSwitch: OnSwitch): Stt
  ttsFor(plan: CallPlan, secrets: PlanSecrets, onSwitch: OnSwitch): Tts
  llmFor(plan: CallPlan, secrets: PlanSecrets, onSwitch: OnSwitch): Llm
  /** Where the plan's brain hears and speaks itself. */
  realtimeFor?(plan: CallPlan, secrets: PlanSecrets): RealtimeModel | null
  fetch: Fetch
  /** Without one nothing is recorded. */
  recorder?: Recorder
  edgeLog?: EdgeLog
}

const PROGRESS_MS = 5000
/** Asked for this long before the paid time ends: half a minute without Redis or Postgres must not cut anybody off. */
const EXTEND_BEFORE_MS = 45_000
const EXTEND_PAUSE_MS = 1000
const EXTEND_TIMEOUT_MS = 5000
const GOODBYE_MS = 10_000
const WRAP_UP_MS = 15_000
/** Why an offer got no leg: the caller gave up first, or the answer could not be made (the peer was told). */
const CALLER_GONE: DialFailure = { status: 'canceled', reason: 'caller_canceled', sipCode: 487 }
const NOT_ANSWERED: DialFailure = { status: 'failed', reason: 'internal_error', sipCode: null }
/** Without Redis for so long, the call ends itself before control may reap it (lease 60 s, reaped at 75 s). */
const LEASE_LOST_MS = 50_000

export class Call {
  readonly plan: CallPlan
  readonly done: Promise<void>
  readonly #deps: CallDeps
  readonly #log: Log
  readonly #emitNow: (body: CallEventBody) => Promise<void>
  readonly #dialAbort = new AbortController()
  readonly #timers: (() => void)[] = []
  readonly #finished: () => void
  #state: CallState
  #leg: Leg | null = null
  #conversation: Talk | null = null
  #secrets: PlanSecrets = { tool_headers: {}, brain_api_key: null, vendor_keys: {} }
  readonly #onSwitch: OnSwitch = change => this.#emit({ type: 'provider.switched', ...change })
  #answeredAt: number | null = null
  #talkedMs = 0
  #paidMs: number
  #wrapUp: CheckedWrapUp | null = null
  #recording: Recording | null = null
  #edges: ReturnType<EdgeLog['open']> | null = null
  #recorder: EdgeRecorder | null = null
  #recorded: RecordingInfo | null = null
  #leaseOkMs: number
  /** Events leave one after the other, in the order they were made. */
  #events: Promise<unknown> = Promise.resolve()

  private constructor(plan: CallPlan, deps: CallDeps, state: CallState) {
    this.plan = plan
    this.#deps = deps
    this.#log = deps.log.child({ call_id: plan.call_id })
    this.#emitNow = deps.bus.emitter(plan)
    this.#state = state
    this.#paidMs = plan.paid_ms
    this.#leaseOkMs = deps.clock.now()
    let finished = () => {}
    this.done = new Promise(resolve => (finished = resolve))
    this.#finished = finished
    this.#every(LEASE_RENEW_MS, () => void this.#renewLease())
  }

  static dial(plan: CallPlan, deps: CallDeps): Call {
    const call = new Call(plan, deps, dialing)
    const { engine, boot } = deps.bus
    call.#emit({ type: 'call.dialing', engine, boot })
    void deps.dialer
      .dial({ plan, signal: call.#dialAbort.signal, onRinging: () => call.#feed({ type: 'ringing' }) })
      .then(result => call.#onDialed(result))
    return call
  }

  /** The offer was admitted and the plan is this call's. */
  static answer(plan: CallPlan, offer: InboundOffer, deps: CallDeps): Call {
    const call = new Call(plan, deps, answering)
    void offer.answer().then(leg => {
      if (leg) call.#onDialed({ ok: true, leg })
      else call.#onDialed({ ok: false, failure: offer.signal.aborted ? CALLER_GONE : NOT_ANSWERED })
    })
    return call
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
        this.#emit({ type: 'call.ringing' })
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
    void leg.ended.then(end => this.#feed({ type: 'leg_ended', reason: end.reason }))
  }

  #startConversation(): void {
    const { plan } = this
    const { clock, bus, sealer } = this.#deps
    const leg = this.#leg!
    this.#answeredAt = clock.wall()
    const startedMs = clock.now()
    try {
      if (plan.sealed) this.#secrets = PlanSecrets.parse(sealer.open(plan.sealed, plan.call_id))
      const realtime = this.#deps.realtimeFor?.(plan, this.#secrets) ?? null
      const options: ConversationOptions = {
        plan,
        secrets: this.#secrets,
        sampleRate: leg.sampleRate,
        clock,
        log: this.#log,
        vad: this.#deps.vad,
        stt: this.#deps.sttFor(plan, this.#secrets, this.#onSwitch),
        tts: this.#deps.ttsFor(plan, this.#secrets, this.#onSwitch),
        llm: this.#deps.llmFor(plan, this.#secrets, this.#onSwitch),
        fetch: this.#deps.fetch,
        abilities: abilitiesOf(leg),
        emit: body => this.#emit(body),
        onHangup: reason => this.#onAgentDone(reason),
      }
      if (!realtime) this.#edges = this.#deps.edgeLog?.open(plan.call_id) ?? null
      if (this.#edges) this.#recorder = new EdgeRecorder(options, this.#edges.write)
      this.#conversation = realtime
        ? new RealtimeConversation({ ...options, realtime })
        : new Conversation({ ...options, ...this.#recorder?.edges })
    } catch (error) {
      this.#log.error({ err: error }, 'conversation could not start')
      this.#feed({ type: 'end', reason: 'internal_error' })
      return
    }
    this.#emit({ type: 'call.started', engine: bus.engine, boot: bus.boot })
    const conversation = this.#conversation
    const sink = this.#recorder?.sink(conversation) ?? conversation
    leg.attach(this.#withRecording(leg, sink, startedMs))
    if (this.#recorder) this.#recorder.start(() => conversation.start())
    else conversation.start()
    this.#feed({ type: 'started' })
    this.#every(PROGRESS_MS, () => this.#emit({ type: 'call.progress', talked_ms: this.#conversation!.talkedMs }))
    this.#after(plan.max_call_ms, () => this.#feed({ type: 'end', reason: 'max_duration' }))
    this.#watchMoney()
  }

  #withRecording(leg: Leg, sink: LegSink, startedMs: number): LegSink {
    const { call_id: callId, owner_id: ownerId, recording } = this.plan
    const { recorder } = this.#deps
    if (!recording || !recorder) return sink
    const { sampleRate } = leg
    this.#recording = recorder.start({ callId, ownerId, sampleRate, startedMs, log: this.#log })
    return recordingSink(sink, this.#recording)
  }

  #onAgentDone(reason: EndedReason): void {
    if (this.#state.phase === 'closing') this.#feed({ type: 'goodbye_over' })
    else this.#feed({ type: 'end', reason })
  }

  #sayGoodbye(reason: EndedReason): void {
    const conversation = this.#conversation!
    const { phrases } = conversation
    const words: Partial<Record<EndedReason, string>> = {
      balance_exhausted: phrases.outOfMoney,
      max_duration: phrases.outOfTime,
    }
    conversation.endWith(words[reason] ?? phrases.goodbye, reason)
    this.#after(GOODBYE_MS, () => this.#feed({ type: 'goodbye_over' }))
  }

  // ---- money and leases ----

  #watchMoney(): void {
    const leftMs = this.#paidMs - this.#conversation!.talkedMs
    this.#after(Math.max(0, leftMs - EXTEND_BEFORE_MS), () => void this.#extend())
  }

  async #extend(): Promise<void> {
    if (this.#state.phase !== 'talking') return
    const { bus } = this.#deps
    const talked_ms = this.#conversation!.talkedMs
    try {
      const { call_id, owner_id } = this.plan
      const { paid_ms } = await bus.ask('call.extend', { call_id, owner_id, talked_ms }, EXTEND_TIMEOUT_MS)
      if (paid_ms > this.#paidMs) {
        this.#paidMs = paid_ms
        this.#watchMoney()
        return
      }
    } catch (error) {
      // No answer is not a refusal: what is held may be talked, and it is asked again meanwhile.
      if (!(error instanceof AskUnanswered)) this.#log.warn({ err: error }, 'call.extend failed')
      if (this.#paidMs - this.#conversation!.talkedMs > EXTEND_TIMEOUT_MS) {
        this.#after(EXTEND_PAUSE_MS, () => void this.#extend())
        return
      }
    }
    // The goodbye itself must fit into what is paid.
    const leftMs = this.#paidMs - this.#conversation!.talkedMs - GOODBYE_MS / 2
    this.#after(Math.max(0, leftMs), () => this.#feed({ type: 'end', reason: 'balance_exhausted' }))
  }

  async #renewLease(): Promise<void> {
    const { bus, clock } = this.#deps
    try {
      await bus.renewLease(this.plan.call_id)
      this.#leaseOkMs = clock.now()
    } catch (error) {
      this.#log.warn({ err: error }, 'lease could not be renewed')
    }
  }

  #checkLease(): void {
    if (this.#deps.clock.now() - this.#leaseOkMs > LEASE_LOST_MS) this.#feed({ type: 'end', reason: 'connection_lost' })
  }

  // ---- the end ----

  async #makeWrapUp(): Promise<void> {
    const conversation = this.#conversation
    this.#talkedMs = conversation?.talkedMs ?? 0
    if (this.#recorder) this.#recorder.stop(() => conversation?.stop())
    else conversation?.stop()
    this.#edges?.close()
    const recorded = this.#recording?.finish() ?? null
    if (conversation) {
      const { goal, extraction } = this.plan
      try {
        await conversation.settled()
        const llm = this.#deps.llmFor(this.plan, this.#secrets, this.#onSwitch)
        const request = { ...conversation.request(), goal, extraction }
        this.#wrapUp = await wrapUpCall(llm, request, AbortSignal.timeout(WRAP_UP_MS))
      } catch (error) {
        this.#log.warn({ err: error }, 'wrap-up failed, the call is closed without a summary')
      }
    }
    this.#recorded = await recorded
    this.#feed({ type: 'wrapped_up' })
  }

  #finish(outcome: Outcome): void {
    for (const cancel of this.#timers) cancel()
    const { clock, bus } = this.#deps
    const conversation = this.#conversation
    const journal = conversation?.journal
    const record: CallRecord = {
      status: outcome.status,
      ended_reason: outcome.reason,
      answered_by: this.#answeredAt === null ? null : (conversation?.answeredBy ?? 'unknown'),
      sip_code: outcome.sipCode,
      answered_at: this.#answeredAt,
      ended_at: clock.wall(),
      talked_ms: this.#talkedMs,
      transcript: journal?.turns ?? [],
      tool_calls: journal?.toolCalls ?? [],
      latency: journal?.latency() ?? { p50_ms: null, p95_ms: null, turns: [] },
      summary: this.#wrapUp?.summary ?? null,
      extracted: this.#wrapUp?.extracted ?? null,
      extraction_problem: this.#wrapUp?.extractionProblem ?? null,
      goal_reached: this.#wrapUp?.goalReached ?? false,
      goal_evidence: this.#wrapUp?.goalEvidence ?? null,
      contact_name: this.#wrapUp?.contactName ?? null,
      do_not_call: conversation?.doNotCall ?? false,
      media: this.#leg?.stats() ?? null,
      recording: this.#recorded,
    }
    this.#emit({ type: 'call.ended', record })
    void this.#events.then(async () => {
      await bus.dropLease(this.plan.call_id).catch(() => {}) // it runs out by itself
      this.#finished()
    })
  }

  #emit(body: CallEventBody): void {
    this.#events = this.#events
      .then(() => this.#emitNow(body))
      .catch(error => this.#log.error({ err: error, type: body.type }, 'event could not be sent'))
  }

  #after(ms: number, run: () => void): void {
    this.#timers.push(this.#deps.clock.after(ms, run))
  }

  #every(ms: number, run: () => void): void {
    let cancel = () => {}
    const again = () => {
      run()
      this.#checkLease()
      cancel = this.#deps.clock.after(ms, again)
    }
    cancel = this.#deps.clock.after(ms, again)
    this.#timers.push(() => cancel())
  }
}

/** What this leg can do for the agent. */
const abilitiesOf = (leg: Leg): Abilities => ({
  ...(leg.sendDtmf ? { sendDtmf: keys => leg.sendDtmf!(keys) } : {}),
  ...(leg.transfer ? { transfer: to => leg.transfer!(to) } : {}),
})
