/**
 * A whole call with simulated time: machine, conversation, money, leases, events; only the leg and the bus are fakes.
 */
import { describe, expect, it } from 'vitest'
import { type EngineBus, RequestTimeout } from '../../../media/bus/engine-bus.ts'
import { Call, type CallDeps } from '../../../media/call/call.ts'
import { type CallEventBody, CallRecord, type EndedReason } from '../../../media/contract/messages.ts'
import type { CallPlan } from '../../../media/contract/plan.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { DialResult } from '../../../media/ports/dialer.ts'
import type { InboundOffer } from '../../../media/ports/inbound.ts'
import type { Leg, LegEnd, LegSink } from '../../../media/ports/leg.ts'
import type { LlmEvent } from '../../../media/ports/llm.ts'
import { FakeLine, fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt, fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

interface Options {
  plan?: Partial<CallPlan>
  says?: string[]
  replies?: () => LlmEvent[]
  /** Seconds that `call.extend` answers with, one after the other; an error is no answer. */
  extend?: (number | 'silence')[]
  dial?: (signal: AbortSignal) => Promise<DialResult>
  renew?: () => Promise<void>
}

function world(options: Options = {}) {
  const clock = fakeClock()
  const events: CallEventBody[] = []
  const asked: number[] = []
  let leases = 0
  const extend = [...(options.extend ?? [])]
  const bus = {
    engine: 'e',
    boot: 'b',
    emitter: () => async (event: CallEventBody) => void events.push(event),
    renewLease: options.renew ?? (async () => void leases++),
    dropLease: async () => {},
    request: async (_: string, request: { talked_ms: number }) => {
      asked.push(request.talked_ms)
      const answer = extend.shift() ?? 'silence'
      if (answer === 'silence') throw new RequestTimeout('call.extend')
      return { paid_ms: answer * 1000 }
    },
  } as unknown as EngineBus
  const leg = fakeLeg()
  const stt = fakeStt(options.says ?? [])
  const deps: CallDeps = {
    bus,
    sealer: createSealer('0123456789abcdef'),
    dialer: {
      dial: ({ signal, onRinging }) => {
        onRinging()
        return options.dial ? options.dial(signal) : Promise.resolve({ ok: true, leg })
      },
    },
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    sttFor: () => stt,
    ttsFor: () => fakeTts(),
    llmFor: () => fakeLlm(options.replies ?? (() => [{ type: 'text', delta: 'Fine.' }])),
    fetch: () => Promise.reject(new Error('none')),
  }
  const whole = plan({ greeting: 'Hi.', ...options.plan })
  return {
    clock,
    deps,
    leg,
    events,
    asked,
    whole,
    leases: () => leases,
    types: () => events.map(event => event.type),
    record: () =>
      CallRecord.parse((events.find(event => event.type === 'call.ended') as { record: unknown } | undefined)?.record),
  }
}

function fakeLeg() {
  let end: (value: LegEnd) => void = () => {}
  const hungUp: EndedReason[] = []
  const leg = {
    kind: 'sip' as const,
    sampleRate: 8000,
    sink: null as LegSink | null,
    hungUp,
    attach(sink: LegSink) {
      leg.sink = sink
    },
    ended: new Promise<LegEnd>(resolve => (end = resolve)),
    async hangup(reason: EndedReason) {
      hungUp.push(reason)
      end({ by: 'local', reason })
    },
    remoteHangup: () => end({ by: 'remote', reason: 'caller_hangup' }),
    stats: () => ({
      codec: 'PCMU',
      packets_sent: 1,
      packets_received: 1,
      packets_lost: 0,
      packets_late: 0,
      packets_rejected: 0,
      jitter_ms: 0,
    }),
  }
  return leg satisfies Leg
}

async function talking(options: Options = {}) {
  const w = world(options)
  const call = Call.dial(w.whole, w.deps)
  await settle()
  return { ...w, call, line: new FakeLine(w.leg.sink!, w.clock) }
}

/** Text, because a caller who sends only noise is prompted and hung up on. */
const GOES_ON = Array<string>(100).fill('Go on.')

describe('a call', () => {
  it('emits its events in order, and the record at the end', async () => {
    const { call, line, leg, types, record } = await talking({ says: ['Hello.'], plan: { goal: 'A greeting' } })
    await line.agentTurn()
    await line.caller(500)
    await line.agentTurn()
    leg.remoteHangup()
    await call.done
    expect(types().filter(type => type !== 'call.progress')).toEqual([
      'call.dialing',
      'call.ringing',
      'call.started',
      'turn.finished',
      'turn.finished',
      'turn.finished',
      'call.closing',
      'call.ended',
    ])
    expect(record()).toMatchObject({
      status: 'completed',
      ended_reason: 'caller_hangup',
      summary: 'A test.',
      goal_reached: true,
      sip_code: null,
    })
    expect(record().transcript.map(turn => turn.role)).toEqual(['agent', 'caller', 'agent'])
    expect(record().talked_ms).toBeGreaterThan(1000)
  })

  it('that is not answered reports its reason and costs nothing', async () => {
    const w = world({ dial: async () => ({ ok: false, failure: { status: 'busy', reason: 'busy', sipCode: 486 } }) })
    await Call.dial(w.whole, w.deps).done
    expect(w.record()).toMatchObject({ status: 'busy', sip_code: 486, talked_ms: 0, answered_at: null, transcript: [] })
  })

  it('is canceled while it rings', async () => {
    const w = world({
      dial: signal =>
        new Promise(resolve =>
          signal.addEventListener('abort', () =>
            resolve({ ok: false, failure: { status: 'no_answer', reason: 'no_answer', sipCode: 487 } }),
          ),
        ),
    })
    const call = Call.dial(w.whole, w.deps)
    await settle()
    call.end('api_hangup')
    await call.done
    expect(w.record()).toMatchObject({ status: 'canceled', ended_reason: 'canceled_by_api' })
  })

  it('reports talked time and renews its lease', async () => {
    const { line, events, leases } = await talking()
    await line.silence(16_000)
    expect(
      events
        .filter(event => event.type === 'call.progress')
        .map(event => Math.round((event as { talked_ms: number }).talked_ms / 1000)),
    ).toEqual([5, 10, 15])
    expect(leases()).toBe(1)
  })

  it('says goodbye at the maximum duration', async () => {
    const { call, line, leg, record } = await talking({ plan: { max_call_ms: 10_000 }, extend: [999] })
    await line.silence(9900)
    expect(leg.hungUp).toEqual([])
    await line.agentTurn()
    await line.silence(400)
    await call.done
    expect(record()).toMatchObject({ status: 'completed', ended_reason: 'max_duration' })
    expect(record().transcript.at(-1)!.heard_text).toMatch(/end of the time/)
  })

  it('hangs up although the goodbye never ends', async () => {
    const { call, clock, leg, record } = await talking({ plan: { max_call_ms: 5000 } })
    clock.advance(16_000) // the leg does not pull: nothing is ever played
    await settle()
    expect(leg.hungUp).toEqual(['max_duration'])
    await call.done
    expect(record().ended_reason).toBe('max_duration')
  })
})

describe('money', () => {
  it('is requested before it runs out, repeatedly', async () => {
    const { line, asked, leg } = await talking({ says: GOES_ON, extend: [120, 180, 240] })
    for (let s = 0; s < 170; s += 8) {
      await line.caller(400) // or it would ask whether anybody is there, and hang up
      await line.silence(7600)
    }
    expect(asked.map(ms => Math.round(ms / 1000))).toEqual([15, 75, 135])
    expect(leg.hungUp).toEqual([])
  }, 180_000)

  it('that is refused ends the call with a goodbye within the paid time', async () => {
    const { call, line, asked, leg, record } = await talking({ says: GOES_ON, extend: [60] })
    for (let s = 0; s < 56 && leg.hungUp.length === 0; s += 8) {
      await line.caller(400)
      await line.silence(7600)
    }
    for (let i = 0; i < 100 && leg.hungUp.length === 0; i++) await line.silence(100)
    await call.done
    expect(asked).toHaveLength(1)
    expect(record()).toMatchObject({ status: 'completed', ended_reason: 'balance_exhausted' })
    expect(record().talked_ms).toBeLessThanOrEqual(60_500)
    expect(record().talked_ms).toBeGreaterThan(50_000)
    expect(record().transcript.at(-1)!.heard_text).toMatch(/our time is up/)
  }, 180_000)
})

describe('money when control does not answer', () => {
  it('is requested again at intervals; 30 s without an answer end no call', async () => {
    const { line, asked, leg } = await talking({
      says: GOES_ON,
      extend: [...Array<'silence'>(30).fill('silence'), 120],
    })
    for (let s = 0; s < 64; s += 8) {
      await line.caller(400)
      await line.silence(7600)
    }
    expect(leg.hungUp).toEqual([])
    expect(asked[30]! - asked[0]!).toBeGreaterThan(29_000)
  }, 180_000)
})

describe('a lease', () => {
  it('that is not renewed ends the call before control treats it as dead', async () => {
    const { call, line, clock, leg, record } = await talking({
      says: GOES_ON,
      extend: [999],
      renew: () => Promise.reject(new Error('redis away')),
    })
    const startedMs = clock.now()
    while (leg.hungUp.length === 0 && clock.now() - startedMs < 90_000) {
      await line.caller(400)
      await line.silence(1600)
    }
    await call.done
    expect(clock.now() - startedMs).toBeLessThan(75_000)
    expect(record()).toMatchObject({ status: 'failed', ended_reason: 'connection_lost' })
  }, 180_000)
})

describe('an inbound call', () => {
  const offer = (answer: () => Promise<Leg | null>, gone = false): InboundOffer => {
    const controller = new AbortController()
    if (gone) controller.abort()
    return {
      called: '+1',
      caller: '+2',
      source: '127.0.0.1',
      trunkId: null,
      signal: controller.signal,
      answer,
      reject() {},
    }
  }

  it('is answered and runs the conversation', async () => {
    const w = world({ plan: { direction: 'in' } })
    const call = Call.answer(
      w.whole,
      offer(async () => w.leg),
      w.deps,
    )
    await settle()
    await new FakeLine(w.leg.sink!, w.clock).agentTurn()
    w.leg.remoteHangup()
    await call.done
    expect(w.types()).toEqual(['call.started', 'turn.finished', 'call.closing', 'call.ended'])
  })

  it('is canceled when the caller gave up, and failed when it could not be answered', async () => {
    for (const [gone, status, reason] of [
      [true, 'canceled', 'caller_canceled'],
      [false, 'failed', 'internal_error'],
    ] as const) {
      const w = world()
      await Call.answer(
        w.whole,
        offer(async () => null, gone),
        w.deps,
      ).done
      expect(w.record()).toMatchObject({ status, ended_reason: reason, talked_ms: 0 })
    }
  })

  it('that is ended during the answer does not start', async () => {
    const w = world({ plan: { direction: 'in' } })
    let answered: (leg: Leg) => void = () => {}
    const call = Call.answer(
      w.whole,
      offer(() => new Promise(resolve => (answered = resolve))),
      w.deps,
    )
    call.end('api_hangup')
    answered(w.leg)
    await call.done
    expect(w.leg.sink).toBeNull()
    expect(w.leg.hungUp).toEqual(['canceled_by_api'])
    expect(w.record()).toMatchObject({ status: 'canceled', talked_ms: 0 })
  })
})
