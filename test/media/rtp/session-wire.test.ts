/** Sessions on real sockets: IPv6, address changes, codec changes, early media, reports. */
import { createSocket, type Socket } from 'node:dgram'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { CODECS } from '../../../media/audio/codec.ts'
import { concatPcm } from '../../../media/audio/frames.ts'
import { encodeG711 } from '../../../media/audio/g711.ts'
import { loadOpus } from '../../../media/audio/opus.ts'
import type { CodecName } from '../../../media/contract/plan.ts'
import type { AudioFrame, LegSink } from '../../../media/ports/leg.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { parseRtp, writeRtpHeader } from '../../../media/rtp/packet.ts'
import { parseRtcp } from '../../../media/rtp/rtcp.ts'
import { openRtp, type RtpParams, type RtpSession } from '../../../media/rtp/session.ts'
import { quietLog, until } from '../../support/world.ts'
import { shareOf, tone } from '../audio/sound.ts'

const pacer = createPacer(systemClock)
const open: { close(): void }[] = []
afterEach(() => {
  for (const thing of open.splice(0)) thing.close()
})

async function session(host = '127.0.0.1'): Promise<RtpSession> {
  const rtp = await openRtp({ host, ports: { min: 0, max: 0 }, clock: systemClock, pacer, log: quietLog })
  open.push(rtp)
  return rtp
}
async function socket(host = '127.0.0.1', port = 0): Promise<Socket> {
  const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  await new Promise<void>(resolve => udp.bind(port, host, resolve))
  open.push(udp)
  return udp
}
const params = (port: number, codec: CodecName = 'PCMU', more: Partial<RtpParams> = {}): RtpParams => ({
  remote: { address: '127.0.0.1', port },
  codec,
  payloadType: { PCMU: 0, PCMA: 8, G722: 9, opus: 111 }[codec],
  dtmfPayloadType: 101,
  direction: 'sendrecv',
  ...more,
})
/** Sends a continuous tone, and records received audio. */
function ear(hz: number, rate: number) {
  const heard: AudioFrame[] = []
  const keys: string[] = []
  let n = 0
  const sink: LegSink = {
    pull: () => tone(hz, rate, rate / 50, 8000, n++ * (rate / 50)),
    push: frame => heard.push(frame),
    dtmf: key => keys.push(key),
  }
  const hears = (hz: number, frames = 15) =>
    heard.length >= frames && shareOf(hz, concatPcm(heard.slice(-frames).map(({ pcm }) => pcm)), rate) > 0.95
  return { sink, heard, keys, hears }
}
function packet(sequence: number, options: { pt?: number; ssrc?: number } = {}): Buffer {
  const data = Buffer.alloc(172)
  encodeG711('PCMU', tone(440, 8000, 160, 8000, sequence * 160), data, 12)
  const { pt: payloadType = 0, ssrc = 7 } = options
  writeRtpHeader(data, { payloadType, marker: false, sequence, timestamp: sequence * 160, ssrc })
  return data
}

describe('two sessions', () => {
  it.each([
    ['::1', 'G722'],
    ['::1', 'opus'],
    ['127.0.0.1', 'opus'],
  ] as const)('on %s exchange audio over %s, with DTMF', async (host, codec) => {
    await loadOpus()
    const [a, b] = await Promise.all([session(host), session(host)])
    const to = (port: number) => params(port, codec, { remote: { address: host, port } })
    a.configure(to(b.local.port))
    b.configure(to(a.local.port))
    const rate = CODECS[codec].sampleRate
    const [left, right] = [ear(440, rate), ear(700, rate)]
    a.attach(left.sink)
    b.attach(right.sink)
    await until(() => left.hears(700) && right.hears(440), 'both tones')
    await a.sendDtmf('7')
    await until(() => right.keys.length > 0)
    expect(right.keys).toEqual(['7'])
    expect(a.stats()).toMatchObject({ codec, packets_lost: 0, packets_rejected: 0 })
  })

  it('work in both families on ::', async () => {
    const [all, four] = await Promise.all([session('::'), session('127.0.0.1')])
    all.configure(params(four.local.port))
    four.configure(params(all.local.port))
    const [left, right] = [ear(440, 8000), ear(700, 8000)]
    all.attach(left.sink)
    four.attach(right.sink)
    await until(() => left.hears(700) && right.hears(440), 'both tones')
    expect([all.stats().packets_rejected, four.stats().packets_rejected]).toEqual([0, 0])
  })
})

