/** Transferred calls: whole calls on a real server, with a scripted carrier. Test tones verify the audio paths. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'
import { type Peer, reply } from '../peer.ts'
import { type Asking, asked as asking, CALLER_HZ } from './asking.ts'
import { audioPort, Bench } from './bench.ts'
import { FarSound } from './tone-endpoint.ts'

const TARGET_HZ = 1800
/** Frequency of the scripted voice. */
const AGENT_HZ = 1000

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
const SDP_TYPE = 'Content-Type: application/sdp'

const asked = (options: Pick<Asking, 'trunk' | 'target'> = {}) =>
  asking({ bench, peer, sound: callerSound, ...options })

const refuse = async (status: string) => reply(peer, await peer.request('REFER'), status)

/** The second leg is answered; gives the port of ours there. */
async function answerTarget(): Promise<{ invite: SipRequest; port: number; bye(): void }> {
  const invite = await peer.request('INVITE')
  reply(peer, invite, '180 Ringing', [contact()])
  reply(peer, invite, '200 OK', [contact(), SDP_TYPE, 'Allow: INVITE, BYE'], targetSound.sdp())
  await peer.request('ACK')
  const port = audioPort(invite.body)
  targetSound.say(port, TARGET_HZ)
  const bye = () =>
    peer.send([
      `BYE sip:desk@127.0.0.1:${bench.rig.udpPort} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${peer.port};branch=z9hG4bK-bye-${port}`,
      ...['Max-Forwards: 70', `From: ${headerOf(invite, 'To')};tag=peer`, `To: ${headerOf(invite, 'From')}`],
      ...[`Call-ID: ${headerOf(invite, 'Call-ID')}`, 'CSeq: 7 BYE'],
    ])
  return { invite, port, bye }
}

const takeBye = async () => {
  const bye = await peer.request('BYE')
  reply(peer, bye, '200 OK')
  return headerOf(bye, 'Call-ID')
}

describe('a call transferred to a phone', () => {
  it.each(['405 Not Here', '501 Not Ever', '603 No'])('bridges when the carrier answers REFER with %s', async line => {
    const { caller, record, told, events } = await asked()
    const refer = await peer.request('REFER')
    expect(headerOf(refer, 'Refer-To')).toContain('+12025550199')
    reply(peer, refer, line)
    const { invite } = await answerTarget()
    expect(headerOf(invite, 'From')).toContain('+12025550100')
    expect(headerOf(invite, 'Diversion')).toMatch(/\+12025550100@.*reason=deflection/)
    await Promise.all([callerSound.hears(TARGET_HZ), targetSound.hears(CALLER_HZ)])
    caller.request('BYE')
    expect(await takeBye()).toBe(headerOf(invite, 'Call-ID'))
    expect(await record()).toMatchObject({ status: 'completed', ended_reason: 'transferred' })
    expect(told()).toEqual([
      { type: 'transfer.started', name: 'sales', by: 'refer' },
      { type: 'transfer.started', name: 'sales', by: 'bridge' },
      { type: 'transfer.settled', name: 'sales', accepted: true },
    ])
    const turns = events.filter(event => event.type === 'turn.finished')
    expect(turns.filter(({ turn }) => turn.role === 'agent')).toHaveLength(1) // the greeting, and no more
  })

  it('ended by the target ends for the caller, too', async () => {
    const { record } = await asked({ trunk: { transfer: 'bridge' } })
    const { bye } = await answerTarget()
    await callerSound.hears(TARGET_HZ)
    bye()
    await peer.response(200, 'BYE')
    await takeBye()
    expect(await record()).toMatchObject({ status: 'completed', ended_reason: 'transferred' })
  })

  it('plays music, then ringing; passes DTMF without transcribing it', async () => {
    const { caller, record } = await asked({ trunk: { transfer: 'bridge' } })
    const invite = await peer.request('INVITE')
    const before = callerSound.loud
    await callerSound.until(() => callerSound.loud > before + 20)
    reply(peer, invite, '180 Ringing', [contact()])
    const loud = callerSound.loud
    await callerSound.until(() => callerSound.loud > loud + 20)
    reply(peer, invite, '200 OK', [contact(), SDP_TYPE], targetSound.sdp())
    await peer.request('ACK')
    targetSound.say(audioPort(invite.body), TARGET_HZ)
    await callerSound.hears(TARGET_HZ)
    caller.request('INFO', ['Content-Type: application/dtmf-relay'], 'Signal=7\r\n')
    await targetSound.until(() => targetSound.keys.length > 0)
    expect(targetSound.keys).toEqual(['7'])
    caller.request('BYE')
    await takeBye()
    expect((await record()).transcript.filter(turn => turn.text === '7')).toEqual([])
  })

  it.each([
    ['486 Busy Here', 'Their line is busy.'],
    ['480 Away', 'They do not answer.'],
    ['603 Decline', 'They declined the call.'],
    ['404 Nobody', 'Their number does not exist.'],
    ['500 Broken', 'They could not be reached.'],
  ])('that is not answered (%s): the agent reports it to the caller', async (line, words) => {
    const { caller, tts, record, told } = await asked({ trunk: { transfer: 'bridge' } })
    reply(peer, await peer.request('INVITE'), line)
    await peer.request('ACK')
    await callerSound.hears(AGENT_HZ)
    expect(tts.spoken.at(-1)).toBe(`They say: ${words}`)
    expect(told().at(-1)).toEqual({ type: 'transfer.settled', name: 'sales', accepted: false })
    caller.request('BYE')
    expect((await record()).ended_reason).toBe('caller_hangup')
  })

  it('is canceled when the caller hangs up during ringing', async () => {
    const { caller, record } = await asked({ trunk: { transfer: 'bridge' } })
    const invite = await peer.request('INVITE')
    reply(peer, invite, '180 Ringing', [contact()])
    caller.request('BYE')
    reply(peer, await peer.request('CANCEL'), '200 OK')
    reply(peer, invite, '487 Terminated')
    expect(await record()).toMatchObject({ ended_reason: 'caller_hangup', tool_calls: [{ status: 'failed' }] })
  })

  it('answered during the hangup is hung up', async () => {
    const { caller, record } = await asked({ trunk: { transfer: 'bridge' } })
    const invite = await peer.request('INVITE')
    reply(peer, invite, '180 Ringing', [contact()])
    caller.request('BYE')
    const cancel = await peer.request('CANCEL')
    reply(peer, invite, '200 OK', [contact(), SDP_TYPE], targetSound.sdp())
    reply(peer, cancel, '200 OK')
    await peer.request('ACK')
    expect(await takeBye()).toBe(headerOf(invite, 'Call-ID'))
    await record()
  })

  it('to a SIP address uses the trunk', async () => {
    const to = 'sip:desk@pbx.example;transport=udp'
    await asked({ trunk: { transfer: 'bridge' }, target: { to } })
    const invite = await peer.request('INVITE')
    expect(invite.uri).toBe(to)
    expect(headerOf(invite, 'To')).toBe(`<${to}>`)
    reply(peer, invite, '486 Busy')
  })
})

