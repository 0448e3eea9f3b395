/**
 * Encryption of a trunk's calls: offers, answers and calls that it rejects; and with baresip, the packets on the wire.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { concatPcm } from '../../../media/audio/frames.ts'
import { decodeG711 } from '../../../media/audio/g711.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { Leg, LegSink } from '../../../media/ports/leg.ts'
import { dtlsIdentity } from '../../../media/rtp/dtls-crypto.ts'
import { selfSigned } from '../../../sip/server/self-signed.ts'
import { shareOf, tone } from '../../media/audio/sound.ts'
import { lacks } from '../../support/needs.ts'
import type { Stack } from '../../support/stack.ts'
import { type Baresip, startBaresip } from '../../support/stack-baresip.ts'
import { wavOf } from '../../support/stack-speech.ts'
import { type Tap, tapRtp } from '../../support/stack-wire.ts'
import { hearsNow, ofBaresip } from '../../support/wav-tail.ts'
import { until } from '../../support/world.ts'
import { Caller, type Peer, reply } from '../peer.ts'
import { Bench, type FarMedia, trunkPlan } from './bench.ts'
import { eachWithPeer } from './peer-bench.ts'

type Srtp = TrunkPlan['srtp']
const SDP_TYPE = 'Content-Type: application/sdp'

describe('a trunk', () => {
  let bench: Bench
  let peer: Peer
  let far: FarMedia
  eachWithPeer(opened => {
    ;({ bench, peer, far } = opened)
  })

  const KEY = 'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj'
  const secured = (lines = [KEY]) => far.sdp(lines).replace('RTP/AVP', 'RTP/SAVP')
  const accept = (invite: Parameters<typeof reply>[1], body: string) =>
    reply(peer, invite, '200 OK', [`Contact: <sip:far@127.0.0.1:${peer.port}>`, SDP_TYPE], body)
  const call = (srtp: Srtp, body: string) => {
    bench.setTrunks(trunkPlan(peer, { srtp }))
    const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
    caller.invite(body)
    return caller
  }

  it.each<[string, Srtp, () => string, number]>([
    ['required, plain', 'required', () => far.sdp(), 488],
    ['required, a key of garbage', 'required', () => secured([KEY.replace('d0Rm', '!!!!')]), 488],
    ['required, no key', 'required', () => secured([]), 488],
    ['off, encrypted', 'off', () => secured(), 488],
    ['optional, no key for its profile', 'optional', () => secured([]), 488],
    ['required, encrypted', 'required', () => secured(), 200],
    ['optional, encrypted', 'optional', () => secured(), 200],
    ['optional, plain', 'optional', () => far.sdp(), 200],
    ['optional, plain with keys', 'optional', () => far.sdp([KEY]), 200],
  ])('answers a call that comes in: %s', async (_name, srtp, body, status) => {
    const caller = call(srtp, body())
    if (status !== 200) {
      await caller.answered(status)
      caller.ack(true)
      return
    }
    const leg = await (await bench.offer()).answer()
    const answer = (await caller.answered()).body.toString()
    expect(/^m=audio \d+ (\S+)/m.exec(answer)![1]).toBe(/^m=audio \d+ (\S+)/m.exec(body())![1])
    expect(/^a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:/m.test(answer)).toBe(body().includes('crypto'))
    expect(leg).not.toBeNull()
  })

  it.each<[string, Srtp, () => string, string | null]>([
    ['required, plain', 'required', () => far.sdp(), 'encryption_failed'],
    ['required, keys of garbage', 'required', () => secured([KEY.replace('d0Rm', '!!!!')]), 'encryption_failed'],
    ['optional, plain', 'optional', () => far.sdp(), null],
    ['required, encrypted', 'required', () => secured(), null],
  ])('takes the answer to a call that goes out, or ends it: %s', async (_name, srtp, body, reason) => {
    const { result } = bench.dial(peer, { srtp })
    const invite = await peer.request('INVITE')
    expect(invite.body.toString()).toContain(srtp === 'required' ? ' RTP/SAVP ' : ' RTP/AVP ')
    accept(invite, body())
    const outcome = await result
    if (reason === null) expect(outcome.ok).toBe(true)
    else expect(outcome).toMatchObject({ ok: false, failure: { reason } })
    await peer.request('ACK')
    if (reason !== null) reply(peer, await peer.request('BYE'), '200 OK')
  })

  it('that would like encryption offers it as a choice, and when that is refused, for sure; then it is over', async () => {
    const { result } = bench.dial(peer, { srtp: 'optional' })
    for (const profile of ['RTP/AVP', 'RTP/SAVP']) {
      const invite = await peer.request('INVITE')
      expect(invite.body.toString()).toContain(` ${profile} `)
      expect(invite.body.toString()).toMatch(/^a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:/m)
      reply(peer, invite, '488 Not Acceptable Here')
      await peer.request('ACK')
    }
    expect(await result).toEqual({ ok: false, failure: { status: 'failed', reason: 'no_common_codec', sipCode: 488 } })
  })

  it('refuses a re-INVITE that would end the encryption, and the call goes on', async () => {
    const caller = call('required', secured())
    const leg = await (await bench.offer()).answer()
    await caller.answered()
    caller.ack()
    caller.invite(far.sdp())
    await caller.answered(488)
    caller.ack(true)
    caller.invite(secured([KEY.replace('d0Rm', 'AAAA')]))
    const again = (await caller.answered()).body.toString()
    expect(again).toContain('a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:')
    expect(leg).not.toBeNull()
  })

  it('ends a call whose caller leaves the offer to us and then answers it in the clear', async () => {
    const caller = call('required', '')
    const leg = await (await bench.offer()).answer()
    expect((await caller.answered()).body.toString()).toContain(' RTP/SAVP ')
    peer.send(caller.head('ACK', { extra: [SDP_TYPE] }), far.sdp())
    expect(await leg!.ended).toEqual({ by: 'local', reason: 'encryption_failed' })
  })

  it('ends a call by DTLS whose handshake fails, and tells why without a key in any line of the log', async () => {
    const other = dtlsIdentity(selfSigned(Date.now()))
    const lines = ['a=setup:passive', `a=fingerprint:sha-256 ${other.fingerprint}`, 'a=rtcp-mux']
    const caller = call('required', far.sdp(lines).replace('RTP/AVP', 'UDP/TLS/RTP/SAVP'))
    const leg = await (await bench.offer()).answer()
    await caller.answered()
    caller.ack()
    // A fatal alert in answer to our hello (RFC 5246 §7.2).
    await far.heard(1)
    const alert = Buffer.from('15fefd000000000000000000020228', 'hex')
    far.answer(alert)
    expect(await leg!.ended).toEqual({ by: 'network', reason: 'encryption_failed' })
    expect(bench.log.lines.join()).toContain('the far end aborted the DTLS handshake (alert 40)')
    expect(bench.log.lines.join()).not.toMatch(/inline:|d0Rm/)
  })
})

const RATE = 8000
const TONE_HZ = 700
const THEIR_HZ = 440

/** Sends a tone, and keeps the last half second of received audio. */
class Whistler implements LegSink {
  heard = new Int16Array(RATE / 2)
  #at = 0
  pull(): Int16Array {
    return Int16Array.from({ length: 160 }, () => 8000 * Math.sin((2 * Math.PI * TONE_HZ * this.#at++) / RATE))
  }
  push({ pcm }: { pcm: Int16Array }): void {
    this.heard.copyWithin(0, pcm.length)
    this.heard.set(pcm, this.heard.length - pcm.length)
  }
  dtmf(): void {}
}

describe.skipIf(lacks('baresip', 'tcpdump'))('baresip', () => {
  let bench: Bench
  let tap: Tap
  const closers: (() => unknown)[] = []
  const folder = mkdtempSync(join(tmpdir(), 'parley-srtp-'))
  const place = {
    folder,
    rtp: { min: 34_000, max: 52_020 },
    keep: () => {},
    onStop: (run: () => unknown) => closers.push(run),
  }
  beforeAll(async () => {
    bench = await Bench.start()
    tap = await tapRtp(place as unknown as Stack)
  })
  afterAll(async () => {
    await bench?.close()
    await Promise.all(closers.map(close => close()))
    rmSync(folder, { recursive: true, force: true })
  })

  const modules = ['srtp', 'dtls_srtp', 'sndfile'].map(name => `module ${name}.so`)
  /** Sends a tone, and writes received audio to files: the echo module of baresip 1.0 often fails to start. */
  async function phone(mediaenc: string | null, more: string[] = []): Promise<{ baresip: Baresip; dumps: string }> {
    const account = mediaenc === null ? '' : `;mediaenc=${mediaenc}`
    const dumps = mkdtempSync(join(folder, 'heard-'))
    const said = join(dumps, 'says.wav')
    wavOf(said, tone(THEIR_HZ, RATE, RATE * 30))
    const sound = [`snd_path ${dumps}`, `audio_source aufile,${said}`]
    const baresip = await startBaresip(place, '+12025550199', 'PCMU', {
      config: [...modules, ...sound, ...more],
      account,
    })
    return { baresip, dumps }
  }

  async function connected(from: 'us' | 'them', baresip: Baresip, srtp: Srtp): Promise<Leg> {
    if (from === 'us') {
      const { result } = bench.dial(baresip as unknown as Peer, { srtp })
      await baresip.wait('CALL_INCOMING')
      await baresip.command('accept')
      const outcome = await result
      if (!outcome.ok) throw new Error(`${outcome.failure.reason}\n${baresip.output.join('\n')}`)
      return outcome.leg
    }
    bench.setTrunks(trunkPlan(baresip, { srtp }))
    await baresip.command('dial', `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
    const leg = await (await bench.offer()).answer()
    if (leg === null) throw new Error('no leg')
    return leg
  }

  /** Share of the tone in the packets of each direction, as an eavesdropper decodes them. */
  const wireOf = (baresip: Baresip) => {
    const ways = [
      { packets: tap.packets({ to: baresip.isMedia }), hz: TONE_HZ },
      { packets: tap.packets({ from: baresip.isMedia }), hz: THEIR_HZ },
    ]
    return ways.map(({ packets, hz }) => {
      const sound = packets.slice(-25).map(({ payload }) => decodeG711('PCMU', payload.subarray(0, 160)))
      return shareOf(hz, concatPcm(sound), RATE)
    })
  }

  it.each<['us' | 'them', string | null, Srtp, 'none' | 'encrypted', string[]]>([
    ['us', null, 'optional', 'none', []],
    ['them', null, 'optional', 'none', []],
    ['us', 'srtp', 'optional', 'encrypted', []],
    ['them', 'srtp', 'optional', 'encrypted', []],
    ['us', 'srtp-mand', 'required', 'encrypted', []],
    ['them', 'srtp-mand', 'required', 'encrypted', []],
    ['them', 'srtp-mandf', 'required', 'encrypted', []],
    ['us', 'dtls_srtp', 'required', 'encrypted', []],
    ['us', 'dtls_srtp', 'optional', 'encrypted', ['rtcp_mux yes']],
    ['them', 'dtls_srtp', 'required', 'encrypted', []],
    ['them', 'dtls_srtp', 'optional', 'encrypted', ['rtcp_mux yes']],
  ])(
    'is called by %s with mediaenc=%s, srtp %s: sound both ways, %s on the wire (%s)',
    { timeout: 180_000 },
    async (from, mediaenc, srtp, wire, more) => {
      const { baresip, dumps } = await phone(mediaenc, more)
      const leg = await connected(from, baresip, srtp)
      const whistler = new Whistler()
      leg.attach(whistler)
      try {
        await until(() => shareOf(THEIR_HZ, whistler.heard, RATE) > 0.9, 'their tone', 5000)
        await hearsNow(dumps, ofBaresip, TONE_HZ)
        const tones = wireOf(baresip)
        if (wire === 'none') for (const tone of tones) expect(tone).toBeGreaterThan(0.5)
        else for (const tone of tones) expect(tone).toBeLessThan(0.05)
      } catch (error) {
        throw new Error(
          `${(error as Error).message}\n${baresip.output.join('\n')}\n${bench.log.lines.slice(-5).join('\n')}`,
        )
      } finally {
        await leg.hangup('agent_hangup')
      }
    },
  )
})
