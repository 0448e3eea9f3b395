/** TCP and TLS as peers may use and abuse them, and IPv6 on every transport. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { selfSigned } from '../../../sip/server/self-signed.ts'
import type { SipServerOptions } from '../../../sip/server/server.ts'
import type { Protocol } from '../../../sip/server/transport.ts'
import { nameError } from '../../../sip/server/transport-tls.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { lacks } from '../../support/needs.ts'
import { SDP } from '../peer.ts'
import { type App, Rig, type SrfMessage } from '../rig.ts'
import { Far, type Pair } from './far.ts'
import { testPair } from './pair.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

type Served = { rig: Rig; app: App; portOf: (protocol: Protocol) => number }

async function serve(options: Partial<SipServerOptions> = {}): Promise<Served> {
  const rig = await Rig.start(options)
  closers.push(() => rig.close())
  const app = await rig.app()
  app.use('options', (_req, res) => res.send(200))
  // No route is confirmed to the application, so a first request is answered when it has arrived.
  const at = rig.server.bound()
  return { rig, app, portOf: protocol => at.find(one => one.protocol === protocol)?.port ?? 0 }
}

function kept<T extends { close(): void }>(far: T): T {
  closers.push(() => far.close())
  return far
}

function open(port: number, host = '127.0.0.1'): Socket {
  const socket = connect(port, host)
  socket.on('error', () => {})
  closers.push(() => socket.destroy())
  return socket
}

/** However it comes to that: a reset is as good as an orderly end. */
const closed = (socket: Socket): Promise<void> => new Promise(resolve => socket.once('close', () => resolve()))

