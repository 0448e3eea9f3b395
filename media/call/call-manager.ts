/**
 * Accepts calls for this engine: commands from the bus, offers from trunks. Owns every live call and closes them all.
 */
import type { EngineBus } from '../bus/engine-bus.ts'
import type { StreamReader } from '../bus/streams.ts'
import type { RequestAnswer } from '../contract/messages.ts'
import type { InboundOffer } from '../ports/inbound.ts'
import type { Tts } from '../ports/speech.ts'
import { Call, type CallDeps } from './call.ts'
import { Presence } from './presence.ts'
import { Refusals } from './refusals.ts'
import { CallSpans } from './spans.ts'

/**
 * The reason why an inbound call was rejected. `full`: at capacity. `draining`: the engine drains. `control_timeout`: control did not
 * answer in time. `late`: control had given the call up.
 */
export const REJECTED_REASONS = ['full', 'draining', 'control_timeout', 'late'] as const
export type RejectedReason = (typeof REJECTED_REASONS)[number]

export interface CallManagerOptions extends CallDeps {
  bus: EngineBus
  /** Maximum of concurrent calls. */
  capacity: number
  sttReady(): boolean
  /** TTS for refusal announcements, on trunks that have them; when omitted, none are played. */
  announcer?: Tts
  /** Called for each inbound call that is rejected for a reason on our side. */
  onRejected?(reason: RejectedReason): void
  /** False while there is nothing to dial over; other engines then take the calls. */
  ready(): boolean
  /** Identifies the engine's SIP server; null while unreachable. When omitted, no other engine shares a server. */
  signalling?(): string | null
  /** Reports whether inbound calls should come to this engine or go to others, at the start and at each change. */
  onAccepting?(open: boolean): void
}

export interface CallManager {
  /** Handles an INVITE that passed validation: asks control, then answers or rejects it. */
  offer(offer: InboundOffer): void
  calls(): number
  /** Re-evaluates `ready` and `signalling` after a change. */
  reconcile(): void
  /**
   * Accepts no new calls, and waits until the live ones have ended, `mostMs` milliseconds have passed, or `hurry`
   * aborts.
   */
  drain(mostMs: number, hurry: AbortSignal): Promise<void>
  /** Accepts no new calls and ends the live ones, with a goodbye if `graceMs` milliseconds suffice. */
  close(graceMs: number): Promise<void>
}

type Admitted = Extract<RequestAnswer<'call.admit'>, { admitted: true }>

/** Milliseconds without an answer of control after which a call is refused. */
const ADMIT_TIMEOUT_MS = 2000

/** Resolves once this engine has announced itself and learnt of the other engines. */
export async function openCallManager(options: CallManagerOptions): Promise<CallManager> {
  const manager = new LiveCalls(options)
  await manager.start()
  return manager
}

class LiveCalls implements CallManager {
  readonly #options: CallManagerOptions
  readonly #presence: Presence
  readonly #refusals: Refusals
  readonly #calls = new Map<string, Call>()
  readonly #admissions = new Set<Promise<void>>()
  /** Offers that wait for control's decision; each already occupies capacity. */
  readonly #pending = new Set<InboundOffer>()
  #readers: readonly StreamReader[] = []
  #running = true
  #draining = false

  constructor(options: CallManagerOptions) {
    const { bus, clock, log, announcer, capacity, sttReady, signalling = () => null, onAccepting = () => {} } = options
    this.#options = options
    this.#presence = new Presence({
      bus,
      clock,
      log,
      signalling,
      onAccepting,
      sttReady,
      rooms: options.rooms !== undefined,
      load: () => ({ calls: this.#occupied(), capacity: this.#accepts() ? capacity : 0 }),
    })
    this.#refusals = new Refusals({ announcer, clock, log, capacity, free: () => this.#free() })
  }

