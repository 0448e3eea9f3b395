/**
 * A call over IPv6, signalling and audio, through two whole edges; and one whose RTP socket accepts both IP versions.
 */
import { afterEach, expect, it } from 'vitest'
import { concatPcm, rms } from '../../../media/audio/frames.ts'
import type { AudioFrame, Leg } from '../../../media/ports/leg.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { openRtp } from '../../../media/rtp/session.ts'
import { shareOf, tone } from '../../media/audio/sound.ts'
import { quietLog, until } from '../../support/world.ts'
import { Bench, clock, trunkPlan } from './bench.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function benchOn(host: string, rtpHost = host): Promise<Bench> {
  const pacer = createPacer(clock)
  const open = () => openRtp({ host: rtpHost, ports: { min: 0, max: 0 }, clock, pacer, log: quietLog })
  const listen = [
    { protocol: 'udp' as const, host, port: 0 },
    { protocol: 'tcp' as const, host, port: 0 },
  ]
  const bench = await Bench.start({ listen }, { media: { open, advertise: null } })
  closers.push(() => bench.close())
  return bench
}

function attach(leg: Leg, hz: number): { hears(hz: number): boolean } {
  const frames: AudioFrame[] = []
  const rate = leg.sampleRate
  let at = 0
  leg.attach({
    pull() {
      at += rate / 50
      return tone(hz, rate, rate / 50, 8000, at)
    },
    push: frame => frames.push(frame),
    dtmf: () => {},
  })
  return {
    hears(other) {
      const pcm = concatPcm(frames.slice(-25).map(frame => frame.pcm))
      return frames.length >= 25 && rms(pcm) > 1000 && shareOf(other, pcm, rate) > 0.95
    },
  }
}

it.each([
  ['::1', '::1'],
  ['::1', '::'],
  ['127.0.0.1', '::'],
])('over %s, with sound bound to %s, both hear each other', async (host, rtpHost) => {
  const [near, far] = [await benchOn(host, rtpHost), await benchOn(host, rtpHost)]
  far.setTrunks(trunkPlan({ port: 5060 }, { host, allowed_ips: [host], codecs: ['G722', 'PCMU'] }))
  const { result } = near.dial({ port: far.rig.udpPort } as never, { host, codecs: ['G722', 'PCMU'] })
  const offer = await far.offer()
  expect(offer.source).toBe(host)
  const answered = await offer.answer()
  const dialed = await result
  if (!dialed.ok || !answered) throw new Error(dialed.ok ? 'no leg' : dialed.failure.reason)
  const [a, b] = [attach(dialed.leg, 440), attach(answered, 650)]
  await until(() => a.hears(650) && b.hears(440), 'both tones')
  await dialed.leg.hangup('agent_hangup')
  expect((await answered.ended).reason).toBe('caller_hangup')
  expect(answered.stats()).toMatchObject({ codec: 'G722', packets_lost: 0 })
})
