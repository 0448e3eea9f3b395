/** DTLS-SRTP with itself over a lossy network, and with OpenSSL. */
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import type { Address } from '../../../media/rtp/address.ts'
import { Dtls } from '../../../media/rtp/dtls.ts'
import { type DtlsIdentity, dtlsIdentity, type Fingerprint, fingerprintOf } from '../../../media/rtp/dtls-crypto.ts'
import type { DtlsRole, SrtpKeys } from '../../../media/rtp/dtls-handshake.ts'
import {
  CONTENT,
  DTLS_1_2,
  parseFragments,
  parseRecords,
  Reassembly,
  writeHandshake,
  writeRecord,
} from '../../../media/rtp/dtls-wire.ts'
import { selfSigned } from '../../../sip/server/self-signed.ts'
import { fakeClock } from '../../fakes/line.ts'
import { lacks } from '../../support/needs.ts'
import { until } from '../../support/world.ts'

const identity = () => dtlsIdentity(selfSigned(Date.now()))
const named = (...known: DtlsIdentity[]): Fingerprint[] =>
  known.map(({ fingerprint }) => ({ hash: 'sha-256', value: fingerprint }))
const at = (port: number, address = '192.0.2.1'): Address => ({ address, port })

type Side = { dtls: Dtls; keys: SrtpKeys | null; failed: string | null; identity: DtlsIdentity }

/** A network that delivers packets when the test says so. */
function network() {
  const clock = fakeClock()
  const sides = new Map<number, Side>()
  const wire: { data: Buffer; from: number; to: number }[] = []
  const sent: { data: Buffer; from: number }[] = []
  const join = (port: number, role: DtlsRole, target: number, fingerprints: Fingerprint[], own = identity()): Side => {
    const side: Side = { dtls: null as unknown as Dtls, keys: null, failed: null, identity: own }
    sides.set(port, side)
    side.dtls = new Dtls({
      identity: own,
      role,
      fingerprints,
      target: at(target),
      clock,
      send: (data, to) => {
        wire.push({ data, from: port, to: to.port })
        sent.push({ data, from: port })
      },
      onKeys: keys => {
        side.keys = keys
      },
      onFailed: words => {
        side.failed = words
      },
    })
    return side
  }
  const deliver = (lost: (data: Buffer) => boolean = () => false) => {
    for (let packet = wire.shift(); packet; packet = wire.shift())
      if (!lost(packet.data)) sides.get(packet.to)?.dtls.receive(Buffer.from(packet.data), at(packet.from))
  }
  return { clock, join, deliver, wire, sent }
}

function expectSameKeys(a: Side, b: Side): void {
  expect([a.failed, b.failed]).toEqual([null, null])
  expect(a.keys!.send.equals(b.keys!.receive)).toBe(true)
  expect(b.keys!.send.equals(a.keys!.receive)).toBe(true)
  expect(a.keys!.send.equals(a.keys!.receive)).toBe(false)
}

describe('two ends', () => {
  it('derive the same keys', () => {
    const [net, c, s] = [network(), identity(), identity()]
    const server = net.join(2, 'server', 1, named(c), s)
    const client = net.join(1, 'client', 2, named(s), c)
    net.deliver()
    expectSameKeys(client, server)
    expect(client.keys!.send.suite).toBe('AES_CM_128_HMAC_SHA1_80')
    expect(Math.max(...net.sent.map(({ data }) => data.length))).toBeLessThanOrEqual(1200)
  })

  it('agree when each kind of datagram is lost at first', () => {
    for (let lostFirst = 1; lostFirst <= 2; lostFirst++) {
      const [net, c, s] = [network(), identity(), identity()]
      const server = net.join(2, 'server', 1, named(c), s)
      const client = net.join(1, 'client', 2, named(s), c)
      const seen = new Map<string, number>()
      const lost = (data: Buffer) => {
        const kind = parseRecords(data)
          .map(({ type, epoch, body }) => `${type}.${epoch}.${epoch ? '' : body[0]}`)
          .join()
        seen.set(kind, (seen.get(kind) ?? 0) + 1)
        return seen.get(kind)! <= lostFirst
      }
      for (let i = 0; i < 60 && !(client.keys && server.keys); i++) {
        net.deliver(lost)
        net.clock.advance(150)
      }
      expectSameKeys(client, server)
      server.dtls.close()
      client.dtls.close()
    }
  })

  it('agree with duplicate and reordered datagrams', () => {
    const [net, c, s] = [network(), identity(), identity()]
    const server = net.join(2, 'server', 1, named(c), s)
    const client = net.join(1, 'client', 2, named(s), c)
    for (let i = 0; i < 40 && !(client.keys && server.keys); i++) {
      net.wire.push(...net.wire.map(packet => ({ ...packet })))
      net.wire.reverse()
      net.deliver()
      net.clock.advance(100)
    }
    expectSameKeys(client, server)
  })

  it.each(['client', 'server'] as const)('fail when the %s shows a different certificate', wrong => {
    const [net, c, s] = [network(), identity(), identity()]
    const server = net.join(2, 'server', 1, named(wrong === 'client' ? identity() : c), s)
    const client = net.join(1, 'client', 2, named(wrong === 'server' ? identity() : s), c)
    net.deliver()
    expect((wrong === 'client' ? server : client).failed).toMatch(/certificate .* does not match its fingerprint/)
    expect((wrong === 'client' ? client : server).failed).toMatch(/aborted the DTLS handshake/)
    expect([client.keys, server.keys]).toEqual([null, null])
  })

  it.each(['client', 'server'] as const)('reject a %s that shows a certificate without its key', thief => {
    const [net, honest, stolen] = [network(), identity(), identity()]
    const forged = { ...stolen, key: identity().key }
    const server = net.join(
      2,
      'server',
      1,
      named(thief === 'client' ? stolen : honest),
      thief === 'server' ? forged : honest,
    )
    const client = net.join(
      1,
      'client',
      2,
      named(thief === 'server' ? stolen : honest),
      thief === 'client' ? forged : honest,
    )
    net.deliver()
    expect((thief === 'client' ? server : client).failed).toBe('the signature of the far end is invalid')
    expect([client.keys, server.keys]).toEqual([null, null])
  })

  it('time out without an answer', () => {
    const net = network()
    const client = net.join(1, 'client', 2, named(identity()))
    const server = net.join(3, 'server', 4, named(identity()))
    net.clock.advance(9000)
    expect(client.failed).toBeNull()
    expect(net.wire.length).toBeLessThan(10)
    net.clock.advance(1500)
    for (const side of [client, server]) expect(side.failed).toBe('the DTLS handshake did not complete within 10 s')
  })

  it('accept any fingerprint hash', () => {
    const [net, c, s] = [network(), identity(), identity()]
    const sha512: Fingerprint = { hash: 'sha-512', value: fingerprintOf(c.certificate, 'sha-512') }
    const server = net.join(2, 'server', 1, [...named(identity()), sha512], s)
    const client = net.join(1, 'client', 2, named(s), c)
    net.deliver()
    expectSameKeys(client, server)
  })
})

