/**
 * Accepts calls for this engine: commands from the bus, offers from trunks. Owns every live call and closes them all.
 */
import type { EngineBus } from '../bus/engine-bus.ts'
import type { Reader } from '../bus/streams.ts'
import type { AskAnswer } from '../contract/messages.ts'
import type { InboundOffer } from '../ports/inbound.ts'
import type { Tts } from '../ports/speech.ts'
import { Call, type CallDeps } from './call.ts'
import { Presence } from './presence.ts'
import { Refusals } from './refusals.ts'
import { CallSpans } from './spans.ts'

/**
 * The reason why an inbound call was rejected. `full`: at capacity. `leaving`: the engine drains. `silence`: control did not
 * answer in time. `late`: control had given the call up.
 */
export const SHED = ['full', 'leaving', 'silence', 'late'] as const
export type Shed = (typeof SHED)[number]

export interface CallManagerOptions extends CallDeps {
  bus: EngineBus
  /** Maximum of concurrent calls. */
  capacity: number
  hears(): boolean
  /** TTS for refusal announcements, on trunks that have them; when omitted, none are played. */
  announcer?: Tts
  /** Called for each inbound call that is rejected for a reason on our side. */
  onShed?(why: Shed): void
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
  look(): void
  /**
   * Accepts no new calls, and waits until the live ones have ended, `mostMs` milliseconds have passed, or `hurry`
   * aborts.
   */
  drain(mostMs: number, hurry: AbortSignal): Promise<void>
  /** Accepts no new calls and ends the live ones, with a goodbye if `graceMs` milliseconds suffice. */
  close(graceMs: number): Promise<void>
}

/** Milliseconds without an answer of control after which a call is refused. */
const ADMIT_TIMEOUT_MS = 2000

export async function openCallManager(options: CallManagerOptions): Promise<CallManager> {
  const { bus, clock, log } = options
  const calls = new Map<string, Call>()
  let running = true
  let draining = false

  const keep = (call: Call) => {
    calls.set(call.plan.call_id, call)
    presence.changed()
    void call.done.then(() => {
      calls.delete(call.plan.call_id)
      presence.changed()
    })
  }
  const admissions = new Set<Promise<void>>()
  /** Offers that wait for control's decision; each already occupies capacity. */
  const pending = new Set<InboundOffer>()
  const ready = () => running && options.ready()
  const occupied = () => calls.size + pending.size
  const accepts = () => ready() && !draining
  const free = () => (accepts() ? options.capacity - occupied() : 0)
  const { signalling = () => null, onAccepting = () => {} } = options
  const presence = new Presence({
    ...{ bus, clock, log, signalling, onAccepting, hears: options.hears, rooms: options.rooms !== undefined },
    places: () => ({ calls: occupied(), capacity: accepts() ? options.capacity : 0 }),
  })

  const { announcer, capacity } = options
  const refusals = new Refusals({ announcer, clock, log, capacity, free })

  async function admit(offer: InboundOffer): Promise<void> {
    // The SIP server now routes calls elsewhere; those that it sent before it learnt of the draining are still ours.
    if (draining && !presence.isJustDraining()) {
      options.onShed?.('leaving')
      offer.reject('not_ready')
      return
    }
    if (!ready() || occupied() >= capacity) {
      options.onShed?.('full')
      offer.reject('too_many_calls')
      return
    }
    pending.add(offer)
    presence.changed()
    const spans = new CallSpans(options, 'in', null)
    let answer: AskAnswer<'call.admit'>
    try {
      const { called, caller, source, trunkId, softphoneId } = offer
      const { engine, boot } = bus
      const phone = softphoneId === undefined ? {} : { softphone_id: softphoneId }
      const request = { engine, boot, trunk_id: trunkId, ...phone, called, caller, source, ...spans.told }
      answer = await bus.ask('call.admit', request, ADMIT_TIMEOUT_MS)
    } catch (error) {
      log.warn({ err: error }, 'control did not admit an inbound call in time')
      options.onShed?.('silence')
      offer.reject('not_ready')
      spans.refused('not_ready')
      return
    }
    if (!answer.admitted) {
      log.info({ refusal: answer.refusal }, 'inbound call refused')
      refusals.refuse(offer, answer.refusal)
      spans.refused(answer.refusal)
      return
    }
    // Control may have given up the admission meanwhile; the call is then not ours.
    if (!running || !(await bus.claim(answer.plan.call_id))) {
      options.onShed?.('late')
      offer.reject('not_ready')
      spans.refused('not_ready')
      return
    }
    pending.delete(offer)
    keep(Call.answer(answer.plan, offer, options, spans))
  }

  const readers: Reader[] = [
    bus.onPlace(free, plan => keep(Call.dial(plan, options))),
    bus.onCommand(command => calls.get(command.call_id)?.command(command)),
    await bus.onEngines(() => presence.heard()),
  ]
  await bus.emitEngine('engine.started')
  await presence.start()

  return {
    offer(offer) {
      const admission = admit(offer)
        .catch(error => {
          log.error({ err: error }, 'inbound call failed')
          offer.reject('internal_error')
        })
        .finally(() => {
          admissions.delete(admission)
          if (pending.delete(offer)) presence.changed()
        })
      admissions.add(admission)
    },
    calls: () => calls.size,
    look: () => presence.changed(),
    async drain(mostMs, hurry) {
      draining = true
      presence.changed()
      const over = new Promise<void>(resolve => {
        clock.after(mostMs, resolve)
        hurry.addEventListener('abort', () => resolve(), { once: true })
        if (hurry.aborted) resolve()
      })
      const idle = async () => {
        await presence.settled()
        // A pending admission may still become a call.
        await Promise.all(admissions)
        while (calls.size > 0) await Promise.all([...calls.values()].map(call => call.done))
      }
      await Promise.race([idle(), over])
    },
    async close(graceMs) {
      running = false
      presence.close()
      await Promise.all([...readers.map(reader => reader.stop()), ...admissions, refusals.close()])
      for (const call of calls.values()) call.end('engine_shutdown')
      const all = Promise.all([...calls.values()].map(call => call.done))
      await Promise.race([all, new Promise<void>(resolve => clock.after(graceMs, resolve))])
      // The second end skips the goodbye.
      for (const call of calls.values()) call.end('engine_shutdown')
      await Promise.race([all, new Promise<void>(resolve => clock.after(2000, resolve))])
      await bus.emitEngine('engine.stopping').catch(() => {})
    },
  }
}
