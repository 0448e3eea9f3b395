/** Nothing is sent to addresses that are not allowed, whichever header names them. */
import { afterEach, expect, it } from 'vitest'
import { examineSignalling } from '../../../infra/doctor/signalling.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { Caller, type Peer, reply, SDP } from '../peer.ts'
import { type App, Rig, SECRET } from '../rig.ts'

let rig: Rig
afterEach(() => rig?.close())

/** Only this peer's address is allowed, beside public ones. */
async function start(): Promise<{ app: App; peer: Peer }> {
  rig = await Rig.start({ privateHosts: ['127.0.0.1/32'], resolver: NAMES })
  return { app: await rig.app(), peer: await rig.udpPeer() }
}
const NAMES = {
  addresses: async (name: string) => (name === 'both.example' ? ['10.9.9.9', '127.0.0.1'] : ['10.9.9.9']),
  srv: async () => [],
  naptr: async () => [],
}

it.each([
  ['Contact', 0, (port: number) => [`Contact: <sip:bob@10.0.0.6:${port}>`]],
  ['Contact by a name', 0, (port: number) => [`Contact: <sip:bob@private.example:${port}>`]],
  ['IPv6 Contact', 0, (port: number) => [`Contact: <sip:bob@[::ffff:10.0.0.6]:${port}>`]],
  [
    'Record-Route',
    2,
    (port: number) => [`Contact: <sip:bob@127.0.0.1:${port}>`, 'Record-Route: <sip:10.0.0.8:5060;lr>'],
  ],
])('a private %s gets no ACK and no BYE: they go to where the answer came from', async (_, blocked, headers) => {
  const { app, peer } = await start()
  const calling = app.createUAC(`sip:bob@127.0.0.1:${peer.port}`, { localSdp: SDP })
  reply(peer, await peer.request('INVITE'), '200 OK', [...headers(peer.port), 'Content-Type: application/sdp'], SDP)
  const dialog = await calling
  await peer.request('ACK')
  const ending = dialog.destroy()
  const bye = await peer.request('BYE')
  expect(headerOf(bye, 'CSeq')).toContain('BYE')
  reply(peer, bye, '200 OK')
  await ending
  // A private Contact is not even looked up.
  expect(rig.server.counters.blocked).toBe(blocked)
})

it('an inbound call with a private Contact is ended over its own source', async () => {
  const { app, peer } = await start()
  const accepted = new Promise<{ destroy(): Promise<unknown> }>(resolve => {
    app.invite((req, res) => void app.createUAS(req, res, { localSdp: SDP }).then(resolve))
  })
  const caller = new Caller(peer, `sip:100@127.0.0.1:${rig.udpPort}`)
  peer.send(
    caller
      .head('INVITE', { cseq: 1, extra: ['Content-Type: application/sdp'] })
      .map(line => (line.startsWith('Contact') ? 'Contact: <sip:caller@192.168.7.7:5060>' : line)),
    SDP,
  )
  await caller.answered()
  caller.ack()
  const ending = (await accepted).destroy()
  reply(peer, await peer.request('BYE'), '200 OK')
  await ending
})

it.each(['sip:bob@10.0.0.1', 'sip:bob@private.example', 'sip:bob@[fd00::1]', 'sip:bob@10.0.0.1;transport=tcp'])(
  'an INVITE to %s fails, and the doctor names its address',
  async uri => {
    const { app } = await start()
    await expect(app.createUAC(uri, { localSdp: SDP })).rejects.toMatchObject({ status: 503 })
    expect(rig.server.counters.blocked).toBe(1)
    const findings = await examineSignalling({ host: '127.0.0.1', port: rig.adminPort, secret: SECRET })
    const refused = findings.find(({ part }) => part === 'Addresses')
    expect(refused).toMatchObject({ status: 'warning', text: expect.stringMatching(/SIP to (10\.|\[fd00::1\])/) })
  },
)

it('of the addresses of a name only those that are allowed are tried', async () => {
  const { app, peer } = await start()
  const calling = app.createUAC(`sip:bob@both.example:${peer.port}`, { localSdp: SDP })
  reply(peer, await peer.request('INVITE'), '486 Busy Here')
  await expect(calling).rejects.toMatchObject({ status: 486 })
})

it('an address of this installation counts as private, although it is a public one', async () => {
  rig = await Rig.start({ privateHosts: 'deny', own: () => new Set(['198.51.100.9', '1.1.1.1']) })
  const app = await rig.app()
  await expect(app.createUAC('sip:bob@1.1.1.1', { localSdp: SDP })).rejects.toMatchObject({ status: 503 })
  expect(rig.server.counters.blocked).toBe(1)
})
