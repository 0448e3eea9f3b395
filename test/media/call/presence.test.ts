/**
 * Accepting and draining of an engine: it drains while another engine at its SIP server has more capacity; and the
 * effects on the call manager.
 */
import { describe, expect, it } from 'vitest'
import { HEARTBEAT_TTL_MS } from '../../../media/bus/keys.ts'
import { IN_TRANSIT_MS, MIN_DRAINING_MS } from '../../../media/bus/load-balancing.ts'
import { type CallManagerOptions, openCallManager } from '../../../media/call/call-manager.ts'
import type { Heartbeat } from '../../../media/contract/messages.ts'
import type { InboundOffer } from '../../../media/ports/inbound.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { quietLog } from '../../support/world.ts'

const other = (over: Partial<Heartbeat> = {}): Heartbeat => ({
  engine: 'other',
  boot: 'o',
  at: 0,
  stt_ready: true,
  rooms: false,
  signalling: 'sip-1',
  accepting: true,
  calls: 0,
  capacity: 20,
  ...over,
})

async function world(others: Heartbeat[], over: Partial<CallManagerOptions> = {}) {
  const clock = fakeClock()
  const reader = { stop: async () => {} }
  const state = { others, silent: false, server: 'sip-1' as string | null }
  const beats: Partial<Heartbeat>[] = []
  let news = () => {}
  const answers: ((answer: object) => void)[] = []
  const bus = {
    engine: 'e',
    boot: 'b',
    onPlace: () => reader,
    onCommand: () => reader,
    emitEngine: async () => {},
    onEngines: (handle: () => void) => {
      news = handle
      return reader
    },
    heartbeat: (beat: Partial<Heartbeat>) => {
      beats.push(beat)
      return state.silent ? new Promise<never>(() => {}) : Promise.resolve(state.others)
    },
    request: () => new Promise(resolve => answers.push(resolve)),
  }
  const changes: boolean[] = []
  const rejected: string[] = []
  const options = {
    bus,
    clock,
    log: quietLog,
    capacity: 3,
    sttReady: () => true,
    ready: () => state.server !== null,
    signalling: () => state.server,
    onAccepting: (accepting: boolean) => void changes.push(accepting),
    ...over,
  }
  const callManager = await openCallManager(options as unknown as CallManagerOptions)
  const offer = () =>
    callManager.offer({
      called: '+1',
      caller: '+2',
      source: '127.0.0.1',
      trunkId: null,
      signal: new AbortController().signal,
      answer: async () => null,
      reject: refusal => rejected.push(refusal),
    } satisfies InboundOffer)
  /** Time passes, and what was promised comes. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left))
      await settle()
    }
  }
  const hangUp = async () => {
    answers.shift()!({ admitted: false, refusal: 'unknown_number' })
    await settle()
  }
  /** Sets the heartbeats of the other engines and delivers them. */
  const say = async (...others: Heartbeat[]) => {
    state.others = others
    news()
    await settle()
  }
  return { callManager, clock, state, beats, changes, rejected, answers, offer, pass, hangUp, say }
}

