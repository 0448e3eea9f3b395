/** Early media of the second leg that the caller hears before the answer. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SipRequest } from '../../../sip/text/message.ts'
import { type Peer, reply } from '../peer.ts'
import { asked } from './asking.ts'
import { audioPort, Bench } from './bench.ts'
import { FarSound } from './tone-endpoint.ts'

const EARLY_HZ = 1800
const TARGET_HZ = 1400
/** Frequency of the scripted voice. */
const AGENT_HZ = 1000
/** Frequency of the German ringback tone. */
const RINGING_HZ = 425
const SDP_TYPE = 'Content-Type: application/sdp'

let bench: Bench
let peer: Peer
let callerSound: FarSound
let targetSound: FarSound
beforeEach(async () => {
  bench = await Bench.start()
  peer = await bench.rig.udpPeer()
  callerSound = await FarSound.open('PCMU')
  targetSound = await FarSound.open('PCMA')
})
afterEach(async () => {
  await bench.close()
  callerSound.close()
  targetSound.close()
})

const contact = () => `Contact: <sip:desk@127.0.0.1:${peer.port}>`
const progress = (invite: SipRequest, status = '183 Session Progress') =>
  reply(peer, invite, status, [contact(), SDP_TYPE], targetSound.sdp())
const given = (over: Parameters<typeof asked>[0]['target'] = {}) =>
  asked({ bench, peer, sound: callerSound, trunk: { transfer: 'bridge' }, target: { to: '+4930123456', ...over } })

it('replaces our ringback', async () => {
  const { caller, told } = await given()
  const invite = await peer.request('INVITE')
  reply(peer, invite, '180 Ringing', [contact()])
  await callerSound.hears(RINGING_HZ)
  progress(invite)
  targetSound.say(audioPort(invite.body), EARLY_HZ)
  await callerSound.hears(EARLY_HZ)
  expect(told()).toEqual([{ type: 'transfer.started', name: 'sales', by: 'bridge' }])
  // Said again, with nothing new in it.
  progress(invite, '180 Ringing')
  await callerSound.hears(EARLY_HZ)
  reply(peer, invite, '200 OK', [contact(), SDP_TYPE], targetSound.sdp())
  await peer.request('ACK')
  targetSound.say(audioPort(invite.body), TARGET_HZ)
  await callerSound.hears(TARGET_HZ)
  expect(told().at(-1)).toEqual({ type: 'transfer.settled', name: 'sales', accepted: true })
  caller.request('BYE')
  reply(peer, await peer.request('BYE'), '200 OK')
})

it("carries the network's announcement", async () => {
  const { caller, tts, told, record } = await given()
  const invite = await peer.request('INVITE')
  progress(invite)
  targetSound.say(audioPort(invite.body), EARLY_HZ)
  await callerSound.hears(EARLY_HZ)
  reply(peer, invite, '404 Not Found')
  await callerSound.hears(AGENT_HZ)
  expect(tts.spoken.at(-1)).toBe('They say: Their number does not exist.')
  expect(told().at(-1)).toEqual({ type: 'transfer.settled', name: 'sales', accepted: false })
  const from = callerSound.heard.length
  await callerSound.until(() => callerSound.heard.length > from + 20)
  expect(callerSound.heard.slice(from).filter(hz => Math.abs(hz - EARLY_HZ) < 25)).toEqual([])
  caller.request('BYE')
  expect(await record()).toMatchObject({ ended_reason: 'caller_hangup' })
})

it('is not connected before an announcement', async () => {
  const { caller, record } = await given({ announce: 'Somebody calls.' })
  const invite = await peer.request('INVITE')
  progress(invite)
  targetSound.say(audioPort(invite.body), EARLY_HZ)
  const loud = callerSound.loud
  await callerSound.until(() => callerSound.loud > loud + 40)
  expect(callerSound.heard.filter(hz => Math.abs(hz - EARLY_HZ) < 25)).toEqual([])
  caller.request('BYE')
  reply(peer, await peer.request('CANCEL'), '200 OK')
  reply(peer, invite, '487 Request Terminated')
  expect(await record()).toMatchObject({ ended_reason: 'caller_hangup' })
})
