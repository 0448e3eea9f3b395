import { createSocket, type Socket } from 'node:dgram'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { decodeG711, encodeG711 } from '../../../media/audio/g711.ts'
import type { AudioFrame, LegSink } from '../../../media/ports/leg.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { parseRtp, writeRtpHeader } from '../../../media/rtp/packet.ts'
import { parseRtcp } from '../../../media/rtp/rtcp.ts'
import { openRtp, type RtpSession } from '../../../media/rtp/session.ts'
import { fakeClock } from '../../fakes/line.ts'
import { quietLog, until } from '../../support/world.ts'

const pacer = createPacer(systemClock)
const open: { close(): void }[] = []
afterEach(() => {
  for (const thing of open.splice(0)) thing.close()
})

const session = async (): Promise<RtpSession> => {
  const rtp = await openRtp({ host: '127.0.0.1', ports: { min: 0, max: 0 }, clock: systemClock, pacer, log: quietLog })
  open.push(rtp)
  return rtp
}
const socket = async (): Promise<Socket> => {
  const udp = createSocket('udp4')
  await new Promise<void>(resolve => udp.bind(0, '127.0.0.1', resolve))
  open.push(udp)
  return udp
}
const params = (port: number, codec: 'PCMU' | 'PCMA' = 'PCMU') => ({
  remote: { address: '127.0.0.1', port },
  codec,
  payloadType: codec === 'PCMU' ? 0 : 8,
  dtmfPayloadType: 101,
  direction: 'sendrecv' as const,
})
function ear(says: (n: number) => Int16Array | null = () => null) {
  const heard: AudioFrame[] = []
  const keys: string[] = []
  let n = 0
  const sink: LegSink = { pull: () => says(n++), push: frame => heard.push(frame), dtmf: key => keys.push(key) }
  return { sink, heard, keys }
}
const level = (value: number) => new Int16Array(160).fill(value)
function packet(sequence: number, value: number, options: { pt?: number; ssrc?: number; payload?: Uint8Array } = {}) {
  const payload = options.payload ?? new Uint8Array(160)
  if (!options.payload) encodeG711('PCMU', level(value), payload)
  const data = Buffer.concat([Buffer.alloc(12), payload])
  writeRtpHeader(data, {
    payloadType: options.pt ?? 0,
    marker: false,
    sequence,
    timestamp: sequence * 160,
    ssrc: options.ssrc ?? 7,
  })
  return data
}

describe.each(['PCMU', 'PCMA'] as const)('two sessions over %s', codec => {
  it('exchange audio frame by frame', async () => {
    const [a, b] = await Promise.all([session(), session()])
    a.configure(params(b.local.port, codec))
    b.configure(params(a.local.port, codec))
    const [left, right] = [ear(n => level(n % 2 ? 4000 : -4000)), ear(() => level(900))]
    a.attach(left.sink)
    b.attach(right.sink)
    await until(() => left.heard.length >= 20 && right.heard.length >= 20)
    const near = (value: number, target: number) => Math.abs(value - target) < Math.abs(target) * 0.05
    expect(left.heard.slice(0, 20).every(frame => frame.pcm.length === 160 && near(frame.pcm[80]!, 900))).toBe(true)
    expect(right.heard.slice(0, 20).every(frame => near(Math.abs(frame.pcm[80]!), 4000))).toBe(true)
    expect(a.stats()).toMatchObject({ codec, packets_lost: 0, packets_rejected: 0 })
  })
})

