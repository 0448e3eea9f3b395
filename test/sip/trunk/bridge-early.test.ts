/** Early media of the second leg that the caller hears before the answer. */
import { expect, it } from 'vitest'
import type { SipRequest } from '../../../sip/text/message.ts'
import { type Peer, reply } from '../peer.ts'
import { asked } from './asking.ts'
import { audioPort, type Bench } from './bench.ts'
import { type BridgeSound, eachWithBridge } from './peer-bench.ts'

const EARLY_HZ = 1800
const TARGET_HZ = 1400
/** Frequency of the scripted voice. */
const AGENT_HZ = 1000
/** Frequency of the German ringback tone. */
const RINGING_HZ = 425
const SDP_TYPE = 'Content-Type: application/sdp'

let bench: Bench
let peer: Peer
let far: BridgeSound
eachWithBridge(opened => {
  ;({ bench, peer, far } = opened)
})

const contact = () => `Contact: <sip:desk@127.0.0.1:${peer.port}>`
const progress = (invite: SipRequest, status = '183 Session Progress') =>
  reply(peer, invite, status, [contact(), SDP_TYPE], far.target.sdp())
const given = (over: Parameters<typeof asked>[0]['target'] = {}) =>
  asked({ bench, peer, sound: far.caller, trunk: { transfer: 'bridge' }, target: { to: '+4930123456', ...over } })

it('replaces our ringback', async () => {
  const { caller, told } = await given()
  const invite = await peer.request('INVITE')
  reply(peer, invite, '180 Ringing', [contact()])
  await far.caller.hears(RINGING_HZ)
  progress(invite)
  far.target.say(audioPort(invite.body), EARLY_HZ)
  await far.caller.hears(EARLY_HZ)
  expect(told()).toEqual([{ type: 'transfer.started', name: 'sales', by: 'bridge' }])
  // Said again, with nothing new in it.
  progress(invite, '180 Ringing')
  await far.caller.hears(EARLY_HZ)
  reply(peer, invite, '200 OK', [contact(), SDP_TYPE], far.target.sdp())
  await peer.request('ACK')
  far.target.say(audioPort(invite.body), TARGET_HZ)
  await far.caller.hears(TARGET_HZ)
  expect(told().at(-1)).toEqual({ type: 'transfer.settled', name: 'sales', accepted: true })
  caller.request('BYE')
  reply(peer, await peer.request('BYE'), '200 OK')
})

it("carries the network's announcement", async () => {
  const { caller, tts, told, record } = await given()
  const invite = await peer.request('INVITE')
  progress(invite)
  far.target.say(audioPort(invite.body), EARLY_HZ)
  await far.caller.hears(EARLY_HZ)
  reply(peer, invite, '404 Not Found')
  await far.caller.hears(AGENT_HZ)
  expect(tts.spoken.at(-1)).toBe('They say: Their number does not exist.')
  expect(told().at(-1)).toEqual({ type: 'transfer.settled', name: 'sales', accepted: false })
  const from = far.caller.heard.length
  await far.caller.until(() => far.caller.heard.length > from + 20)
  expect(far.caller.heard.slice(from).filter(hz => Math.abs(hz - EARLY_HZ) < 25)).toEqual([])
  caller.request('BYE')
  expect(await record()).toMatchObject({ ended_reason: 'caller_hangup' })
})

it('is not connected before an announcement', async () => {
  const { caller, record } = await given({ announce: 'Somebody calls.' })
  const invite = await peer.request('INVITE')
  progress(invite)
  far.target.say(audioPort(invite.body), EARLY_HZ)
  const loud = far.caller.loud
  await far.caller.until(() => far.caller.loud > loud + 40)
  expect(far.caller.heard.filter(hz => Math.abs(hz - EARLY_HZ) < 25)).toEqual([])
  caller.request('BYE')
  reply(peer, await peer.request('CANCEL'), '200 OK')
  reply(peer, invite, '487 Request Terminated')
  expect(await record()).toMatchObject({ ended_reason: 'caller_hangup' })
})