describe('a server', () => {
  it('accepts a client behind a NAT from any address', () => {
    const [net, c, s] = [network(), identity(), identity()]
    const server = net.join(2, 'server', 9, named(c), s)
    const client = net.join(1, 'client', 2, named(s), c)
    net.deliver()
    expectSameKeys(client, server)
  })

  it('ignores strangers', () => {
    const [net, c, s] = [network(), identity(), identity()]
    const server = net.join(2, 'server', 1, named(c), s)
    const strangers = [11, 12, 13, 14, 15].map(port => net.join(port, 'client', 2, named(s)))
    net.deliver()
    const client = net.join(1, 'client', 2, named(s), c)
    net.deliver()
    expectSameKeys(client, server)
    expect(strangers.every(({ keys }) => keys === null)).toBe(true)
  })

  it('sends an unverified address no more than it received', () => {
    const [net, s] = [network(), identity()]
    net.join(2, 'server', 1, named(identity()), s)
    net.join(7, 'client', 2, named(s))
    const hello = net.wire.shift()!
    net.sent.length = 0
    const server = { to: 2, from: 7 }
    for (let i = 0; i < 5; i++) net.wire.push({ data: hello.data, ...server })
    net.deliver(data => data !== hello.data)
    const answers = net.sent.filter(({ from }) => from === 2)
    expect(answers).toHaveLength(5)
    for (const { data } of answers) expect(data.length).toBeLessThan(hello.data.length)
  })

  it('survives garbage in every state', () => {
    const [net, c, s] = [network(), identity(), identity()]
    const server = net.join(2, 'server', 1, named(c), s)
    const client = net.join(1, 'client', 2, named(s), c)
    net.deliver()
    const seen = net.sent.map(({ data }) => data)
    for (const data of seen) {
      for (let cut = 0; cut < data.length; cut += 7) {
        const fresh = network()
        const victim = fresh.join(2, 'server', 1, named(c), s)
        const other = fresh.join(1, 'client', 2, named(s), c)
        for (const side of [victim, other, server, client]) {
          side.dtls.receive(data.subarray(0, cut), at(1))
          side.dtls.receive(Buffer.from(data.map((byte, i) => (i === cut ? byte ^ 0x55 : byte))), at(2))
        }
        for (const side of [victim, other]) side.dtls.close()
      }
    }
    expectSameKeys(client, server)
  })
})