describe('a session', () => {
  it('may receive before it starts, uncounted', async () => {
    const [rtp, far] = await Promise.all([session(), socket()])
    const [early, late] = [[] as AudioFrame[], ear(() => level(4000))]
    const sent: Buffer[] = []
    far.on('message', data => void (data.length === 172 && sent.push(data)))
    rtp.configure(params(far.address().port))
    rtp.listen(frame => early.push(frame), 16_000)
    for (let n = 1; n <= 5; n++) far.send(packet(n, 900), rtp.local.port, '127.0.0.1')
    await until(() => early.length >= 5 && sent.length >= 3)
    expect(early[0]!.pcm).toHaveLength(320)
    expect(sent.every(data => decodeG711('PCMU', data.subarray(12)).every(sample => Math.abs(sample) < 10))).toBe(true)
    const before = sent.length
    const heard = early.length
    rtp.attach(late.sink)
    rtp.listen(() => expect.unreachable(), 8000)
    for (let n = 6; n <= 10; n++) far.send(packet(n, 900), rtp.local.port, '127.0.0.1')
    await until(() => late.heard.length >= 5 && sent.length >= before + 3)
    expect(early).toHaveLength(heard)
    expect(late.heard[0]!.pcm).toHaveLength(160)
    expect(rtp.stats().packets_received).toBe(5)
    const times = sent.map(data => data.readUInt32BE(4))
    const steps = times.slice(1).map((time, i) => (time - times[i]!) >>> 0)
    expect(new Set(steps)).toEqual(new Set([160])) // one stream, for the far end
    expect(decodeG711('PCMU', sent.at(-1)!.subarray(12))[80]).toBeGreaterThan(3000)
  })

  it('binds RTP to an even port', async () => {
    for (let i = 0; i < 5; i++) expect((await session()).local.port % 2).toBe(0)
  })

  it('reports an exhausted port range', async () => {
    const taken = await session()
    const { port } = taken.local
    await expect(
      openRtp({ host: '127.0.0.1', ports: { min: port, max: port + 1 }, clock: systemClock, pacer, log: quietLog }),
    ).rejects.toThrow('No free pair')
  })

  it('sends silence with even timestamps', async () => {
    const [rtp, peer] = [await session(), await socket()]
    const packets: Buffer[] = []
    peer.on('message', data => packets.push(data))
    rtp.configure(params(peer.address().port))
    rtp.attach(ear().sink)
    await until(() => packets.length >= 15)
    const parsed = packets.map(data => parseRtp(data)!)
    expect(parsed[0]!.marker).toBe(true)
    for (let i = 1; i < parsed.length; i++) {
      expect((parsed[i]!.sequence - parsed[i - 1]!.sequence) & 0xffff).toBe(1)
      expect((parsed[i]!.timestamp - parsed[i - 1]!.timestamp) >>> 0).toBe(160)
      expect(parsed[i]!.marker).toBe(false)
    }
    expect(new Set(decodeG711('PCMU', parsed[3]!.payload))).toEqual(new Set([0]))
  })

  it('ignores strangers and garbage', async () => {
    const [rtp, peer, stranger] = [await session(), await socket(), await socket()]
    const strangerGot: Buffer[] = []
    stranger.on('message', data => strangerGot.push(data))
    const { sink, heard } = ear()
    rtp.configure(params(peer.address().port))
    rtp.attach(sink)
    peer.send(packet(1, 1000), rtp.local.port, '127.0.0.1')
    await until(() => heard.length === 1)
    const garbage = [
      Buffer.alloc(0),
      Buffer.from('hello'),
      Buffer.alloc(3000, 0x80),
      Buffer.from([0x80, 200, 0, 1, 0, 0]),
      Buffer.alloc(12, 0xff),
    ]
    for (let n = 0; n < 30; n++) stranger.send(packet(n, 20_000, { ssrc: 9 }), rtp.local.port, '127.0.0.1')
    for (const bytes of garbage)
      for (const port of [rtp.local.port, rtp.local.port + 1]) peer.send(bytes, port, '127.0.0.1')
    peer.send(packet(2, 1000, { pt: 77 }), rtp.local.port, '127.0.0.1')
    peer.send(packet(2, 1000), rtp.local.port, '127.0.0.1')
    await until(() => heard.length === 2 && rtp.stats().packets_rejected >= 33)
    expect(heard.every(frame => Math.abs(frame.pcm[0]!) < 2000)).toBe(true)
    expect(strangerGot).toHaveLength(0)
  })

  it('receives each DTMF event once', async () => {
    const [rtp, peer] = [await session(), await socket()]
    const { sink, keys } = ear()
    rtp.configure(params(peer.address().port))
    rtp.attach(sink)
    const press = (sequence: number, key: number, timestamp: number) => {
      const data = packet(sequence, 0, { pt: 101, payload: Uint8Array.of(key, 0x8a, 0, 160) })
      data.writeUInt32BE(timestamp, 4)
      peer.send(data, rtp.local.port, '127.0.0.1')
    }
    for (let i = 0; i < 4; i++) press(10 + i, 5, 1000)
    for (let i = 0; i < 4; i++) press(14 + i, 11, 9000)
    await until(() => keys.length === 2)
    expect(keys).toEqual(['5', '#'])
  })

  it('conceals a lost packet, and reports it', async () => {
    const [rtp, peer] = [await session(), await socket()]
    const { sink, heard } = ear()
    rtp.configure(params(peer.address().port))
    rtp.attach(sink)
    for (const n of [1, 2, 4, 5]) peer.send(packet(n, 8000), rtp.local.port, '127.0.0.1')
    await until(() => heard.length === 5)
    expect(heard.map(frame => frame.concealed)).toEqual([false, false, true, false, false])
    const [first, last] = [heard[2]!.pcm[0]!, heard[2]!.pcm.at(-1)!]
    expect(first).toBeGreaterThan(7000)
    expect(last).toBeGreaterThan(3000)
    expect(last).toBeLessThan(first - 1000)
    expect(rtp.stats().packets_lost).toBe(1)
  })

  it('sends RTCP reports and BYE', async () => {
    const peer = await socket()
    const rtcp = createSocket('udp4')
    await new Promise<void>(resolve => rtcp.bind(peer.address().port + 1, '127.0.0.1', resolve))
    open.push(rtcp)
    const rtp = await session()
    const reports: Buffer[] = []
    rtcp.on('message', data => reports.push(data))
    rtp.configure(params(peer.address().port))
    rtp.attach(ear().sink)
    peer.send(packet(1, 0, { ssrc: 4711 }), rtp.local.port, '127.0.0.1')
    await until(() => rtp.stats().packets_received === 1 && rtp.stats().packets_sent > 2)
    rtp.close()
    await until(() => reports.length > 0)
    const report = parseRtcp(reports.at(-1)!)!
    expect(report.bye).toBe(true)
    expect(report.blocks[0]!.ssrc).toBe(4711)
  })

  it('can be closed within a tick', async () => {
    const [rtp, peer] = [await session(), await socket()]
    rtp.configure(params(peer.address().port))
    const closed = new Promise<void>(resolve => {
      const { sink } = ear(n => {
        if (n === 3) {
          rtp.close()
          resolve()
        }
        return null
      })
      rtp.attach(sink)
    })
    await closed
    expect(rtp.stats().packets_sent).toBe(3)
  })
})

