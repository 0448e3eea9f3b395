/** Bridged calls that end on one side: no leg stays open, and the record says why. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EndedReason } from '../../../media/contract/messages.ts'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'
import { type Peer, reply } from '../peer.ts'
import { asked, CALLER_HZ } from './asking.ts'
import { audioPort, Bench } from './bench.ts'
import { FarSound } from './tone-endpoint.ts'

const TARGET_HZ = 1800
const MUSIC_HZ = 1200
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

async function answerTarget(): Promise<SipRequest> {
  const invite = await peer.request('INVITE')
  reply(peer, invite, '200 OK', [contact(), SDP_TYPE], targetSound.sdp())
  await peer.request('ACK')
  targetSound.say(audioPort(invite.body), TARGET_HZ)
  return invite
}

const takeBye = async () => {
  const bye = await peer.request('BYE')
  reply(peer, bye, '200 OK')
  return headerOf(bye, 'Call-ID')
}

describe('joined legs', () => {
  it.each<EndedReason>(['balance_exhausted', 'engine_shutdown', 'api_hangup'])(
    'are both ended by %s, with that reason and billed until then',
    async reason => {
      const { call, caller, record } = await asked({ bench, peer, sound: callerSound, trunk: { transfer: 'bridge' } })
      const invite = await answerTarget()
      await Promise.all([callerSound.hears(TARGET_HZ), targetSound.hears(CALLER_HZ)])
      call.end(reason)
      const byes = [await takeBye(), await takeBye()]
      expect(byes.toSorted()).toEqual([caller.callId, headerOf(invite, 'Call-ID')].toSorted())
      const { ended_reason, status, talked_ms, sip_code } = await record()
      expect({ ended_reason, status, sip_code }).toEqual({ ended_reason: reason, status: 'completed', sip_code: null })
      expect(talked_ms).toBeGreaterThan(0)
      await call.done
    },
  )

  it('ended by RTP timeout after the agent had finished', async () => {
    await bench.close()
    bench = await Bench.start({}, { mediaTimeoutMs: 2500 })
    peer = await bench.rig.udpPeer()
    const { record } = await asked({ bench, peer, sound: callerSound, trunk: { transfer: 'bridge' } })
    await answerTarget()
    await callerSound.hears(TARGET_HZ)
    targetSound.stop()
    // The target's BYE, which is not answered, and the caller's.
    await takeBye()
    await takeBye()
    expect(await record()).toMatchObject({ status: 'completed', ended_reason: 'media_timeout' })
  })

  it('lost with their SIP server are reported as failed', async () => {
    const { record } = await asked({ bench, peer, sound: callerSound, trunk: { transfer: 'bridge' } })
    await answerTarget()
    await callerSound.hears(TARGET_HZ)
    await bench.rig.server.close()
    expect(await record()).toMatchObject({ status: 'failed', ended_reason: 'connection_lost' })
  })
})

describe('end of a call while the target rings', () => {
  it.each<EndedReason>(['engine_shutdown', 'api_hangup'])('by %s cancels the target', async reason => {
    const { call, record } = await asked({ bench, peer, sound: callerSound, trunk: { transfer: 'bridge' } })
    const invite = await peer.request('INVITE')
    reply(peer, invite, '180 Ringing', [contact()])
    call.end(reason)
    const bye = await peer.request('BYE')
    reply(peer, bye, '200 OK')
    const cancel = await peer.request('CANCEL')
    reply(peer, cancel, '200 OK')
    reply(peer, invite, '487 Request Terminated')
    expect(await record()).toMatchObject({ ended_reason: reason })
    await call.done
  })
})

describe('the target', () => {
  it('may hold and resume with music that is not transcribed', async () => {
    const { caller, record } = await asked({ bench, peer, sound: callerSound, trunk: { transfer: 'bridge' } })
    const invite = await answerTarget()
    await callerSound.hears(TARGET_HZ)
    const reinvite = async (seq: number, direction: string) => {
      peer.send(
        [
          `INVITE sip:desk@127.0.0.1:${bench.rig.udpPort} SIP/2.0`,
          `Via: SIP/2.0/UDP 127.0.0.1:${peer.port};branch=z9hG4bK-hold-${seq}`,
          ...['Max-Forwards: 70', `From: ${headerOf(invite, 'To')};tag=peer`, `To: ${headerOf(invite, 'From')}`],
          ...[`Call-ID: ${headerOf(invite, 'Call-ID')}`, `CSeq: ${seq} INVITE`, contact(), SDP_TYPE],
        ],
        targetSound.sdp(true, [`a=${direction}`]),
      )
      const ok = await peer.response(200, 'INVITE')
      peer.send([
        `ACK sip:desk@127.0.0.1:${bench.rig.udpPort} SIP/2.0`,
        `Via: SIP/2.0/UDP 127.0.0.1:${peer.port};branch=z9hG4bK-holdack-${seq}`,
        ...['Max-Forwards: 70', `From: ${headerOf(invite, 'To')};tag=peer`, `To: ${headerOf(invite, 'From')}`],
        ...[`Call-ID: ${headerOf(invite, 'Call-ID')}`, `CSeq: ${seq} ACK`],
      ])
      return String(ok.body)
    }
    expect(await reinvite(20, 'sendonly')).toContain('a=recvonly')
    targetSound.say(audioPort(invite.body), MUSIC_HZ)
    await callerSound.hears(MUSIC_HZ)
    expect(await reinvite(21, 'sendrecv')).toContain('a=sendrecv')
    targetSound.say(audioPort(invite.body), TARGET_HZ)
    await callerSound.hears(TARGET_HZ)
    caller.request('BYE')
    await takeBye()
    expect((await record()).ended_reason).toBe('transferred')
  })
})
