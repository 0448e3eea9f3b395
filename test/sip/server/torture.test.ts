/** Every message of RFC 4475 and RFC 5118 to a live server: each gets the response that the RFC requires. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SipResponse } from '../../../sip/text/message.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { Caller, type Peer } from '../peer.ts'
import { Rig, type SrfRequest } from '../rig.ts'
import { TORTURE } from './torture-messages.ts'

/** Status that only the application sends, never the server. */
const TAKEN = 204
const TAKEN_INVITE = 410

// A new server for each message: many share a branch, and would be treated as retransmissions.
let rig: Rig
let asked: SrfRequest[] = []

beforeEach(async () => {
  rig = await Rig.start()
  const app = await rig.app()
  for (const method of ['options', 'register', 'message'])
    app.use(method, (req, res) => {
      asked.push(req)
      res.send(TAKEN)
    })
  app.invite((req, res) => {
    asked.push(req)
    res.send(TAKEN_INVITE)
  })
})
afterEach(() => rig.close())

const firstFinal = (peer: Peer): Promise<SipResponse> =>
  peer.next((message): message is SipResponse => message.kind === 'response' && message.status >= 200)

it('there are 49 messages of RFC 4475 and 10 of RFC 5118', () => {
  expect(TORTURE.filter(({ name }) => name.startsWith('3.'))).toHaveLength(49)
  expect(TORTURE.filter(({ name }) => name.startsWith('RFC 5118'))).toHaveLength(10)
})

it.each(TORTURE.map(one => [one.name, one] as const))('%s', async (_name, { head, body = '', behind = '', want }) => {
  asked = []
  const peer = await rig.udpPeer()
  peer.raw(Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}${behind}`, 'latin1'))
  if (want === 'silence') {
    const probe = new Caller(peer, `sip:x@127.0.0.1:${rig.udpPort}`)
    probe.request('OPTIONS')
    expect(headerOf(await firstFinal(peer), 'Call-ID')).toBe(probe.callId)
    return
  }
  const response = await firstFinal(peer)
  const byApp = /^(OPTIONS|REGISTER|MESSAGE)/.test(head[0]!) ? TAKEN : TAKEN_INVITE
  expect(response.status).toBe(want === 'app' ? byApp : want)
  expect(asked).toHaveLength(want === 'app' ? 1 : 0)
  // Whatever comes to the application has its body whole.
  if (want === 'app' && body !== '') expect(Buffer.byteLength(asked[0]!.body)).toBeGreaterThanOrEqual(body.length)
  if (want === 420) expect(headerOf(response, 'Unsupported')).toBe('nothingSupportsThis, nothingSupportsThisEither')
  if (want === 501) expect(headerOf(response, 'Allow')).toContain('INVITE')
  expect(rig.server.counters.faults).toBe(0)
})
