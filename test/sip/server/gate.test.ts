/** Rate limits per source, in numbers; the state of a hundred thousand sources fits into its limit. */
import { describe, expect, it } from 'vitest'
import { GATE_LIMITS, Gate, opensSomething } from '../../../sip/server/gate.ts'
import { MOST_POINTS, POINTS, Suspects } from '../../../sip/trunk/registrar/suspects.ts'

const UDP = { reliable: false, opening: true }
const TCP = { reliable: true, opening: true }

/** Sends `count` requests at `perSecond` per second and returns the number of accepted ones. */
function taken(gate: Gate, count: number, perSecond: number, of: (n: number) => string, kind = UDP): number {
  let through = 0
  for (let n = 0; n < count; n++) if (gate.request('stranger', of(n), kind, (n * 1000) / perSecond)) through += 1
  return through
}

/** Address number `n` of a network of 16 million. */
const address = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`

describe('a stranger', () => {
  it('is limited to the rate of an office', () => {
    const seconds = 10
    const { perSecond, burst } = GATE_LIMITS.stranger
    const through = taken(new Gate(), 1000 * seconds, 1000, () => '203.0.113.9')
    expect(through).toBeGreaterThanOrEqual(burst + perSecond * (seconds - 1))
    expect(through).toBeLessThanOrEqual(burst + perSecond * (seconds + 1))
  })

  it('with IPv6 counts by network', () => {
    const through = taken(new Gate(), 1000, 1000, n => `2001:db8:1:2::${n.toString(16)}`)
    expect(through).toBeLessThanOrEqual(GATE_LIMITS.stranger.burst + GATE_LIMITS.stranger.perSecond)
  })

  it('leaves capacity to others, and recovers its own', () => {
    const gate = new Gate()
    taken(gate, 5000, 5000, () => '203.0.113.9')
    gate.request('stranger', '203.0.113.9', UDP, 1000) // what has grown since
    expect(gate.request('stranger', '203.0.113.9', UDP, 1000)).toBe(false)
    expect(gate.request('stranger', '203.0.113.10', UDP, 1000)).toBe(true)
    expect(gate.request('stranger', '203.0.113.9', UDP, 10_000)).toBe(true)
  })
})

describe('forged sources', () => {
  const flood = (gate: Gate) => taken(gate, 100_000, 10_000, address)

  it('share the limit of strangers, in bounded memory', () => {
    const gate = new Gate()
    const { perSecond, burst } = GATE_LIMITS.strangers
    expect(flood(gate)).toBeLessThanOrEqual(burst + perSecond * 10 + 1)
    expect(gate.size).toBeLessThanOrEqual(20_010)
  })

  it('do not affect streams, verified and known sources', () => {
    const gate = new Gate()
    gate.prove('198.51.100.7', 0)
    flood(gate)
    const now = 9999.9
    expect(gate.request('stranger', '192.0.2.77', UDP, now)).toBe(false)
    expect(gate.request('stranger', '192.0.2.77', TCP, now)).toBe(true)
    expect(gate.request('stranger', '198.51.100.7', UDP, now)).toBe(true)
    expect(gate.request('known', '192.0.2.1', UDP, now)).toBe(true)
  })

  it('that failed authentication are limited, known ones last', () => {
    const suspects = new Suspects()
    for (let n = 0; n < 100_000; n++) suspects.add(address(n), POINTS.wrong, n)
    expect(suspects.size).toBeLessThanOrEqual(20_000)
    expect(suspects.of(address(99_999), 100_000)).toBeCloseTo(POINTS.wrong, 2)
    expect(suspects.of(address(0), 100_000)).toBe(0)
    // A continuing password guesser is not evicted by them.
    let points = 0
    for (let n = 0; n < 100_000; n++) {
      suspects.add(address(n), POINTS.unproven, 100_000)
      if (n % 4000 === 0) points = suspects.add('203.0.113.9', POINTS.wrong, 100_000)
    }
    expect(points).toBeGreaterThanOrEqual(MOST_POINTS)
  })

  it('that authenticate are evicted when too many', () => {
    const gate = new Gate()
    for (let n = 0; n < 100_000; n++) gate.prove(address(n), n)
    expect(gate.size).toBeLessThanOrEqual(20_000)
    expect(gate.isProven(address(99_999), 100_000)).toBe(true)
    expect(gate.isProven(address(99_999), 100_000 + 3 * 3_600_000)).toBe(false)
  })
})

describe('known sources', () => {
  it('is limited in new calls, not in dialogs', () => {
    const gate = new Gate()
    let opened = 0
    for (let n = 0; n < 5000; n++) if (gate.request('known', '192.0.2.1', UDP, n / 5)) opened += 1
    expect(opened).toBeLessThanOrEqual(GATE_LIMITS.knownOpening.burst + GATE_LIMITS.knownOpening.perSecond)
    expect(opened).toBeGreaterThanOrEqual(GATE_LIMITS.knownOpening.burst)
    expect(gate.request('known', '192.0.2.1', { reliable: false, opening: false }, 1000)).toBe(true)
    expect(gate.request('known', '192.0.2.2', UDP, 1000)).toBe(true)
  })
})

describe('responses', () => {
  it('of unknown sources are accepted as far as we sent requests', () => {
    const gate = new Gate()
    let read = 0
    for (let n = 0; n < 10_000; n++) if (gate.response('out', '203.0.113.9', n / 10)) read += 1
    expect(read).toBeLessThanOrEqual(GATE_LIMITS.responses.burst + GATE_LIMITS.responses.perSecond)
    expect(gate.response('stranger', '203.0.113.10', 1000)).toBe(true)
    expect(gate.response('known', '192.0.2.1', 1000)).toBe(true)
  })
})

describe('classification before parsing', () => {
  const head = (method: string, to: string) => Buffer.from(`${method} sip:x@y SIP/2.0\r\nVia: v\r\n${to}\r\n\r\n`)
  it.each([
    ['INVITE', 'To: <sip:x@y>', true],
    ['REGISTER', 't: <sip:x@y>', true],
    ['INVITE', 'To: <sip:x@y>\r\nFrom: <sip:a@b>;tag=1', true],
    ['INVITE', 'To: <sip:x@y>;tag=abc', false],
    ['BYE', 't:"X" <sip:x@y> ; Tag=abc', false],
    ['ACK', 'To: <sip:x@y>', false],
    ['CANCEL', 'To: <sip:x@y>', false],
  ])('%s with %j opens something: %s', (method, to, opens) => {
    expect(opensSomething(head(method, to))).toBe(opens)
  })
})
