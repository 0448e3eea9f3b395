/** Takes calls for this engine: commands from the bus, offers from trunks. Knows every live call, and closes them all. */
import { HEARTBEAT_MS } from '../contract/bus.ts'
import type { EngineBus } from '../contract/bus-engine.ts'
import type { AskAnswer } from '../contract/messages.ts'
import type { Reader } from '../contract/streams.ts'
import type { InboundOffer, Tts } from '../ports.ts'
import { Call, type CallDeps } from './call.ts'
import { Refusals } from './refusals.ts'

/** `full`: as many calls as the engine takes; `leaving`: it waits for its last ones to end; `silence`: control did not answer in time; `late`: it had given the call up. */
export const SHED = ['full', 'leaving', 'silence', 'late'] as const
export type Shed = (typeof SHED)[number]

export interface DeskOptions extends CallDeps {
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
}

export interface Desk {
  /** An INVITE with a known shape; the desk asks control and answers or rejects it. */
  offer(offer: InboundOffer): void
  calls(): number
  /** Takes no new calls from now on, and waits until the live ones have ended by themselves, `mostMs` have passed, or `hurry`. */
  drain(mostMs: number, hurry: AbortSignal): Promise<void>
  /** Takes no new calls; ends the live ones, politely when there is time. */
  close(graceMs: number): Promise<void>
}

/** Silence of control for so long is a refusal (design: two seconds). */
const ADMIT_TIMEOUT_MS = 2000

export async function openDesk(options: DeskOptions): Promise<Desk> {
  const { bus, clock, log } = options
  const calls = new Map<string, Call>()
  let open = true
  let leaving = false

  const keep = (call: Call) => {
    calls.set(call.plan.call_id, call)
    void call.done.then(() => {
      calls.delete(call.plan.call_id)
    })
  }
  /** Offers that control is being asked about: they have a place already. */
  const admissions = new Set<Promise<void>>()
  const takes = () => open && !leaving && options.ready()
  const free = () => (takes() ? options.capacity - calls.size - admissions.size : 0)

  const { announcer, capacity } = options
  const refusals = new Refusals({ announcer, clock, log, capacity, free })

  async function admit(offer: InboundOffer): Promise<void> {
    if (leaving) {
      options.onShed?.('leaving')
      offer.reject('not_ready')
      return
    }
    if (free() <= 0) {
      options.onShed?.('full')
      offer.reject('too_many_calls')
      return
    }
    let answer: AskAnswer<'call.admit'>
    try {
      const { called, caller, source, trunkId, softphoneId } = offer
      const { engine, boot } = bus
      const phone = softphoneId === undefined ? {} : { softphone_id: softphoneId }
      const request = { engine, boot, trunk_id: trunkId, ...phone, called, caller, source }
      answer = await bus.ask('call.admit', request, ADMIT_TIMEOUT_MS)
    } catch (error) {
      log.warn({ err: error }, 'control did not admit an inbound call in time')
      options.onShed?.('silence')
      offer.reject('not_ready')
      return
    }
    if (!answer.admitted) {
      log.info({ refusal: answer.refusal }, 'inbound call refused')
      refusals.refuse(offer, answer.refusal)
      return
    }
    // Control may have given the admission up meanwhile; then the call is not ours.
    if (!open || !(await bus.claim(answer.plan.call_id))) {
      options.onShed?.('late')
      offer.reject('not_ready')
      return
    }
    keep(Call.answer(answer.plan, offer, options))
  }

  const readers: Reader[] = [
    bus.onPlace(free, plan => keep(Call.dial(plan, options))),
    bus.onCommand(command => calls.get(command.call_id)?.command(command)),
  ]
  const beat = () =>
    bus
      .heartbeat({
        calls: calls.size,
        capacity: takes() ? options.capacity : 0,
        hears: options.hears(),
        rooms: options.rooms !== undefined,
      })
      .catch(error => {
        log.warn({ err: error }, 'heartbeat failed')
      })
  let cancelBeat = () => {}
  const beatAgain = () => {
    void beat()
    cancelBeat = clock.after(HEARTBEAT_MS, beatAgain)
  }
  await bus.emitEngine('engine.started')
  beatAgain()

  return {
    offer(offer) {
      const admission = admit(offer)
        .catch(error => {
          log.error({ err: error }, 'inbound call failed')
          offer.reject('internal_error')
        })
        .finally(() => admissions.delete(admission))
      admissions.add(admission)
    },
    calls: () => calls.size,
    async drain(mostMs, hurry) {
      leaving = true
      void beat()
      const over = new Promise<void>(resolve => {
        clock.after(mostMs, resolve)
        hurry.addEventListener('abort', () => resolve(), { once: true })
        if (hurry.aborted) resolve()
      })
      const idle = async () => {
        // Who is being asked about may yet become a call.
        await Promise.all(admissions)
        while (calls.size > 0) await Promise.all([...calls.values()].map(call => call.done))
      }
      await Promise.race([idle(), over])
    },
    async close(graceMs) {
      open = false
      cancelBeat()
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
