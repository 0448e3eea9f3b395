import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DtmfReceiver } from '../../../media/rtp/dtmf-receiver.ts'
import { looksLikeRtcp, parseRtp, sequenceDelta, writeRtpHeader } from '../../../media/rtp/packet.ts'
import { buildRtcp, parseRtcp } from '../../../media/rtp/rtcp.ts'

describe('RTP packets', () => {
  it('are parsed as written', () => {
    fc.assert(
      fc.property(
        fc.record({
          payloadType: fc.integer({ min: 0, max: 127 }),
          marker: fc.boolean(),
          sequence: fc.integer({ min: 0, max: 0xffff }),
          timestamp: fc.integer({ min: 0, max: 0xffffffff }),
          ssrc: fc.integer({ min: 0, max: 0xffffffff }),
        }),
        fc.uint8Array({ maxLength: 200 }),
        (head, payload) => {
          const data = Buffer.concat([Buffer.alloc(12), payload])
          writeRtpHeader(data, head)
          const parsed = parseRtp(data)!
          expect({ ...parsed, payload: [...parsed.payload] }).toEqual({ ...head, payload: [...payload] })
        },
      ),
    )
  })

  it('with contributing sources, an extension and padding keep their payload', () => {
    const data = Buffer.from(
      'b1 00 0001 00000002 00000003 aaaaaaaa bede 0001 11223344 99 88 00 02'.replace(/ /g, ''),
      'hex',
    )
    expect([...parseRtp(data)!.payload]).toEqual([0x99, 0x88])
  })

  it('of random bytes never throw or read beyond the end', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), bytes => {
        const data = Buffer.from(bytes)
        const parsed = parseRtp(data)
        if (parsed) expect(parsed.payload.length).toBeLessThanOrEqual(data.length - 12)
        parseRtcp(data)
      }),
      { numRuns: 3000 },
    )
  })

  it('count sequence numbers on a circle', () => {
    expect(sequenceDelta(2, 65_534)).toBe(4)
    expect(sequenceDelta(65_534, 2)).toBe(-4)
  })
})

describe('RTCP', () => {
  it('reports its values, and is distinguished from RTP', () => {
    const block = {
      ssrc: 7,
      fractionLost: 12,
      cumulativeLost: -3,
      highestSequence: 70_000,
      jitter: 42,
      lastSr: 99,
      delaySinceLastSr: 65_536,
    }
    const report = buildRtcp({
      ssrc: 5,
      cname: 'a',
      wallMs: 1500,
      timestamp: 800,
      packets: 3,
      octets: 480,
      blocks: [block],
      bye: true,
    })
    expect(looksLikeRtcp(report)).toBe(true)
    // The middle of the NTP time: 16 bits of seconds, 16 of the fraction.
    const seconds = (2_208_988_800 + 1) & 0xffff
    expect(parseRtcp(report)).toEqual({
      ssrc: 5,
      ntpMiddle: ((seconds << 16) | 0x8000) >>> 0,
      blocks: [block],
      bye: true,
    })
  })
})

describe('telephone-events', () => {
  const event = (key: number, timestamp: number) => ({ ssrc: 1, timestamp, payload: Uint8Array.of(key, 0x0a, 0, 160) })

  it('count once despite loss and duplicates', () => {
    const receiver = new DtmfReceiver()
    const seen = [event(5, 800), event(5, 800), event(5, 800), event(5, 2400), event(11, 4000), event(5, 2400)].map(
      packet => receiver.receive(packet),
    )
    expect(seen).toEqual(['5', null, null, '5', '#', null])
  })

  it('with invalid events or lengths are ignored', () => {
    const receiver = new DtmfReceiver()
    expect(receiver.receive(event(16, 1))).toBeNull()
    expect(receiver.receive({ ssrc: 1, timestamp: 2, payload: Uint8Array.of(1, 2) })).toBeNull()
  })
})
