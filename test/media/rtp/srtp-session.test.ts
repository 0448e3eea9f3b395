/** Two ends over loopback with encrypted audio, and an eavesdropper who sees all packets. */
import { createSocket, type Socket } from 'node:dgram'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { decodeG711, encodeG711 } from '../../../media/audio/g711.ts'
import type { AudioFrame, LegSink } from '../../../media/ports/leg.ts'
import { dtlsIdentity } from '../../../media/rtp/dtls-crypto.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { looksLikeRtcp, parseRtp, writeRtpHeader } from '../../../media/rtp/packet.ts'
import { openRtp, type RtpSession } from '../../../media/rtp/session.ts'
import { SrtpReceiver, SrtpSender } from '../../../media/rtp/srtp.ts'
import { MasterKey } from '../../../media/rtp/srtp-keys.ts'
import type { RtpSecurity } from '../../../media/rtp/srtp-session.ts'
import { selfSigned } from '../../../sip/server/self-signed.ts'
import { quietLog, until } from '../../support/world.ts'

const pacer = createPacer(systemClock)
const open: { close(): void }[] = []
afterEach(() => {
  for (const thing of open.splice(0)) thing.close()
})

const HOST = '127.0.0.1'
const identities = [0, 1, 2].map(() => dtlsIdentity(selfSigned(Date.now())))
const session = async (identity = identities[0]!): Promise<RtpSession> => {
  const rtp = await openRtp({
    host: HOST,
    ports: { min: 0, max: 0 },
    clock: systemClock,
    pacer,
    log: quietLog,
    identity,
  })
  open.push(rtp)
  return rtp
}

/** Between two ends: passes on what comes from one to the other, and keeps it. */
class Wire {
  readonly ports: [number, number]
  readonly seen: Buffer[][] = [[], []]
  #sockets: Socket[]
  #ends: number[] = []

  private constructor(sockets: Socket[]) {
    this.#sockets = sockets
    this.ports = [sockets[0]!.address().port, sockets[1]!.address().port]
    for (const i of [0, 1]) {
      sockets[i]!.on('message', data => {
        this.seen[i]!.push(Buffer.from(data))
        this.inject(i, data)
      })
    }
  }

  static async open(): Promise<Wire> {
    const sockets = [createSocket('udp4'), createSocket('udp4')]
    await Promise.all(sockets.map(socket => new Promise<void>(done => socket.bind(0, HOST, done))))
    open.push(...sockets)
    return new Wire(sockets)
  }

  connect(a: RtpSession, b: RtpSession): void {
    this.#ends = [a.local.port, b.local.port]
  }

  /** As if sent by the end `from`, from the address that the other end knows. */
  inject(from: number, data: Buffer): void {
    this.#sockets[1 - from]!.send(data, this.#ends[1 - from]!, HOST)
  }
}

const PCM = [level(4000), level(-900)]
function level(value: number): Int16Array {
  return new Int16Array(160).fill(value)
}
function ear(pcm: Int16Array) {
  const heard: AudioFrame[] = []
  const sink: LegSink = { pull: () => pcm, push: frame => heard.push(frame), dtmf: () => {} }
  return { sink, heard }
}
const params = (port: number, security: RtpSecurity, rtcpMux = false) => ({
  remote: { address: HOST, port },
  codec: 'PCMU' as const,
  payloadType: 0,
  dtmfPayloadType: 101,
  direction: 'sendrecv' as const,
  security,
  rtcpMux,
})
const hears = (heard: AudioFrame[], value: number) =>
  heard.length >= 10 && heard.slice(-5).every(({ pcm }) => Math.abs(pcm[80]! - value) < Math.abs(value) * 0.05)

/** True when an eavesdropper can decode the audio from the packets. */
function readable(packets: Buffer[], value: number): boolean {
  const sound = packets.flatMap(data => (looksLikeRtcp(data) ? [] : (parseRtp(data) ?? [])))
  const near = sound.filter(({ payload }) => {
    const pcm = decodeG711('PCMU', payload.subarray(0, 160))
    return pcm.filter(sample => Math.abs(sample - value) < Math.abs(value) * 0.05).length > 80
  })
  return near.length > 0
}

async function call(left: RtpSecurity, right: RtpSecurity, options: { rtcpMux?: boolean } = {}) {
  const [a, b] = await Promise.all([session(identities[0]), session(identities[1])])
  const wire = await Wire.open()
  wire.connect(a, b)
  // Each knows the other by a port of the wire.
  a.configure(params(wire.ports[0], left, options.rtcpMux))
  b.configure(params(wire.ports[1], right, options.rtcpMux))
  const stt = [ear(PCM[0]!), ear(PCM[1]!)] as const
  a.attach(stt[0].sink)
  b.attach(stt[1].sink)
  return { a, b, wire, stt }
}

