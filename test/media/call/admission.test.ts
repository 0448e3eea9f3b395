/** Admission of inbound calls: capacity for calls that wait for control, and draining. */
import { describe, expect, it } from 'vitest'
import { type CallManagerOptions, openCallManager } from '../../../media/call/call-manager.ts'
import type { EarlyMedia, InboundOffer } from '../../../media/ports/inbound.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

async function callManager(over: Partial<CallManagerOptions> = {}) {
  const admit: ((answer: object) => void)[] = []
  const claimed: string[] = []
  const reader = { stop: async () => {} }
  const bus = {
    engine: 'e',
    boot: 'b',
    onPlace: () => reader,
    onCommand: () => reader,
    onEngines: () => reader,
    heartbeat: async () => {},
    emitEngine: async () => {},
    emitter: () => async () => {},
    renewLease: async () => {},
    dropLease: async () => {},
    claim: async (id: string) => claimed.push(id) > 0,
    request: () => new Promise(resolve => admit.push(resolve)),
  }
  const clock = fakeClock()
  const options = {
    bus,
    clock,
    log: quietLog,
    capacity: 1,
    sttReady: () => true,
    ready: () => true,
    onRejected: (why: string) => void shed.push(why),
    ...over,
  }
  const rejected: string[] = []
  const shed: string[] = []
  const offer = (): InboundOffer => ({
    called: '+1',
    caller: '+2',
    source: '127.0.0.1',
    trunkId: null,
    signal: new AbortController().signal,
    answer: async () => null,
    reject: refusal => rejected.push(refusal),
  })
  return {
    callManager: await openCallManager(options as unknown as CallManagerOptions),
    admit,
    claimed,
    rejected,
    shed,
    offer,
    clock,
  }
}

describe('a call manager', () => {
  it('accepts at most its capacity of calls', async () => {
    const { callManager: open, admit, rejected, shed, offer } = await callManager()
    open.offer(offer())
    open.offer(offer())
    await settle()
    expect(admit).toHaveLength(1)
    expect([rejected, shed]).toEqual([['too_many_calls'], ['full']])
  })

  it('accepts a call during a rejection announcement, and ends the announcement at close', async () => {
    const announcer = fakeTts()
    const { callManager: open, admit, rejected, offer } = await callManager({ announcer, capacity: 2 })
    const attached = Promise.withResolvers<void>()
    const sound: EarlyMedia = {
      sampleRate: 8000,
      signal: new AbortController().signal,
      attach: () => attached.resolve(),
    }
    open.offer({
      ...offer(),
      announcementOf: () => ({ text: 'Closed.', language: 'en' }),
      early: async () => sound,
    })
    await settle()
    admit[0]!({ admitted: false, refusal: 'insufficient_balance' })
    await attached.promise
    await settle()
    expect([announcer.spoken, rejected]).toEqual([['Closed.'], []])
    open.offer(offer())
    open.offer(offer())
    await settle()
    expect(admit).toHaveLength(3)
    for (const answer of admit.slice(1)) answer({ admitted: false, refusal: 'unknown_number' })
    await settle()
    const before = [...rejected]
    await open.close(1000)
    expect([before, rejected]).toEqual([
      ['unknown_number', 'unknown_number'],
      ['unknown_number', 'unknown_number', 'insufficient_balance'],
    ])
  })

  it('that drains accepts pending admissions, no new calls, and ends with the last', async () => {
    const { callManager: open, admit, rejected, shed, offer, clock } = await callManager({ capacity: 5 })
    open.offer(offer())
    await settle()
    let drained = false
    const hurry = new AbortController()
    const draining = open.drain(60_000, hurry.signal).then(() => {
      drained = true
    })
    open.offer(offer())
    await settle()
    expect([rejected, shed, drained]).toEqual([['not_ready'], ['draining'], false])
    admit[0]!({ admitted: false, refusal: 'unknown_number' })
    await draining
    expect(rejected).toEqual(['not_ready', 'unknown_number'])
    expect(clock.now()).toBeLessThan(60_000)
    await open.close(1000)
  })

  it.each(['is asked again', 'has waited long enough'])('that drains stops waiting when it %s', async why => {
    const { callManager: open, offer, clock } = await callManager({ capacity: 5 })
    open.offer(offer())
    await settle()
    const hurry = new AbortController()
    const draining = open.drain(60_000, hurry.signal)
    if (why === 'is asked again') hurry.abort()
    else await clock.advance(60_000)
    await draining
  })

  it('claims no call while it closes', async () => {
    const { callManager: open, admit, claimed, rejected, shed, offer } = await callManager()
    open.offer(offer())
    await settle()
    const closed = open.close(1000)
    admit[0]!({ admitted: true, plan: plan({ direction: 'in' }) })
    await settle()
    expect(claimed).toEqual([])
    expect([rejected, shed]).toEqual([['not_ready'], ['late']])
    await closed
  })
})