const options = (branch: string, transport = 'TCP', extra: readonly string[] = [], host = '127.0.0.1'): string =>
  [
    `OPTIONS sip:x@${host} SIP/2.0`,
    `Via: SIP/2.0/${transport} ${host}:9;branch=z9hG4bK${branch}`,
    'From: <sip:a@b>;tag=1',
    'To: <sip:x@y>',
    `Call-ID: ${branch}`,
    'CSeq: 1 OPTIONS',
    ...extra,
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n')

async function text(socket: Socket, until: RegExp): Promise<string> {
  let seen = ''
  while (!until.test(seen)) seen += ((await once(socket, 'data')) as [Buffer])[0].toString('latin1')
  return seen
}

const contact = (far: Far, transport: string): string =>
  `Contact: <sip:bob@${far.host}:${far.port};transport=${transport}>`
const sdpType = 'Content-Type: application/sdp'

describe('TLS', () => {
  const pair = selfSigned(Date.now())
  const tlsRig = (ca: string[], extra: Partial<SipServerOptions> = {}): Promise<Served> =>
    serve({ listen: [{ protocol: 'tls', host: '127.0.0.1', port: 0 }], tls: { ...pair, ca }, ...extra })
  const dial = (app: App, far: Far, host = '127.0.0.1', scheme = 'sip'): Promise<unknown> =>
    app.createUAC(`${scheme}:bob@${host}:${far.port}${scheme === 'sip' ? ';transport=tls' : ''}`, { localSdp: SDP })

  it('a whole call over one connection, with Via and Contact of TLS', async () => {
    const far = kept(await Far.tls(pair))
    const { app, portOf } = await tlsRig([pair.cert])
    const calling = dial(app, far) as ReturnType<App['createUAC']>
    const invite = await far.next('INVITE')
    expect(headerOf(invite.request, 'Via')).toContain(`SIP/2.0/TLS 127.0.0.1:${portOf('tls')};`)
    expect(headerOf(invite.request, 'Contact')).toBe(`<sip:127.0.0.1:${portOf('tls')};transport=tls>`)
    invite.answer('200 OK', [contact(far, 'tls'), sdpType], SDP)
    const dialog = await calling
    await far.next('ACK')
    const gone = dialog.destroy()
    const bye = await far.next('BYE')
    expect(bye.from).toBe(invite.from)
    bye.answer('200 OK')
    await gone
    expect(far.connections).toBe(1)
  })

  it('a SIPS URI makes a SIPS Contact (RFC 3261 §12.1.1)', async () => {
    const far = kept(await Far.tls(pair))
    const { app, portOf } = await tlsRig([pair.cert])
    const calling = dial(app, far, '127.0.0.1', 'sips')
    const invite = await far.next('INVITE')
    expect(headerOf(invite.request, 'Contact')).toBe(`<sips:127.0.0.1:${portOf('tls')}>`)
    invite.answer('486 Busy Here')
    await expect(calling).rejects.toMatchObject({ status: 486 })
  })

  const failure = async (app: App, far: Far, host?: string): Promise<string> => {
    const error = await dial(app, far, host).catch((caught: { status: number; res: SrfMessage }) => caught)
    expect(error).toMatchObject({ status: 503, res: { source_address: '' } })
    return (error as { res: SrfMessage }).res.get('Warning')
  }

  it('rejects an untrusted certificate with the reason', async () => {
    const far = kept(await Far.tls(selfSigned(Date.now())))
    const { app } = await tlsRig([])
    expect(await failure(app, far)).toBe('399 sip-server "the certificate is self-signed and not trusted"')
  })

  it.skipIf(lacks('openssl'))('rejects a certificate for another name', async () => {
    const other: Pair = testPair('DNS:pbx.example.com')
    const far = kept(await Far.tls(other))
    const { app } = await tlsRig([other.cert])
    expect(await failure(app, far)).toBe(
      '399 sip-server "the certificate is for DNS:pbx.example.com, not for 127.0.0.1"',
    )
  })

  it('rejects an expired certificate', async () => {
    const old = selfSigned(Date.now() - 400 * 86_400_000)
    const far = kept(await Far.tls(old))
    const { app } = await tlsRig([old.cert])
    expect(await failure(app, far)).toBe('399 sip-server "the certificate has expired"')
  })

  it.skipIf(lacks('openssl'))('verifies the requested name, not the SRV target, and sends it as SNI', async () => {
    const named: Pair = testPair('URI:sip:example.com')
    const far = kept(await Far.tls(named))
    const resolver = {
      addresses: async () => ['127.0.0.1'],
      naptr: async () => [],
      srv: async () => [{ name: 'sbc7.carrier.example', port: far.port, priority: 1, weight: 1 }],
    }
    const { app } = await tlsRig([named.cert], { resolver })
    const calling = app.createUAC('sips:bob@example.com', { localSdp: SDP })
    const invite = await far.next('INVITE')
    invite.answer('603 Decline')
    await expect(calling).rejects.toMatchObject({ status: 603 })
    expect(nameError('example.org', { subjectaltname: 'URI:sip:example.com' } as never)?.message).toContain(
      'not for example.org',
    )
  })

  it('listens, and answers on the same connection', async () => {
    const { portOf } = await tlsRig([])
    const socket = connectTls({ port: portOf('tls'), host: '127.0.0.1', ca: pair.cert })
    closers.push(() => socket.destroy())
    socket.write(options('tls1', 'TLS'))
    expect(await text(socket, /\r\n\r\n/)).toMatch(/^SIP\/2\.0 200 /)
  })

  it('ignores clients without TLS', async () => {
    const { rig, portOf } = await tlsRig([])
    const socket = open(portOf('tls'))
    socket.write(options('plain'))
    await closed(socket)
    expect(rig.server.stats().faults).toBe(0)
  })
})

describe('IPv6', () => {
  const six = (protocol: Protocol) => ({ protocol, host: '::1', port: 0 })

  it.each<Protocol>(['udp', 'tcp', 'tls'])('a call goes out over %s', async protocol => {
    const pair = selfSigned(Date.now())
    const { app, portOf } = await serve({ listen: [six(protocol)], tls: { ...pair, ca: [pair.cert] } })
    const far = kept(
      await { udp: () => Far.udp('::1'), tcp: () => Far.tcp('::1'), tls: () => Far.tls(pair, '::1') }[protocol](),
    )
    const calling = app.createUAC(`sip:bob@[::1]:${far.port};transport=${protocol}`, { localSdp: SDP })
    const invite = await far.next('INVITE')
    const ours = `[::1]:${portOf(protocol)}`
    expect(headerOf(invite.request, 'Via')).toMatch(new RegExp(`^SIP/2\\.0/${protocol.toUpperCase()} \\[::1\\]:\\d+;`))
    expect(headerOf(invite.request, 'Contact')).toContain(ours)
    invite.answer('200 OK', [`Contact: <sip:bob@[::1]:${far.port};transport=${protocol}>`, sdpType], SDP)
    const dialog = await calling
    expect(headerOf((await far.next('ACK')).request, 'Via')).toContain(ours)
    const gone = dialog.destroy()
    ;(await far.next('BYE')).answer('200 OK')
    await gone
  })

  it('a request comes in, and received is written as it should be', async () => {
    const { portOf } = await serve({ listen: [six('tcp')] })
    const socket = open(portOf('tcp'), '::1')
    socket.write(options('v6', 'TCP', [], '[2001:db8::1]'))
    expect(await text(socket, /\r\n\r\n/)).toContain('Via: SIP/2.0/TCP [2001:db8::1]:9;branch=z9hG4bKv6;received=::1;')
  })

  it('shares a port with IPv4', async () => {
    const { app, rig } = await serve({
      listen: [
        { protocol: 'udp', host: '0.0.0.0', port: 0 },
        { protocol: 'udp', host: '::', port: 0 },
      ],
    })
    expect(rig.server.bound()).toHaveLength(2)
    for (const host of ['127.0.0.1', '::1']) {
      const far = kept(await Far.udp(host))
      const shown = host.includes(':') ? `[${host}]` : host
      void app.createUAC(`sip:bob@${shown}:${far.port}`, { localSdp: SDP }).catch(() => {})
      const invite = await far.next('INVITE')
      expect(headerOf(invite.request, 'Via')).toContain(`UDP ${shown}:`)
      invite.answer('486 Busy Here')
    }
  })
})

describe('connections', () => {
  it('a ping gets its pong (RFC 5626 §3.5.1), before, between and amid messages', async () => {
    const { rig } = await serve()
    const socket = open(rig.tcpPort)
    socket.write('\r\n\r\n')
    expect(await text(socket, /\r\n$/)).toBe('\r\n')
    const whole = options('ping')
    socket.write(whole.slice(0, 40))
    socket.write(`${whole.slice(40)}\r\n\r\n`)
    // The pong comes at once, the answer when the application has given it.
    expect(await text(socket, /^\r\nSIP.*\r\n\r\n$/s)).toMatch(/^\r\nSIP\/2\.0 200 /)
  })

  it('share a connection per destination', async () => {
    const { app } = await serve()
    const far = kept(await Far.tcp())
    for (let i = 0; i < 3; i++) {
      const asking = app.request(`sip:bob@127.0.0.1:${far.port};transport=tcp`, { method: 'OPTIONS' })
      ;(await far.next('OPTIONS')).answer('200 OK')
      await asking
    }
    expect(far.connections).toBe(1)
  })

  it('limits connections per address and in all', async () => {
    const { rig } = await serve({ limits: { perAddress: 2 } })
    const first = [open(rig.tcpPort), open(rig.tcpPort)]
    await Promise.all(first.map(socket => once(socket, 'connect')))
    first[1]!.write(options('second'))
    await text(first[1]!, /200/)
    await closed(open(rig.tcpPort))
    first[0]!.destroy()
    // Its place is free again as soon as the server has seen it go.
    for (let seen = ''; !seen.includes('200'); ) {
      const again = open(rig.tcpPort)
      again.write(options('third'))
      seen = await Promise.race([text(again, /200/), closed(again).then(() => '')])
    }
  })

  it('closes silent, stalled and idle connections', async () => {
    const { rig } = await serve({ limits: { unprovenMs: 50, partialMs: 50, idleMs: 150 } })
    await closed(open(rig.tcpPort).resume())
    const half = open(rig.tcpPort)
    half.write(options('whole'))
    await text(half, /200/)
    half.write('OPTIONS sip:x SIP/2.0\r\nVia')
    const dribble = setInterval(() => half.write('a'), 10)
    await closed(half.resume())
    clearInterval(dribble)
    const idle = open(rig.tcpPort)
    idle.write(options('idle'))
    await text(idle, /200/)
    await closed(idle.resume())
  })

  it('a response finds its way when the connection of its request is gone (§18.2.2)', async () => {
    const { rig, app } = await serve()
    const far = kept(await Far.tcp())
    let answer = (): void => {}
    const asked = new Promise<void>(resolve => {
      app.use('message', (_req, res) => {
        answer = () => res.send(202)
        resolve()
      })
    })
    const socket = open(rig.tcpPort)
    socket.write(options('gone').replaceAll('OPTIONS', 'MESSAGE').replace(':9;', `:${far.port};`))
    await asked
    const back = new Promise<string>(resolve => {
      far.onResponse = message => resolve(String(message.status))
    })
    socket.destroy()
    await closed(socket)
    // The server notices the close later; until then it responds on the dead connection.
    while (rig.server.stats().connections > 0) await new Promise(resolve => setImmediate(resolve))
    answer()
    expect(await back).toBe('202')
  })
})

describe('framing', () => {
  const lost: [string, string][] = [
    ['two lengths', options('x', 'TCP', ['Content-Length: 5'])],
    ['a length that is no number', options('x').replace('Length: 0', 'Length: -1')],
    ['a length in hex', options('x').replace('Length: 0', 'Length: 0x10')],
    ['a length of gigabytes', options('x').replace('Length: 0', 'Length: 999999999')],
    ['an endless header', `OPTIONS sip:x SIP/2.0\r\nX: ${'a'.repeat(70_000)}`],
    ['a length too small, so that the rest is taken for a message', `${options('x')}v=0\r\no=-\r\n\r\n`],
    ['another protocol', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'a smuggled length behind a bare line feed',
      `${options('x').replace('CSeq', 'X: y\nContent-Length: 99\r\nCSeq')}x\r\n\r\n`,
    ],
  ]
  it.each(lost)('closes only the connection that sends %s', async (_name, bytes) => {
    const { rig } = await serve()
    const other = open(rig.tcpPort)
    const bad = open(rig.tcpPort)
    bad.write(bytes)
    await closed(bad.resume())
    other.write(options('other'))
    expect(await text(other, /\r\n\r\n/)).toMatch(/^SIP\/2\.0 200 /)
    expect(rig.server.stats().faults).toBe(0)
  })

  it('closes at an excessive Content-Length', async () => {
    const { rig } = await serve({ limits: { partialMs: 50 } })
    const bad = open(rig.tcpPort)
    bad.write(options('x').replace('Length: 0', 'Length: 1000'))
    await closed(bad.resume())
  })
})