describe('pacer', () => {
  it('does not drift after a late timer', () => {
    const clock = fakeClock(0)
    const ticks: number[] = []
    createPacer(clock).add(due => ticks.push(due))
    clock.advance(100)
    clock.advance(1000)
    expect(ticks).toEqual(Array.from({ length: ticks.length }, (_, i) => ticks[0]! + i * 20))
    expect(ticks.length).toBe(56)
  })

  it('spreads calls over 20 ms', () => {
    const clock = fakeClock(0)
    const pacer = createPacer(clock)
    const phases = Array.from({ length: 8 }, () => new Set<number>())
    for (const set of phases) pacer.add(due => set.add(due % 20))
    clock.advance(200)
    expect(phases.every(set => set.size === 1)).toBe(true)
    const all = phases.map(set => [...set][0]!)
    for (const phase of new Set(all)) expect(all.filter(other => other === phase)).toHaveLength(2)
  })

  it('keeps the ticks of others when calls start and end', () => {
    const clock = fakeClock(0)
    const pacer = createPacer(clock)
    const ticks: number[] = []
    pacer.add(due => ticks.push(due))
    for (let i = 0; i < 50; i++) {
      const stop = pacer.add(() => {})
      clock.advance(7)
      stop()
    }
    expect(ticks).toEqual(Array.from({ length: ticks.length }, (_, i) => i * 20))
    expect(ticks.length).toBe(18)
  })

  it('drops frames missed during suspension', () => {
    const clock = fakeClock(0)
    let nowMs = 0
    const timers: (() => void)[] = []
    const stalled = {
      ...clock,
      now: () => nowMs,
      after(_: number, run: () => void) {
        timers.push(run)
        return () => {}
      },
    }
    let count = 0
    createPacer(stalled).add(() => count++)
    timers.pop()!()
    nowMs = 60_000
    timers.pop()!()
    expect(count).toBeLessThanOrEqual(2)
  })
})