describe('a re-INVITE', () => {
  it("that changes the codec keeps the leg's rate", async () => {
    await loadOpus()
    const [a, b] = await Promise.all([session(), session()])
    const [left, right] = [ear(440, 8000), ear(700, 16_000)]
    a.configure(params(b.local.port, 'PCMU'))
    b.configure(params(a.local.port, 'PCMU'))
    a.attach(left.sink) // a leg of 8 kHz
    b.attach(right.sink, 16_000)
    for (const codec of ['PCMU', 'G722', 'opus', 'PCMA'] as const) {
      a.configure(params(b.local.port, codec))
      b.configure(params(a.local.port, codec))
      left.heard.length = 0
      right.heard.length = 0
      await until(() => left.hears(700) && right.hears(440), `both tones over ${codec}`)
      expect(new Set(left.heard.map(({ pcm }) => pcm.length))).toEqual(new Set([160]))
      expect(new Set(right.heard.map(({ pcm }) => pcm.length))).toEqual(new Set([320]))
    }
  })

  it('that moves the far end takes effect at once', async () => {
    const [rtp, before, after] = [await session(), await socket(), await socket('127.0.0.2')]
    const got = { before: 0, after: 0 }
    before.on('message', () => got.before++)
    after.on('message', () => got.after++)
    const { sink, heard } = ear(440, 8000)
    rtp.configure(params(before.address().port))
    rtp.attach(sink)
    before.send(packet(1), rtp.local.port, '127.0.0.1')
    await until(() => heard.length === 1 && got.before > 2)
    rtp.configure(
      params(after.address().port, 'PCMU', { remote: { address: '127.0.0.2', port: after.address().port } }),
    )
    const sentBefore = got.before
    await until(() => got.after > 5)
    expect(got.before - sentBefore).toBeLessThanOrEqual(1)
    after.send(packet(900, { ssrc: 8 }), rtp.local.port, '127.0.0.1')
    await until(() => heard.some(({ pcm }, i) => i > 0 && pcm.some(sample => sample > 4000)))
    const rejected = rtp.stats().packets_rejected
    for (let n = 2; n < 40; n++) before.send(packet(n), rtp.local.port, '127.0.0.1')
    await until(() => rtp.stats().packets_rejected === rejected + 38)
  })

  it('that holds and resumes sends silence and continues the stream', async () => {
    const [rtp, peer] = [await session(), await socket()]
    const packets: NonNullable<ReturnType<typeof parseRtp>>[] = []
    peer.on('message', data => packets.push(parseRtp(data)!))
    rtp.configure(params(peer.address().port))
    rtp.attach(ear(440, 8000).sink)
    await until(() => packets.length >= 5)
    rtp.configure(params(peer.address().port, 'PCMU', { direction: 'recvonly' }))
    const sent = rtp.stats().packets_sent
    await new Promise<void>(resolve => systemClock.after(200, resolve))
    expect(rtp.stats().packets_sent).toBe(sent)
    rtp.configure(params(peer.address().port))
    await until(() => packets.length >= sent + 5)
    const [last, next] = [packets[sent - 1]!, packets[sent]!]
    expect((next.sequence - last.sequence) & 0xffff).toBe(1)
    expect((next.timestamp - last.timestamp) >>> 0).toBeGreaterThanOrEqual(8 * 160)
    expect([next.ssrc, next.marker]).toEqual([last.ssrc, true])
  })
})

describe('early media', () => {
  it("is accepted from the signalled source, and is not the callee's speech", async () => {
    const [rtp, peer] = [await session(), await socket()]
    rtp.configure(params(peer.address().port))
    for (let n = 0; n < 20; n++) peer.send(packet(n), rtp.local.port, '127.0.0.1')
    await until(() => rtp.lastReceivedMs() !== null)
    const { sink, heard } = ear(440, 8000)
    rtp.attach(sink)
    // The answer may come from elsewhere, with a stream of its own.
    peer.send(packet(5000, { ssrc: 9 }), rtp.local.port, '127.0.0.1')
    await until(() => heard.length > 0)
    expect(heard.filter(({ pcm }) => pcm.some(sample => sample > 4000))).toHaveLength(1)
    expect(rtp.stats()).toMatchObject({ packets_lost: 0, packets_late: 0, packets_rejected: 0 })
  })

  it('starts when the codec is agreed', async () => {
    const [rtp, peer] = [await session(), await socket()]
    const got: Buffer[] = []
    peer.on('message', data => got.push(data))
    const { sink, hears } = ear(440, 16_000)
    rtp.attach(sink, 16_000)
    rtp.configure(params(peer.address().port))
    await until(() => got.length > 3)
    for (let n = 0; n < 30; n++) {
      peer.send(packet(n), rtp.local.port, '127.0.0.1')
      await new Promise<void>(resolve => systemClock.after(5, resolve))
    }
    await until(() => hears(440), 'the tone at the rate of the leg')
  })
})

describe('packets', () => {
  it('are not sent to host names or another address family', async () => {
    const rtp = await session()
    for (const address of ['sound.example', '2001:db8::1', '']) {
      rtp.configure(params(4000, 'PCMU', { remote: { address, port: 4000 } }))
      rtp.attach(ear(440, 8000).sink)
      await until(() => rtp.stats().packets_sent > 3)
    }
  })

  it('of 30 ms are sent when requested', async () => {
    const [rtp, peer] = [await session(), await socket()]
    const lengths: number[] = []
    peer.on('message', data => lengths.push(data.length - 12))
    rtp.configure(params(peer.address().port, 'PCMU', { ptimeMs: 30 }))
    rtp.attach(ear(440, 8000).sink)
    await until(() => lengths.length >= 5)
    expect(new Set(lengths)).toEqual(new Set([240]))
  })
})

describe('reports', () => {
  it('go to the signalled address, report loss, and are not accepted from strangers', async () => {
    const [rtp, peer, rtcp, stranger] = [await session(), await socket(), await socket(), await socket('127.0.0.3')]
    const reports: Buffer[] = []
    rtcp.on('message', data => reports.push(data))
    rtp.configure(params(peer.address().port, 'PCMU', { rtcp: { address: '127.0.0.1', port: rtcp.address().port } }))
    const { sink, heard } = ear(440, 8000)
    rtp.attach(sink)
    for (let n = 0; n < 20; n++) if (n % 4 !== 1) peer.send(packet(n), rtp.local.port, '127.0.0.1')
    await until(() => heard.length >= 20)
    stranger.send(
      Buffer.from('80c8000600000001e5000000800000000000000000000000000000', 'hex'),
      rtp.local.port + 1,
      '127.0.0.1',
    )
    rtp.close()
    await until(() => reports.length > 0)
    const report = parseRtcp(reports.at(-1)!)!
    expect(report.blocks[0]).toMatchObject({ ssrc: 7, cumulativeLost: 5, fractionLost: 64, lastSr: 0 })
  })
})