describe('messages', () => {
  it('reassemble fragments in any order, and reject invalid ones', () => {
    const body = Buffer.from(Array.from({ length: 100 }, (_, i) => i))
    const whole = writeHandshake({ type: 11, sequence: 3, body })
    const fragment = (offset: number, length: number) => ({
      type: 11,
      length: 100,
      sequence: 3,
      offset,
      body: body.subarray(offset, offset + length),
    })
    const parts = new Reassembly(3)
    for (const part of [fragment(60, 40), fragment(0, 30), fragment(20, 20)]) parts.add(part)
    expect(parts.take()).toBeNull()
    parts.add({ ...fragment(30, 30), length: 101 })
    expect(parts.take()).toBeNull()
    parts.add(fragment(30, 30))
    expect(parts.take()).toEqual({ type: 11, sequence: 3, body })
    expect(parseFragments(whole)).toEqual([{ ...fragment(0, 100) }])
    expect(() => parseFragments(Buffer.from('0b0000050000000004000004aabbccdd', 'hex'))).toThrow(
      'longer than its message',
    )
    expect(() => new Reassembly(0).add({ ...fragment(0, 1), sequence: 0, length: 1 << 20 })).toThrow('too long')
  })

  it('ignore incomplete records', () => {
    const record = { type: CONTENT.handshake, version: DTLS_1_2, epoch: 0, sequence: 5, body: Buffer.from('abc') }
    const data = Buffer.concat([writeRecord(record), writeRecord({ ...record, sequence: 6 })])
    expect(parseRecords(data)).toEqual([record, { ...record, sequence: 6 }])
    expect(parseRecords(data.subarray(0, data.length - 1))).toEqual([record])
    expect(parseRecords(Buffer.from('hello, this is not DTLS'))).toEqual([])
  })
})

describe.skipIf(lacks('openssl'))('OpenSSL', { timeout: 180_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-dtls-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const files = (name: string, pem: { cert: string; key: string }) => {
    const paths = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) }
    writeFileSync(paths.cert, pem.cert)
    writeFileSync(paths.key, pem.key)
    return paths
  }
  const exporting = [
    '-use_srtp',
    'SRTP_AES128_CM_SHA1_80',
    '-keymatexport',
    'EXTRACTOR-dtls_srtp',
    '-keymatexportlen',
    '60',
  ]

  /** Keys as `client key, server key, client salt, server salt` in hex, which is how they are exported. */
  const exported = (keys: SrtpKeys, role: DtlsRole) => {
    const [client, server] = role === 'client' ? [keys.send, keys.receive] : [keys.receive, keys.send]
    const bytes = [client, server].map(key => Buffer.from(key.base64(), 'base64'))
    return Buffer.concat([...bytes.map(b => b.subarray(0, 16)), ...bytes.map(b => b.subarray(16))])
      .toString('hex')
      .toUpperCase()
  }

  async function against(
    role: DtlsRole,
    pem: { cert: string; key: string },
  ): Promise<{ ours: string; theirs: string }> {
    const paths = files(role, pem)
    const socket = createSocket('udp4')
    const [free] = await Promise.all([freeUdpPort(), new Promise<void>(done => socket.bind(0, '127.0.0.1', done))])
    const { port } = socket.address()
    const args =
      role === 'client'
        ? ['s_server', '-dtls1_2', '-accept', `127.0.0.1:${free}`, '-Verify', '1']
        : ['s_client', '-dtls1_2', '-connect', `127.0.0.1:${port}`]
    const child = spawn('openssl', [...args, '-cert', paths.cert, '-key', paths.key, ...exporting])
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += data))
    const peer = { hash: 'sha-256', value: fingerprintOf(certificateOf(pem.cert), 'sha-256') } as const
    let keys: SrtpKeys | null = null
    let failed: string | null = null
    if (role === 'client') await until(() => output.includes('ACCEPT'))
    const dtls = new Dtls({
      identity: identity(),
      role,
      fingerprints: [peer],
      target: at(role === 'client' ? free : 1, '127.0.0.1'),
      clock: systemClock,
      send: (data, to) => socket.send(data, to.port, to.address),
      onKeys: made => {
        keys = made
      },
      onFailed: words => {
        failed = words
      },
    })
    socket.on('message', (data, from) => dtls.receive(data, from))
    try {
      await until(() => failed !== null || (keys !== null && /Keying material: \w+/.test(output)))
      expect(failed).toBeNull()
      return { ours: exported(keys!, role), theirs: /Keying material: (\w+)/.exec(output)![1]! }
    } finally {
      dtls.close()
      socket.close()
      child.kill('SIGKILL')
    }
  }

  const certificateOf = (pem: string) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64')

  it.each(['client', 'server'] as const)('exports the same keys, we being the %s', async role => {
    const { ours, theirs } = await against(role, selfSigned(Date.now()))
    expect(ours).toBe(theirs)
  })

  it.each(['client', 'server'] as const)(
    'exports the same keys with an RSA certificate, we being the %s',
    async role => {
      const { ours, theirs } = await against(role, await rsa())
      expect(ours).toBe(theirs)
    },
  )

  async function rsa(): Promise<{ cert: string; key: string }> {
    const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
    const file = join(folder, 'rsa.key')
    writeFileSync(file, key)
    const child = spawn('openssl', ['req', '-x509', '-key', file, '-subj', '/CN=peer', '-days', '2'])
    let cert = ''
    child.stdout.on('data', data => (cert += data))
    await new Promise(done => child.once('close', done))
    return { cert, key: key.toString() }
  }
})

async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4')
  await new Promise<void>(done => socket.bind(0, '127.0.0.1', done))
  const { port } = socket.address()
  socket.close()
  return port
}