describe('accepting state of an engine', () => {
  it('accepts when the call manager starts', async () => {
    const { changes, beats, pass } = await world([other()])
    expect(changes).toEqual([true])
    const told = { calls: 0, capacity: 3, stt_ready: true, rooms: false, signalling: 'sip-1' }
    expect(beats).toEqual([{ ...told, accepting: false }])
    await pass(100)
    expect(beats.at(-1)).toEqual({ ...told, accepting: true })
  })

  it('drains before its last slot while another has capacity', async () => {
    const { changes, rejected, answers, offer } = await world([other()])
    offer()
    await settle()
    expect(changes).toEqual([true])
    offer()
    await settle()
    expect(changes).toEqual([true, false])
    offer()
    offer()
    await settle()
    expect([answers.length, rejected]).toEqual([3, ['too_many_calls']])
  })

  it('keeps accepting when the others are full or at another server', async () => {
    const { changes, offer, pass } = await world([other({ calls: 20 }), other({ signalling: 'sip-2' })])
    for (let calls = 0; calls < 3; calls++) offer()
    await pass(3000)
    expect(changes).toEqual([true])
  })

  it('keeps accepting when the other announced draining first', async () => {
    const { changes, beats, offer, pass } = await world([other({ accepting: false })])
    for (let calls = 0; calls < 3; calls++) offer()
    await pass(3000)
    expect([changes, beats.at(-1)!.accepting]).toEqual([[true], true])
  })

  it('keeps accepting when the other announced draining, too', async () => {
    const { state, changes, beats, offer, pass } = await world([other()])
    state.others = [other({ accepting: false })]
    for (let calls = 0; calls < 3; calls++) offer()
    await settle()
    expect([changes, beats.at(-1)!.accepting]).toEqual([[true], false])
    await pass(100)
    expect([changes, beats.at(-1)!.accepting]).toEqual([[true], true])
  })

  it('accepts after a call ended or the others filled up', async () => {
    const { state, changes, offer, pass, hangUp } = await world([other()])
    offer()
    offer()
    await settle()
    await hangUp()
    await pass(MIN_DRAINING_MS - 200)
    expect(changes).toEqual([true, false])
    await pass(700)
    expect(changes).toEqual([true, false, true])
    offer()
    await settle()
    expect(changes).toEqual([true, false, true, false])
    state.others = [other({ calls: 20 })]
    await pass(1500)
    expect(changes).toEqual([true, false, true, false, true])
  })

  it('accepts at once when most slots are free', async () => {
    const { changes, offer, pass, hangUp } = await world([other()])
    offer()
    offer()
    await settle()
    await hangUp()
    await pass(100)
    expect(changes).toEqual([true, false])
    await hangUp()
    expect(changes).toEqual([true, false, true])
    await pass(100)
    expect(changes).toEqual([true, false, true])
  })

  it('accepts when the last other engine fills up', async () => {
    const { changes, offer, say, hangUp } = await world([other({ capacity: 3, calls: 0 })])
    offer()
    offer()
    await settle()
    await say(other({ capacity: 3, calls: 2 }))
    expect(changes).toEqual([true, false])
    await say(other({ capacity: 3, calls: 3 }))
    expect(changes).toEqual([true, false, true])
    await hangUp()
  })

  it('publishes level changes at once', async () => {
    const { beats, offer, say, pass } = await world([other({ accepting: false })], { capacity: 3 })
    await pass(100)
    const before = beats.length
    offer()
    await settle()
    expect(beats.length).toBe(before)
    offer()
    await settle()
    expect(beats.slice(before).map(({ calls }) => calls)).toEqual([2])
    await say(other({ accepting: false, calls: 20 }))
    expect(beats.length).toBe(before + 1)
  })

  it('drains when it is full and another starts to accept', async () => {
    const { state, changes, beats, offer, pass } = await world([other({ accepting: false })])
    for (let calls = 0; calls < 2; calls++) offer()
    await pass(100)
    const before = beats.length
    offer()
    await settle()
    expect([beats.length, beats.at(-1)!.calls, changes]).toEqual([before + 1, 3, [true]])
    state.others = [other()]
    await pass(600)
    expect(changes).toEqual([true, false])
  })

  it('changes at most once a second', async () => {
    const { changes, offer, pass, hangUp } = await world([other()])
    offer()
    for (let round = 0; round < 50; round++) {
      offer()
      await pass(100)
      await hangUp()
      await pass(100)
    }
    expect(changes.filter(accepting => accepting).length).toBeLessThanOrEqual(11)
    expect(changes.length).toBeGreaterThan(10)
  })

  it('accepts when no other engine is known any more', async () => {
    const { state, changes, offer, pass } = await world([other()])
    offer()
    offer()
    await settle()
    await pass(1000) // a beat
    state.silent = true
    await pass(HEARTBEAT_TTL_MS - 1000)
    expect(changes).toEqual([true, false])
    await pass(2000)
    expect(changes).toEqual([true, false, true])
  })

  it('publishes load changes at once, and a burst once', async () => {
    const { beats, offer, pass } = await world([], { capacity: 50 })
    for (let calls = 0; calls < 20; calls++) offer()
    await settle()
    expect(beats.length).toBe(1)
    await pass(100)
    expect(beats.map(({ calls }) => calls)).toEqual([0, 20])
    await pass(1900)
    expect(beats.length).toBe(2)
    await pass(100)
    expect(beats.length).toBe(3)
  })

  it('publishes changes of the SIP server at once', async () => {
    const { state, beats, callManager, pass } = await world([])
    state.server = null
    callManager.reconcile()
    await pass(100)
    expect(beats.at(-1)).toEqual({ calls: 0, capacity: 0, stt_ready: true, rooms: false, accepting: true })
    state.server = 'sip-2'
    callManager.reconcile()
    await pass(100)
    expect(beats.at(-1)).toMatchObject({ capacity: 3, signalling: 'sip-2' })
  })
})

describe('a draining engine', () => {
  it('drains, accepts calls in transit, and waits for them', async () => {
    const { callManager, changes, rejected, answers, offer, pass, hangUp } = await world([other()])
    let gone = false
    const draining = callManager.drain(60_000, new AbortController().signal).then(() => {
      gone = true
    })
    offer() // sent before the server could know
    await settle()
    expect([changes, answers.length, rejected]).toEqual([[true, false], 1, []])
    await hangUp()
    await pass(IN_TRANSIT_MS - 50)
    expect(gone).toBe(false)
    offer()
    await pass(100)
    expect([answers.length, rejected, gone]).toEqual([1, ['unknown_number'], false])
    offer()
    await settle()
    expect([answers.length, rejected]).toEqual([1, ['unknown_number', 'not_ready']])
    await hangUp()
    await draining
    expect(rejected).toEqual(['unknown_number', 'not_ready', 'unknown_number'])
  })

  it("accepts calls until it has read the others' state", async () => {
    const { callManager, state, changes, rejected, answers, offer, pass } = await world([other()])
    state.silent = true
    void callManager.drain(60_000, new AbortController().signal)
    await pass(4 * IN_TRANSIT_MS)
    offer()
    await settle()
    expect([changes, answers.length, rejected]).toEqual([[true], 1, []])
  })

  it('keeps accepting, and rejects calls, when no other engine accepts', async () => {
    const { callManager, changes, rejected, offer } = await world([other({ capacity: 0 })])
    const draining = callManager.drain(60_000, new AbortController().signal)
    await settle()
    offer()
    await draining
    expect([changes, rejected]).toEqual([[true], ['not_ready']])
  })

  it('publishes draining without waiting for its calls', async () => {
    const { callManager, changes, beats, offer, hangUp } = await world([other()])
    offer()
    await settle()
    const closed = callManager.close(1000)
    await hangUp()
    await closed
    expect(changes).toEqual([true, false])
    expect(beats.at(-1)).toMatchObject({ capacity: 0 })
  })
})
