import { describe, expect, it } from 'vitest'
import { repeatDue, startRepeat, stepRepeat } from '../../../sip/server/answer-repeat.ts'
import {
  type Effect,
  type Input,
  newTransaction,
  nextDeadline,
  RFC_TIMERS,
  step,
  type TxnKind,
  type TxnState,
} from '../../../sip/server/transaction.ts'

/** A machine under a clock of its own. */
class Bench {
  state: TxnState
  now = 0
  constructor(kind: TxnKind, reliable = false) {
    this.state = newTransaction(kind, reliable, RFC_TIMERS)
  }

  feed(input: Input): string[] {
    const { state, effects } = step(this.state, input, this.now)
    this.state = state
    return effects.map(describeEffect)
  }

  response(status: number): string[] {
    return this.feed({ type: 'response', status })
  }

  /** Lets time pass, and notes when each effect came. */
  until(end: number): [number, string][] {
    const seen: [number, string][] = []
    for (;;) {
      const at = nextDeadline(this.state)
      if (at === null || at > end) break
      this.now = at
      for (const effect of this.feed({ type: 'tick' })) seen.push([at, effect])
    }
    this.now = end
    return seen
  }
}

function describeEffect(effect: Effect): string {
  return effect.type === 'fail' ? `fail ${effect.reason}` : effect.type
}

describe('INVITE client (§17.1.1)', () => {
  it('A doubles without bound, B gives up after 32 s', () => {
    const bench = new Bench('inviteClient')
    expect(bench.feed({ type: 'start' })).toEqual(['send'])
    expect(bench.until(60_000)).toEqual([
      [500, 'send'],
      [1500, 'send'],
      [3500, 'send'],
      [7500, 'send'],
      [15_500, 'send'],
      [31_500, 'send'],
      [32_000, 'fail timeout'],
      [32_000, 'terminated'],
    ])
  })

  it('over TCP sends once, and still gives up', () => {
    const bench = new Bench('inviteClient', true)
    bench.feed({ type: 'start' })
    expect(bench.until(60_000)).toEqual([
      [32_000, 'fail timeout'],
      [32_000, 'terminated'],
    ])
  })

  it('rings as long as it likes after a provisional response', () => {
    const bench = new Bench('inviteClient')
    bench.feed({ type: 'start' })
    expect(bench.response(180)).toEqual(['deliver'])
    expect(bench.until(600_000)).toEqual([])
    expect(bench.response(183)).toEqual(['deliver'])
  })

  it('after a CANCEL waits 32 s for the final response (§9.1), whatever else rings in between', () => {
    const bench = new Bench('inviteClient')
    bench.feed({ type: 'start' })
    bench.response(180)
    bench.now = 10_000
    bench.feed({ type: 'canceled' })
    bench.response(183)
    expect(bench.until(60_000)).toEqual([
      [42_000, 'fail timeout'],
      [42_000, 'terminated'],
    ])
  })

  it('acknowledges a failure each time it comes, and D ends it', () => {
    const bench = new Bench('inviteClient')
    bench.feed({ type: 'start' })
    expect(bench.response(486)).toEqual(['ack', 'deliver'])
    expect(bench.response(486)).toEqual(['ack'])
    expect(bench.until(60_000)).toEqual([[32_000, 'terminated']])
  })

  it('has no D over TCP', () => {
    const bench = new Bench('inviteClient', true)
    bench.feed({ type: 'start' })
    bench.response(486)
    expect(bench.until(0)).toEqual([[0, 'terminated']])
  })

  it('stays accepted for 64*T1, so that repeats and forks of a 2xx still reach the user (RFC 6026)', () => {
    const bench = new Bench('inviteClient')
    bench.feed({ type: 'start' })
    expect(bench.response(200)).toEqual(['deliver'])
    expect(bench.response(200)).toEqual(['deliver'])
    expect(bench.response(486)).toEqual([])
    expect(bench.until(60_000)).toEqual([[32_000, 'terminated']])
  })

  it('fails when it can not be sent', () => {
    const bench = new Bench('inviteClient')
    bench.feed({ type: 'start' })
    expect(bench.feed({ type: 'transportError' })).toEqual(['fail transport', 'terminated'])
    expect(bench.response(200)).toEqual([])
  })
})

describe('non-INVITE client (§17.1.2)', () => {
  it('E doubles up to T2, F gives up', () => {
    const bench = new Bench('nonInviteClient')
    expect(bench.feed({ type: 'start' })).toEqual(['send'])
    const seen = bench.until(60_000)
    expect(seen.slice(0, 5).map(([at]) => at)).toEqual([500, 1500, 3500, 7500, 11_500])
    expect(seen.slice(-2)).toEqual([
      [32_000, 'fail timeout'],
      [32_000, 'terminated'],
    ])
  })

  it('repeats at T2 after a provisional response', () => {
    const bench = new Bench('nonInviteClient')
    bench.feed({ type: 'start' })
    bench.now = 400
    bench.response(100)
    expect(bench.until(9000)).toEqual([
      [500, 'send'],
      [4500, 'send'],
      [8500, 'send'],
    ])
  })

  it('K ends it 5 s after the final response, at once over TCP', () => {
    const udp = new Bench('nonInviteClient')
    udp.feed({ type: 'start' })
    expect(udp.response(200)).toEqual(['deliver'])
    expect(udp.response(200)).toEqual([])
    expect(udp.until(60_000)).toEqual([[5000, 'terminated']])
    const tcp = new Bench('nonInviteClient', true)
    tcp.feed({ type: 'start' })
    tcp.response(200)
    expect(tcp.until(0)).toEqual([[0, 'terminated']])
  })
})