const suite = 'AES_CM_128_HMAC_SHA1_80'
function sdes(name: typeof suite | 'AEAD_AES_256_GCM' = suite): [RtpSecurity, RtpSecurity, MasterKey, MasterKey] {
  const [x, y] = [MasterKey.random(name), MasterKey.random(name)]
  return [{ kind: 'sdes', send: x, receive: y }, { kind: 'sdes', send: y, receive: x }, x, y]
}
const dtls = (role: 'client' | 'server', peer: number): RtpSecurity => ({
  kind: 'dtls',
  role,
  fingerprints: [{ hash: 'sha-256', value: identities[peer]!.fingerprint }],
})

describe('sound', () => {
  it('without encryption is readable on the wire (control)', async () => {
    const { wire, stt } = await call({ kind: 'none' }, { kind: 'none' })
    await until(() => hears(stt[0].heard, -900) && hears(stt[1].heard, 4000))
    expect([readable(wire.seen[0]!, 4000), readable(wire.seen[1]!, -900)]).toEqual([true, true])
  })

  it.each([suite, 'AEAD_AES_256_GCM'] as const)('by SDES with %s is decrypted at both ends only', async name => {
    const [left, right] = sdes(name)
    const { a, wire, stt } = await call(left, right)
    await until(() => hears(stt[0].heard, -900) && hears(stt[1].heard, 4000))
    expect([readable(wire.seen[0]!, 4000), readable(wire.seen[1]!, -900)]).toEqual([false, false])
    expect(a.stats()).toMatchObject({ packets_rejected: 0, packets_lost: 0 })
  })

  it.each([true, false])('by DTLS is decrypted at both ends only (rtcp-mux: %s)', async mux => {
    const { wire, stt } = await call(dtls('client', 1), dtls('server', 0), { rtcpMux: mux })
    await until(() => hears(stt[0].heard, -900) && hears(stt[1].heard, 4000))
    expect([readable(wire.seen[0]!, 4000), readable(wire.seen[1]!, -900)]).toEqual([false, false])
  })

  it('is not pulled before keys exist', async () => {
    let pulls = 0
    const rtp = await session()
    rtp.configure(params(9, dtls('server', 1)))
    rtp.attach({
      ...ear(PCM[0]!).sink,
      pull: () => {
        pulls++
        return null
      },
    })
    const plain = await session()
    plain.configure(params(9, { kind: 'none' }))
    let plainPulls = 0
    plain.attach({
      ...ear(PCM[0]!).sink,
      pull: () => {
        plainPulls++
        return null
      },
    })
    await until(() => plainPulls >= 10)
    expect(pulls).toBe(0)
    expect(rtp.stats().packets_sent).toBe(0)
  })
})

describe('a third party', () => {
  it('cannot inject by replay, modification or forgery', async () => {
    const [left, right] = sdes()
    const { b, wire, stt } = await call(left, right)
    await until(() => hears(stt[1].heard, 4000))
    const stranger = createSocket('udp4')
    open.push(stranger)
    const stolen = wire.seen[0]!.slice(0, 8)
    const plain = Buffer.concat([Buffer.alloc(12), new Uint8Array(160)])
    encodeG711('PCMU', level(20_000), plain, 12)
    const forger = new SrtpSender(MasterKey.random(suite))
    const before = b.stats().packets_rejected
    let sent = 0
    for (let n = 0; n < 30; n++) {
      const { ssrc, sequence } = parseRtp(wire.seen[0]!.at(-1)!)!
      writeRtpHeader(plain, { payloadType: 0, marker: false, sequence: sequence + 1 + n, timestamp: n * 160, ssrc })
      const changed = Buffer.from(stolen[n % 8]!)
      changed[3 + (n % 20)]! ^= 0x40
      for (const data of [plain, forger.rtp(plain), stolen[n % 8]!, changed, changed.subarray(0, n)]) {
        if (!data) continue
        wire.inject(0, data)
        stranger.send(data, b.local.port, HOST)
        sent += 2
      }
      // More at once would not fit into the socket's buffer.
      await until(() => b.stats().packets_rejected - before >= sent)
    }
    expect(stt[1].heard.every(({ pcm }) => Math.abs(pcm[80]!) < 5000)).toBe(true)
    const count = stt[1].heard.length
    await until(() => stt[1].heard.length > count + 10)
    expect(hears(stt[1].heard, 4000)).toBe(true)
    expect(b.stats().packets_lost).toBe(0)
  })

  it('never receives our audio', async () => {
    const [left, right] = sdes()
    const rtp = await session()
    const peer = createSocket('udp4')
    const stranger = createSocket('udp4')
    open.push(peer, stranger)
    await Promise.all([peer, stranger].map(socket => new Promise<void>(done => socket.bind(0, HOST, done))))
    let got = 0
    stranger.on('message', () => got++)
    let toPeer = 0
    peer.on('message', () => toPeer++)
    rtp.configure(params(peer.address().port, left))
    rtp.attach(ear(PCM[0]!).sink)
    const wrong = new SrtpSender((right as RtpSecurity & { kind: 'sdes' }).receive)
    for (let n = 1; n < 40; n++) {
      const data = Buffer.concat([Buffer.alloc(12), Buffer.alloc(160)])
      writeRtpHeader(data, { payloadType: 0, marker: false, sequence: n, timestamp: n * 160, ssrc: 9 })
      stranger.send(wrong.rtp(data)!, rtp.local.port, HOST)
    }
    await until(() => rtp.stats().packets_rejected === 39 && toPeer > 5)
    expect(got).toBe(0)
  })

  it('ends a call with a different certificate, with the reason', async () => {
    const { a, b, stt } = await call(dtls('client', 2), dtls('server', 0))
    expect(await a.insecure).toMatch(/does not match its fingerprint/)
    expect(await b.insecure).toMatch(/aborted the DTLS handshake/)
    expect([stt[0].heard, stt[1].heard, a.stats().packets_sent]).toEqual([[], [], 0])
  })
})

