/**
 * DTMF with a peer that agreed to no telephone-events: received as tones or INFO, sent as INFO or tones; and audio on
 * hold.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDtmfDetector } from '../../../media/audio/dtmf-detector.ts'
import type { SipLeg } from '../../../sip/trunk/legs/leg.ts'
import { Caller, type Peer, reply } from '../peer.ts'
import { audioPort, Bench, Ear, trunkPlan } from './bench.ts'
import { FarSound } from './tone-endpoint.ts'

let bench: Bench
let peer: Peer
let far: FarSound
beforeEach(async () => {
  bench = await Bench.start()
  peer = await bench.rig.udpPeer()
  far = await FarSound.open('PCMU')
})
afterEach(async () => {
  await bench.close()
  far.close()
})

async function answered({ events = false, allow = 'INVITE, ACK, BYE' } = {}) {
  bench.setTrunks(trunkPlan(peer))
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(far.sdp(events), [`Allow: ${allow}`])
  const leg = (await (await bench.offer()).answer()) as SipLeg
  const ok = await caller.answered()
  caller.ack()
  const ear = new Ear()
  leg.attach(ear)
  return { leg, caller, ear, port: audioPort(ok.body) }
}

const info = (caller: Caller, key: string) =>
  caller.request('INFO', ['Content-Type: application/dtmf-relay'], `Signal=${key}\r\nDuration=100\r\n`)

describe('received DTMF', () => {
  it('detects in-band tones without telephone-event', async () => {
    const { ear, port } = await answered()
    for (const [low, high] of [
      [770, 1336],
      [941, 1477],
    ] as const) {
      far.say(port, low, high)
      await ear.until(() => ear.keys.length > (low === 770 ? 0 : 1))
      far.say(port)
      const until = ear.frames + 6
      await ear.until(() => ear.frames >= until)
    }
    expect(ear.keys).toEqual(['5', '#'])
  })

  it('counts tones and INFO together once', async () => {
    const { ear, port, caller } = await answered()
    far.say(port, 770, 1336)
    await ear.until(() => ear.keys.length > 0)
    info(caller, '5')
    await peer.response(200, 'INFO')
    far.say(port)
    info(caller, '6')
    await ear.until(() => ear.keys.length > 1)
    far.say(port, 697, 1209)
    const until = ear.frames + 10
    await ear.until(() => ear.frames >= until)
    expect(ear.keys).toEqual(['5', '6'])
  })

  it('ignores tones where events were agreed', async () => {
    const { ear, port } = await answered({ events: true })
    far.say(port, 770, 1336)
    await ear.until(() => ear.frames >= 20)
    expect(ear.keys).toEqual([])
  })
})

describe('sent DTMF', () => {
  it('uses telephone-event where agreed', async () => {
    const { leg } = await answered({ events: true, allow: 'INVITE, INFO' })
    await leg.sendDtmf('1#')
    await far.until(() => far.keys.length === 2)
    expect(far.keys).toEqual(['1', '#'])
  })

  it('uses INFO where supported', async () => {
    const { leg } = await answered({ allow: 'INVITE, ACK, info , BYE' })
    const sent = leg.sendDtmf('1#')
    for (const key of '1#') {
      const request = await peer.request('INFO')
      expect(String(request.body)).toContain(`Signal=${key}\r\n`)
      reply(peer, request, '200 OK')
    }
    await sent
  })

  it.each([
    ['refuses INFO after all', 'INVITE, INFO'],
    ['never allowed INFO', 'INVITE'],
  ])('uses tones to a peer that %s, without loss', async (_, allow) => {
    const { leg } = await answered({ allow })
    const detector = createDtmfDetector(8000)
    let keys = ''
    far.listen(pcm => (keys += detector.push(pcm) ?? ''))
    const sent = leg.sendDtmf('19#')
    if (allow.includes('INFO')) reply(peer, await peer.request('INFO'), '415 What')
    await sent
    await far.until(() => keys.length === 3)
    expect(keys).toBe('19#')
  })
})

describe('on hold', () => {
  it.each(['sendonly', 'inactive'])('(%s) transcribes and pulls nothing', async how => {
    const { ear, caller, port } = await answered({ events: true })
    far.say(port, 700)
    await ear.until(() => ear.frames > 5)
    const hold = far.sdp(true, [`a=${how}`])
    caller.request('INVITE', ['Content-Type: application/sdp'], hold)
    await caller.answered()
    caller.ack()
    const before = ear.frames
    const loud = far.loud
    await new Promise(resolve => setTimeout(resolve, 200))
    expect(ear.frames).toBe(before)
    expect(far.loud - loud).toBeLessThanOrEqual(1)
    caller.request('INVITE', ['Content-Type: application/sdp'], far.sdp())
    await caller.answered()
    caller.ack()
    await ear.until(() => ear.frames > before + 5)
  })
})