describe('INVITE server (§17.2.1)', () => {
  it('repeats the last response when the INVITE comes again', () => {
    const bench = new Bench('inviteServer')
    expect(bench.feed({ type: 'start' })).toEqual(['deliver'])
    expect(bench.response(180)).toEqual(['send'])
    expect(bench.feed({ type: 'repeat' })).toEqual(['send'])
  })

  it('G repeats a failure up to T2, H gives up', () => {
    const bench = new Bench('inviteServer')
    bench.feed({ type: 'start' })
    expect(bench.response(486)).toEqual(['send'])
    const seen = bench.until(60_000)
    expect(seen.slice(0, 5).map(([at]) => at)).toEqual([500, 1500, 3500, 7500, 11_500])
    expect(seen.at(-2)).toEqual([32_000, 'fail timeout'])
  })

  it('I swallows late ACKs for T4', () => {
    const bench = new Bench('inviteServer')
    bench.feed({ type: 'start' })
    bench.response(486)
    expect(bench.feed({ type: 'ack' })).toEqual([])
    expect(bench.feed({ type: 'repeat' })).toEqual([])
    expect(bench.until(60_000)).toEqual([[5000, 'terminated']])
  })

  it('L: once accepted it swallows repeats of the INVITE for 64*T1 (RFC 6026)', () => {
    const bench = new Bench('inviteServer')
    bench.feed({ type: 'start' })
    expect(bench.response(200)).toEqual(['send'])
    expect(bench.feed({ type: 'repeat' })).toEqual([])
    expect(bench.response(200)).toEqual(['send'])
    expect(bench.until(60_000)).toEqual([[32_000, 'terminated']])
  })

  it('asks for an answer when the user forgot it, and can still be answered', () => {
    const bench = new Bench('inviteServer')
    bench.feed({ type: 'start' })
    expect(bench.until(700_000)).toEqual([[600_000, 'neglected']])
    expect(bench.response(480)).toEqual(['send'])
  })
})

describe('non-INVITE server (§17.2.2)', () => {
  it('swallows repeats until there is a response, then repeats that for J', () => {
    const bench = new Bench('nonInviteServer')
    expect(bench.feed({ type: 'start' })).toEqual(['deliver'])
    expect(bench.feed({ type: 'repeat' })).toEqual([])
    expect(bench.response(200)).toEqual(['send'])
    expect(bench.feed({ type: 'repeat' })).toEqual(['send'])
    expect(bench.response(500)).toEqual([])
    expect(bench.until(60_000)).toEqual([[32_000, 'terminated']])
  })

  it('is dropped when nobody answers while the client waits (RFC 4320)', () => {
    const bench = new Bench('nonInviteServer')
    bench.feed({ type: 'start' })
    expect(bench.until(60_000)).toEqual([
      [32_000, 'fail timeout'],
      [32_000, 'terminated'],
    ])
  })
})

it('every input in every state is harmless', () => {
  const inputs: Input[] = [
    { type: 'start' },
    { type: 'tick' },
    { type: 'response', status: 100 },
    { type: 'response', status: 200 },
    { type: 'response', status: 404 },
    { type: 'repeat' },
    { type: 'ack' },
    { type: 'canceled' },
    { type: 'transportError' },
  ]
  for (const kind of ['inviteClient', 'nonInviteClient', 'inviteServer', 'nonInviteServer'] as const) {
    for (const a of inputs) {
      for (const b of inputs) {
        for (const c of inputs) {
          const bench = new Bench(kind)
          for (const input of [{ type: 'start' } as const, a, b, c]) bench.feed(input)
          bench.until(10_000_000)
          const ended = bench.state.phase === 'terminated'
          const waiting = (kind === 'inviteClient' || kind === 'inviteServer') && bench.state.phase === 'proceeding'
          expect(ended || waiting).toBe(true)
        }
      }
    }
  }
})

it('a 2xx is repeated at T1, 2*T1 … T2 and given up after 64*T1 (§13.3.1.4)', () => {
  let state = startRepeat(500, 4000, 0)
  const seen: [number, string][] = []
  for (let now = 0; seen.at(-1)?.[1] !== 'give-up'; now = repeatDue(state)) {
    const stepped = stepRepeat(state, now)
    state = stepped.state
    if (stepped.action !== 'wait') seen.push([now, stepped.action])
  }
  expect(seen.map(([at]) => at)).toEqual([
    500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500, 32_000,
  ])
})