describe('an announced transfer', () => {
  const target = { announce: 'A caller for you. {{about}}. Please wait.' }

  it('plays to the target; then the carrier connects both', async () => {
    const { caller, record, tts } = await asked({ target })
    const { invite } = await answerTarget()
    const from = callerSound.heard.length
    await targetSound.hears(AGENT_HZ)
    expect(tts.spoken.at(-1)).toBe('A caller for you. Anna asks for the price. Please wait.')
    expect(callerSound.heard.slice(from).filter(hz => Math.abs(hz - TARGET_HZ) < 25)).toEqual([])
    expect(targetSound.heard.filter(hz => Math.abs(hz - CALLER_HZ) < 25)).toEqual([])
    const refer = await peer.request('REFER')
    expect(headerOf(refer, 'Call-ID')).toBe(caller.callId)
    const [uri, replaces] = /<(.*)\?Replaces=(.*)>/.exec(headerOf(refer, 'Refer-To')!)!.slice(1)
    expect(uri).toBe(`sip:desk@127.0.0.1:${peer.port}`)
    const ours = /tag=([^;]+)/.exec(headerOf(invite, 'From')!)![1]
    expect(decodeURIComponent(replaces!)).toBe(`${headerOf(invite, 'Call-ID')};to-tag=peer;from-tag=${ours}`)
    reply(peer, refer, '202 Accepted')
    caller.request(
      'NOTIFY',
      ['Event: refer', 'Subscription-State: terminated', 'Content-Type: message/sipfrag'],
      'SIP/2.0 200 OK\r\n',
    )
    await peer.response(200, 'NOTIFY')
    const byes = [await takeBye(), await takeBye()]
    expect(byes.toSorted()).toEqual([caller.callId, headerOf(invite, 'Call-ID')].toSorted())
    expect(await record()).toMatchObject({ status: 'completed', ended_reason: 'transferred' })
  })

  it('is bridged where the carrier supports no Replaces', async () => {
    const { caller, record } = await asked({ target: { announce: 'A call.' } })
    const { invite } = await answerTarget()
    await refuse('420 Bad Extension')
    await Promise.all([callerSound.hears(TARGET_HZ), targetSound.hears(CALLER_HZ)])
    caller.request('BYE')
    expect(await takeBye()).toBe(headerOf(invite, 'Call-ID'))
    expect((await record()).ended_reason).toBe('transferred')
  })

  it('returns to the agent when the target hangs up during it', async () => {
    const { caller, tts, record } = await asked({ target })
    const { bye } = await answerTarget()
    await targetSound.hears(AGENT_HZ)
    bye()
    await callerSound.hears(AGENT_HZ)
    expect(tts.spoken.at(-1)).toBe('They say: They hung up before they were connected.')
    caller.request('BYE')
    expect((await record()).ended_reason).toBe('caller_hangup')
  })
})
