/** Takes calls for this engine: commands from the bus, offers from trunks. Knows every live call, and closes them all. */
import type { EngineBus } from '../bus/engine-bus.ts'
import type { Reader } from '../bus/streams.ts'
import type { AskAnswer } from '../contract/messages.ts'
import type { InboundOffer } from '../ports/inbound.ts'
import type { Tts } from '../ports/speech.ts'
import { Call, type CallDeps } from './call.ts'
import { Presence } from './presence.ts'
import { Refusals } from './refusals.ts'
import { CallSpans } from './spans.ts'

/** `full`: as many calls as the engine takes; `leaving`: it waits for its last ones to end; `silence`: control did not answer in time; `late`: it had given the call up. */
export const SHED = ['full', 'leaving', 'silence', 'late'] as const
export type Shed = (typeof SHED)[number]

export interface CallManagerOptions extends CallDeps {
  bus: EngineBus
  /** Calls at once. */
  capacity: number
  hears(): boolean
  /** Tells callers why they are refused, where their trunk has words for it; left out: nobody does. */
  announcer?: Tts
  /** Told of each call that comes in and is not taken for want of something on our side. */
  onShed?(why: Shed): void
  /** False while there is nothing to dial over: other engines shall take the calls then. */
  ready(): boolean
  /** Which SIP server this engine is at, null while it is away; left out: none that other engines are at. */
  signalling?(): string | null
  /** Whether calls that come in shall come here or go to other engines, at first and whenever it changes. */
  onDoor?(open: boolean): void
}

export interface CallManager {
  /** An INVITE with a known shape; the call manager asks control and answers or rejects it. */
  offer(offer: InboundOffer): void
  calls(): number
  /** `ready` or `signalling` say something else now. */
  look(): void
  /** Takes no new calls from now on, and waits until the live ones have ended by themselves, `mostMs` have passed, or `hurry`. */
  drain(mostMs: number, hurry: AbortSignal): Promise<void>
  /** Takes no new calls; ends the live ones, politely when there is time. */
  close(graceMs: number): Promise<void>
}

/** Silence of control for so long is a refusal (design: two seconds). */
const ADMIT_TIMEOUT_MS = 2000

export async function openCallManager(options: CallManagerOptions): Promise<CallManager> {
  const { bus, clock, log } = options
  const calls = new Map<string, Call>()
  let open = true
  let leaving = false

  const keep = (call: Call) => {
    calls.set(call.plan.call_id, call)
    presence.changed()
    void call.done.then(() => {
      calls.delete(call.plan.call_id)
      presence.changed()
    })
  }
  const admissions = new Set<Promise<void>>()
  /** Control is being asked about them: they have a place already. */
  const asked = new Set<InboundOffer>()
  const ready = () => open && options.ready()
  const taken = () => calls.size + asked.size
  const takes = () => ready() && !leaving
  const free = () => (takes() ? options.capacity - taken() : 0)
  const { signalling = () => null, onDoor = () => {} } = options
  const presence = new Presence({
    ...{ bus, clock, log, signalling, onDoor, hears: options.hears, rooms: options.rooms !== undefined },
    places: () => ({ calls: taken(), capacity: takes() ? options.capacity : 0 }),
  })

  const { announcer, capacity } = options
  const refusals = new Refusals({ announcer, clock, log, capacity, free })

  async function admit(offer: InboundOffer): Promise<void> {
    // It goes elsewhere now; what the SIP server sent before it knew is nobody else's.
    if (leaving && !presence.isJustShut()) {
      options.onShed?.('leaving')
      offer.reject('not_ready')
      return
    }
    if (!ready() || taken() >= capacity) {
      options.onShed?.('full')
      offer.reject('too_many_calls')
      return
    }
    asked.add(offer)
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
    // Control may have given the admission up meanwhile; then the call is not ours.
    if (!open || !(await bus.claim(answer.plan.call_id))) {
      options.onShed?.('late')
      offer.reject('not_ready')
      spans.refused('not_ready')
      return
    }
    asked.delete(offer)
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
          if (asked.delete(offer)) presence.changed()
        })
      admissions.add(admission)
    },
    calls: () => calls.size,
    look: () => presence.changed(),
    async drain(mostMs, hurry) {
      leaving = true
      presence.changed()
      const over = new Promise<void>(resolve => {
        clock.after(mostMs, resolve)
        hurry.addEventListener('abort', () => resolve(), { once: true })
        if (hurry.aborted) resolve()
      })
      const idle = async () => {
        await presence.settled()
        // Who is being asked about may yet become a call.
        await Promise.all(admissions)
        while (calls.size > 0) await Promise.all([...calls.values()].map(call => call.done))
      }
      await Promise.race([idle(), over])
    },
    async close(graceMs) {
      open = false
      presence.close()
      await Promise.all([...readers.map(reader => reader.stop()), ...admissions, refusals.close()])
      for (const call of calls.values()) call.end('engine_shutdown')
      const all = Promise.all([...calls.values()].map(call => call.done))
      await Promise.race([all, new Promise<void>(resolve => clock.after(graceMs, resolve))])
      // Second wish: without waiting for the goodbye.
      for (const call of calls.values()) call.end('engine_shutdown')
      await Promise.race([all, new Promise<void>(resolve => clock.after(2000, resolve))])
      await bus.emitEngine('engine.stopping').catch(() => {})
    },
  }
}