  async start(): Promise<void> {
    const { bus } = this.#options
    this.#readers = [
      bus.onPlace(
        () => this.#free(),
        plan => this.#keep(Call.dial(plan, this.#options)),
      ),
      bus.onCommand(command => this.#calls.get(command.call_id)?.command(command)),
      await bus.onEngines(() => this.#presence.heard()),
    ]
    await bus.emitEngine('engine.started')
    await this.#presence.start()
  }

  offer(offer: InboundOffer): void {
    const admission = this.#admit(offer)
      .catch(error => {
        this.#options.log.error({ err: error }, 'inbound call failed')
        offer.reject('internal_error')
      })
      .finally(() => {
        this.#admissions.delete(admission)
        if (this.#pending.delete(offer)) this.#presence.changed()
      })
    this.#admissions.add(admission)
  }

  calls(): number {
    return this.#calls.size
  }

  reconcile(): void {
    this.#presence.changed()
  }

  async drain(mostMs: number, hurry: AbortSignal): Promise<void> {
    this.#draining = true
    this.#presence.changed()
    const over = new Promise<void>(resolve => {
      this.#options.clock.after(mostMs, resolve)
      hurry.addEventListener('abort', () => resolve(), { once: true })
      if (hurry.aborted) resolve()
    })
    await Promise.race([this.#idle(), over])
  }

  async close(graceMs: number): Promise<void> {
    const { bus, clock } = this.#options
    this.#running = false
    this.#presence.close()
    const readers = this.#readers.map(reader => reader.stop())
    await Promise.all([...readers, ...this.#admissions, this.#refusals.close()])
    this.#endAll()
    const all = this.#allDone()
    await Promise.race([all, new Promise<void>(resolve => clock.after(graceMs, resolve))])
    // The second end skips the goodbye.
    this.#endAll()
    await Promise.race([all, new Promise<void>(resolve => clock.after(2000, resolve))])
    await bus.emitEngine('engine.stopping').catch(() => {})
  }

  async #admit(offer: InboundOffer): Promise<void> {
    const { bus, onRejected, capacity } = this.#options
    // The SIP server now routes calls elsewhere; those that it sent before it learnt of the draining are still ours.
    if (this.#draining && !this.#presence.isJustDraining()) {
      onRejected?.('draining')
      offer.reject('not_ready')
      return
    }
    if (!this.#ready() || this.#occupied() >= capacity) {
      onRejected?.('full')
      offer.reject('too_many_calls')
      return
    }
    this.#pending.add(offer)
    this.#presence.changed()
    const spans = new CallSpans(this.#options, 'in', null)
    const answer = await this.#askControl(offer, spans)
    if (!answer) return
    // Control may have given up the admission meanwhile; the call is then not ours.
    if (!this.#running || !(await bus.claim(answer.plan.call_id))) {
      onRejected?.('late')
      offer.reject('not_ready')
      spans.refused('not_ready')
      return
    }
    this.#pending.delete(offer)
    this.#keep(Call.answer(answer.plan, offer, this.#options, spans))
  }

  /** Asks control for the call's plan. Returns null, and has rejected the call, unless control admits it in time. */
  async #askControl(offer: InboundOffer, spans: CallSpans): Promise<Admitted | null> {
    const { bus, log, onRejected } = this.#options
    let answer: RequestAnswer<'call.admit'>
    try {
      const { called, caller, source, trunkId, softphoneId, decidedBy } = offer
      const { engine, boot } = bus
      const phone = softphoneId === undefined ? {} : { softphone_id: softphoneId }
      const request = {
        engine,
        boot,
        trunk_id: trunkId,
        decided_by: decidedBy,
        ...phone,
        called,
        caller,
        source,
        ...spans.told,
      }
      answer = await bus.request('call.admit', request, ADMIT_TIMEOUT_MS)
    } catch (error) {
      log.warn({ err: error }, 'control did not admit an inbound call in time')
      onRejected?.('control_timeout')
      offer.reject('not_ready')
      spans.refused('not_ready')
      return null
    }
    if (answer.admitted) return answer
    log.info({ refusal: answer.refusal }, 'inbound call refused')
    this.#refusals.refuse(offer, answer.refusal)
    spans.refused(answer.refusal)
    return null
  }

  #keep(call: Call): void {
    this.#calls.set(call.plan.call_id, call)
    this.#presence.changed()
    void call.done.then(() => {
      this.#calls.delete(call.plan.call_id)
      this.#presence.changed()
    })
  }

  #ready(): boolean {
    return this.#running && this.#options.ready()
  }

  #accepts(): boolean {
    return this.#ready() && !this.#draining
  }

  #occupied(): number {
    return this.#calls.size + this.#pending.size
  }

  #free(): number {
    return this.#accepts() ? this.#options.capacity - this.#occupied() : 0
  }

  /** Resolves when no call is live and none can still arrive. */
  async #idle(): Promise<void> {
    await this.#presence.settled()
    // A pending admission may still become a call.
    await Promise.all(this.#admissions)
    while (this.#calls.size > 0) await this.#allDone()
  }

  async #allDone(): Promise<void> {
    await Promise.all([...this.#calls.values()].map(call => call.done))
  }

  #endAll(): void {
    for (const call of this.#calls.values()) call.end('engine_shutdown')
  }
}
