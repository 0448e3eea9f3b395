/** Latching: the sources that may send the audio of a call, and those that may not take it over (RFC 7362 §5). */
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Address } from '../../../media/rtp/address.ts'
import { Latch } from '../../../media/rtp/latch.ts'

const named = { address: '192.0.2.1', port: 4000 }
const elsewhere = { address: '198.51.100.9', port: 5000 }
const moved = { address: named.address, port: 4002 }

let latch: Latch
let nowMs = 0
beforeEach(() => {
  latch = new Latch(named)
  nowMs = 0
})

/** Sends a stream of `count` packets, 20 ms each. Returns for each of them whether it was accepted. */
function send(from: Address, ssrc: number, first: number, count: number): boolean[] {
  return Array.from({ length: count }, (_, i) => {
    nowMs += 20
    return latch.accepts(from, { ssrc, sequence: (first + i) & 0xffff }, nowMs)
  })
}
const taken = (from: Address, ssrc: number, first: number, count: number) =>
  send(from, ssrc, first, count).filter(Boolean).length

describe('the signalled address', () => {
  it('is accepted at once and exclusively', () => {
    expect(send(named, 1, 1, 1)).toEqual([true])
    expect(taken(elsewhere, 2, 1, 100)).toBe(0)
    expect(taken(moved, 2, 1, 100)).toBe(0)
    expect(latch.target).toEqual(named)
  })

  it('recovers the stream for good', () => {
    expect(taken(elsewhere, 2, 1, 100)).toBeGreaterThan(0)
    expect(send(named, 1, 1, 1)).toEqual([true])
    expect(latch.target).toEqual(named)
    expect(taken(elsewhere, 2, 101, 100)).toBe(0)
  })

  it('is recognised in any notation', () => {
    latch = new Latch({ address: '2001:DB8:0::5', port: 4000 })
    expect(send({ address: '2001:db8::5', port: 4000 }, 1, 1, 1)).toEqual([true])
    latch = new Latch(named)
    expect(send({ address: '::ffff:192.0.2.1', port: 4000 }, 1, 1, 1)).toEqual([true])
  })
})

describe('a new source', () => {
  it('from the signalled host is accepted after four packets in a row', () => {
    expect(send(moved, 2, 65_534, 5)).toEqual([false, false, false, true, true])
    expect(latch.target).toEqual(moved)
  })

  it('from a signalling host is accepted: a caller behind NAT', () => {
    latch.trust('::ffff:198.51.100.9')
    expect(send(elsewhere, 2, 10, 5)).toEqual([false, false, false, true, true])
  })

  it('from elsewhere needs half a second', () => {
    expect(taken(elsewhere, 2, 1, 24)).toBe(0)
    expect(send(elsewhere, 2, 25, 1)).toEqual([true])
  })

  it('from elsewhere yields to a known host, never the reverse', () => {
    send(elsewhere, 2, 1, 100)
    expect(latch.target).toEqual(elsewhere)
    expect(taken(moved, 7, 500, 4)).toBe(1)
    expect(latch.target).toEqual(moved)
    expect(taken(elsewhere, 2, 101, 200)).toBe(0)
    expect(taken({ ...moved, port: 6 }, 8, 1, 200)).toBe(0)
  })

  it('cannot delay the right source by interleaving', () => {
    const both = Array.from({ length: 30 }, (_, i) => {
      nowMs += 10
      const stranger = latch.accepts(elsewhere, { ssrc: 2, sequence: i }, nowMs)
      nowMs += 10
      return { stranger, right: latch.accepts(moved, { ssrc: 3, sequence: i }, nowMs) }
    })
    expect(both.filter(({ right }) => right)).toHaveLength(27)
    expect(both.some(({ stranger }) => stranger)).toBe(false)
  })

  it('with scattered, duplicate or rare packets is no stream', () => {
    for (let i = 0; i < 200; i++) expect(send(elsewhere, i, i * 7, 1)).toEqual([false])
    for (let i = 0; i < 200; i++) expect(send(elsewhere, 5, 9, 1)).toEqual([false])
    for (let i = 0; i < 200; i++) {
      nowMs += 600
      expect(send(moved, 5, i, 1)).toEqual([false])
    }
  })
})

describe('a latched stream', () => {
  it('continues from another port of its host after a NAT rebinding', () => {
    send(moved, 2, 100, 10)
    nowMs += 2000
    const again = { ...moved, port: 7777 }
    expect(send(again, 2, 160, 5)).toEqual([false, false, false, true, true])
    expect(latch.target).toEqual(again)
  })

  it('takes over with its own SSRC, after a silence, from the same host', () => {
    send(moved, 2, 100, 10)
    expect(taken({ ...moved, port: 7777 }, 2, 110, 30)).toBe(0) // no silence before it
    send(moved, 2, 141, 1)
    nowMs += 2000
    expect(taken({ ...moved, port: 7777 }, 3, 160, 30)).toBe(0) // another stream
    expect(taken({ ...moved, port: 7777 }, 2, 40_000, 30)).toBe(0) // numbers that are not its own
    expect(taken(elsewhere, 2, 160, 30)).toBe(0)
  })
})

describe('signalling', () => {
  it('with another address restarts latching', () => {
    send(named, 1, 1, 1)
    latch.resignal(elsewhere)
    expect(latch.target).toEqual(elsewhere)
    expect(send(named, 1, 2, 1)).toEqual([false])
    expect(send(elsewhere, 1, 3, 1)).toEqual([true])
  })

  it('with the same address keeps the new source', () => {
    send(moved, 2, 1, 10)
    latch.resignal({ ...named })
    expect(latch.target).toEqual(moved)
  })
})

it('never loses the signalled source to strangers', () => {
  const address = fc.constantFrom(elsewhere, moved, { address: '203.0.113.5', port: 1 })
  const packet = fc.record({ from: address, ssrc: fc.nat(3), sequence: fc.nat(40), waitMs: fc.nat(100) })
  fc.assert(
    fc.property(fc.array(packet, { maxLength: 60 }), packets => {
      const line = new Latch(named)
      let atMs = 0
      for (const { from, ssrc, sequence, waitMs } of packets) {
        atMs += waitMs
        line.accepts(from, { ssrc, sequence }, atMs)
      }
      expect(line.accepts(named, { ssrc: 9, sequence: 9 }, atMs)).toBe(true)
      expect(line.target).toEqual(named)
    }),
  )
})