describe('a new agreement', () => {
  it('with new keys continues the stream without a gap', async () => {
    const [left, right] = sdes()
    const { a, b, wire, stt } = await call(left, right)
    await until(() => hears(stt[1].heard, 4000))
    const [next, other] = sdes('AEAD_AES_256_GCM')
    b.configure(params(wire.ports[1], other))
    a.configure(params(wire.ports[0], next))
    const count = stt[1].heard.length
    await until(() => stt[1].heard.length > count + 15 && stt[0].heard.length > count + 15)
    expect(hears(stt[1].heard, 4000) && hears(stt[0].heard, -900)).toBe(true)
    expect(new Set(wire.seen[0]!.map(data => parseRtp(data)!.ssrc)).size).toBe(1)
    expect(b.stats().packets_lost + a.stats().packets_lost).toBe(0)
  })

  it('with the same keys keeps its counters', async () => {
    const [left, right, key] = sdes()
    const { a, wire, stt } = await call(left, right)
    await until(() => hears(stt[1].heard, 4000))
    a.configure(params(wire.ports[0], left))
    const count = stt[1].heard.length
    await until(() => stt[1].heard.length > count + 15)
    const listener = new SrtpReceiver(key)
    const opened = wire.seen[0]!.map(data => listener.rtp(data))
    expect(opened.every(clear => clear !== null)).toBe(true)
  })

  it('with the same DTLS certificate needs no new handshake', async () => {
    const { a, b, wire, stt } = await call(dtls('client', 1), dtls('server', 0), { rtcpMux: true })
    await until(() => hears(stt[1].heard, 4000))
    const handshakes = () => wire.seen.flat().filter(data => data[0]! < 64).length
    const before = handshakes()
    a.configure(params(wire.ports[0], dtls('client', 1), true))
    b.configure(params(wire.ports[1], dtls('server', 0), true))
    const count = stt[1].heard.length
    await until(() => stt[1].heard.length > count + 10)
    expect(handshakes()).toBe(before)
  })
})

describe('reports', () => {
  it.each([true, false])('are encrypted, and use the agreed port (rtcp-mux: %s)', async rtcpMux => {
    const [left, right, key] = sdes()
    const rtp = await session()
    const sockets = [createSocket('udp4'), createSocket('udp4')]
    open.push(...sockets)
    await Promise.all(sockets.map(socket => new Promise<void>(done => socket.bind(0, HOST, done))))
    const came: Buffer[][] = [[], []]
    for (const [i, socket] of sockets.entries()) {
      socket.on('message', data => {
        if (looksLikeRtcp(data)) came[i]!.push(data)
      })
    }
    const [remote, rtcp] = sockets.map(socket => ({ address: HOST, port: socket.address().port }))
    rtp.configure({ ...params(remote!.port, left, rtcpMux), rtcp: rtcp! })
    rtp.attach(ear(PCM[0]!).sink)
    await until(() => rtp.stats().packets_sent > 3)
    rtp.close()
    const at = rtcpMux ? 0 : 1
    await until(() => came[at]!.length > 0)
    expect(came[1 - at]).toEqual([])
    expect(new SrtpReceiver(key).rtcp(came[at]![0]!)!.subarray(0, 2)).toEqual(Buffer.from([0x80, 200]))
    expect(right.kind).toBe('sdes')
  })
})