describe('DTMF', () => {
  it('arrive once each, in order, between audio', async () => {
    const [a, b] = [await session(), await session()]
    a.configure(params(b.local.port))
    b.configure(params(a.local.port))
    const [left, right] = [ear(() => level(2000)), ear()]
    a.attach(left.sink)
    b.attach(right.sink)
    await until(() => right.heard.length > 5)
    await a.sendDtmf('1,*#9')
    await until(() => right.keys.length === 4)
    expect(right.keys.join('')).toBe('1*#9')
    expect(b.stats().packets_lost).toBe(0)
  })
  it('are RFC 4733 events: one timestamp, growing duration, three end packets', async () => {
    const [rtp, peer] = [await session(), await socket()]
    const events: ReturnType<typeof parseRtp>[] = []
    peer.on('message', data => {
      const packet = parseRtp(data)!
      if (packet.payloadType === 101) events.push(packet)
    })
    rtp.configure(params(peer.address().port))
    rtp.attach(ear().sink)
    await rtp.sendDtmf('5')
    await until(() => events.length >= 11)
    const durations = events.map(packet => Buffer.from(packet!.payload).readUInt16BE(2))
    expect(durations).toEqual([160, 320, 480, 640, 800, 960, 1120, 1280, 1280, 1280, 1280])
    expect(new Set(events.map(packet => packet!.timestamp)).size).toBe(1)
    expect(events.map(packet => packet!.marker)).toEqual([true, ...Array(10).fill(false)])
    expect(events.map(packet => (packet!.payload[1]! & 0x80) !== 0)).toEqual([
      ...Array(8).fill(false),
      ...Array(3).fill(true),
    ])
    expect(events.every(packet => packet!.payload[0] === 5)).toBe(true)
  })
  it('are tones without telephone-event, and stop at close', async () => {
    const [rtp, peer] = [await session(), await socket()]
    const sound: number[] = []
    peer.on('message', data => sound.push(...decodeG711('PCMU', parseRtp(data)!.payload)))
    rtp.configure({ ...params(peer.address().port), dtmfPayloadType: null })
    rtp.attach(ear().sink)
    await rtp.sendDtmf('5')
    await until(() => sound.length > 160 * 8)
    const power = (hz: number) => {
      const tone = sound.filter(sample => sample !== 0)
      const [re, im] = [Math.cos, Math.sin].map(f =>
        tone.reduce((sum, sample, i) => sum + sample * f((2 * Math.PI * hz * i) / 8000), 0),
      )
      return Math.hypot(re!, im!) / tone.length
    }
    expect(Math.min(power(770), power(1336))).toBeGreaterThan(20 * Math.max(power(697), power(1477), power(1000)))
    const pending = rtp.sendDtmf('123456789')
    rtp.close()
    await pending
  })
})

describe('a session', () => {
  it('sends neither audio nor reports to an address that is not allowed, until the audio comes from another', async () => {
    const asked: string[] = []
    const egress = {
      admits: (kind: string, address: string) => {
        asked.push(`${kind} ${address}`)
        return address === '127.0.0.1'
      },
    }
    const rtp = await openRtp({
      ...{ host: '127.0.0.1', ports: { min: 0, max: 0 }, clock: systemClock, pacer, log: quietLog },
      egress,
    })
    open.push(rtp)
    const [inside, nat] = [createSocket('udp4'), await socket()]
    await new Promise<void>(resolve => inside.bind(0, '127.0.0.66', resolve))
    open.push(inside)
    let leaked = 0
    inside.on('message', () => leaked++)
    let got = 0
    nat.on('message', () => got++)
    rtp.trust('127.0.0.1')
    rtp.configure({ ...params(inside.address().port), remote: { address: '127.0.0.66', port: inside.address().port } })
    rtp.attach(ear(() => level(1000)).sink)
    await until(() => asked.filter(what => what === 'rtp 127.0.0.66').length > 10, 'packets to be refused')
    // A caller behind a NAT: its audio comes from elsewhere, and ours goes there.
    for (let n = 0; n < 6; n++) {
      nat.send(packet(n, 1000), rtp.local.port, '127.0.0.1')
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    await until(() => got > 5, 'audio at the latched address')
    expect(leaked).toBe(0)
  })
})
