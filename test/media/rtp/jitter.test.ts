import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JitterBuffer, type JitterOutput, MAX_WAIT_MS, MIN_WAIT_MS } from '../../../media/rtp/jitter.ts'

const packet = (n: number) => ({ sequence: n & 0xffff, timestamp: (n * 160) >>> 0, payload: Uint8Array.of(n & 0xff) })
const sequences = (outputs: JitterOutput[]) =>
  outputs.map(output => (output.kind === 'packet' ? output.packet.sequence : 'lost'))

describe('jitter buffer', () => {
  it('adds no delay to a clean stream', () => {
    const buffer = new JitterBuffer(8000)
    for (let n = 65_530; n < 65_545; n++) {
      const out = buffer.put(packet(n), n * 20)
      expect(sequences(out)).toEqual([n & 0xffff])
    }
    expect(buffer.stats.lost + buffer.stats.late).toBe(0)
  })

  it('waits at a gap, then gives up', () => {
    const buffer = new JitterBuffer(8000)
    buffer.put(packet(1), 20)
    expect(buffer.put(packet(3), 60)).toEqual([])
    expect(buffer.poll(60 + MIN_WAIT_MS - 1)).toEqual([])
    expect(sequences(buffer.poll(60 + MIN_WAIT_MS))).toEqual(['lost', 3])
    expect(sequences(buffer.put(packet(2), 100))).toEqual([])
    expect(buffer.stats).toMatchObject({ lost: 1, late: 1 })
  })

  it('reorders two packets without loss', () => {
    const buffer = new JitterBuffer(8000)
    buffer.put(packet(1), 20)
    buffer.put(packet(3), 60)
    expect(sequences(buffer.put(packet(2), 61))).toEqual([2, 3])
    expect(buffer.stats.lost).toBe(0)
  })

  it('adapts to jitter within a limit', () => {
    const buffer = new JitterBuffer(8000)
    for (let n = 0; n < 200; n++) buffer.put(packet(n), n * 20 + (n % 2) * 60)
    expect(buffer.waitMs).toBeGreaterThan(100)
    expect(buffer.waitMs).toBeLessThanOrEqual(MAX_WAIT_MS)
  })

  it('follows a restarted sequence', () => {
    const buffer = new JitterBuffer(8000)
    buffer.put(packet(100), 0)
    buffer.put(packet(102), 20)
    expect(sequences(buffer.put(packet(40_000), 40))).toEqual([102, 40_000])
    expect(sequences(buffer.put(packet(40_001), 60))).toEqual([40_001])
  })

  it('plays in order, each packet at most once, and reports every gap', () => {
    const step = fc.record({ skip: fc.boolean(), twice: fc.boolean(), delay: fc.integer({ min: 0, max: 120 }) })
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 80 }),
        fc.integer({ min: 0, max: 65_535 }),
        (steps, start) => {
          const buffer = new JitterBuffer(8000)
          const arrivals = steps
            .flatMap((s, i) =>
              s.skip && i > 0
                ? []
                : [
                    { n: start + i, atMs: i * 20 + s.delay },
                    ...(s.twice ? [{ n: start + i, atMs: i * 20 + s.delay + 3 }] : []),
                  ],
            )
            .sort((a, b) => a.atMs - b.atMs)
          const out: JitterOutput[] = []
          for (const { n, atMs } of arrivals) out.push(...buffer.poll(atMs), ...buffer.put(packet(n), atMs))
          out.push(...buffer.poll(1e9))
          let expected = arrivals[0]!.n
          for (const output of out) {
            if (output.kind === 'packet') expect(output.packet.sequence).toBe(expected & 0xffff)
            expected++
          }
          const { received, lost, late, duplicate } = buffer.stats
          expect(received).toBe(arrivals.length)
          expect(out.length - lost + late + duplicate).toBe(received)
        },
      ),
    )
  })
})
