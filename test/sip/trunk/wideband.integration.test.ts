/** Calls with baresip over G.722 and Opus, both ways: its own codecs against ours, judged by the received audio. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { concatPcm, rms } from '../../../media/audio/frames.ts'
import { decodeWav } from '../../../media/audio/wav.ts'
import type { CodecName } from '../../../media/contract/plan.ts'
import type { AudioFrame, Leg, LegSink } from '../../../media/ports/leg.ts'
import { shareOf, tone } from '../../media/audio/sound.ts'
import { needs } from '../../support/needs.ts'
import { type Baresip, startBaresip } from '../../support/stack-baresip.ts'
import { ofBaresip } from '../../support/wav-tail.ts'
import { until } from '../../support/world.ts'
import { Bench, trunkPlan } from './bench.ts'

const { describe, it } = needs('baresip')

const HOST = '127.0.0.1'
const SAID_HZ = 650
const HEARD_HZ = 440

let bench: Bench
const folder = mkdtempSync(join(tmpdir(), 'parley-wideband-'))
const children: ChildProcess[] = []
const closers: (() => unknown)[] = []
beforeAll(async () => {
  bench = await Bench.start()
})
afterAll(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  for (const child of children) child.kill('SIGKILL')
  await bench?.close()
  rmSync(folder, { recursive: true, force: true })
})

const home = {
  folder,
  keep: (child: ChildProcess) => void children.push(child),
  onStop: (close: () => unknown) => void closers.push(close),
}

/** The agent's side: sends a tone, and records received audio. */
class Sound implements LegSink {
  readonly frames: AudioFrame[] = []
  readonly keys: string[] = []
  readonly #rate: number
  #at = 0

  constructor(rate: number) {
    this.#rate = rate
  }
  pull(): Int16Array {
    const samples = this.#rate / 50
    this.#at += samples
    return tone(SAID_HZ, this.#rate, samples, 8000, this.#at - samples)
  }
  push(frame: AudioFrame): void {
    this.frames.push(frame)
  }
  dtmf(digit: string): void {
    this.keys.push(digit)
  }
  /** A second of the tone, just now. */
  hears(hz: number): boolean {
    const pcm = concatPcm(this.frames.slice(-50).map(frame => frame.pcm))
    return this.frames.length > 50 && rms(pcm) > 1000 && shareOf(hz, pcm, this.#rate) > 0.95
  }
}

async function phoneOf(
  codec: CodecName,
  user: string,
): Promise<{ phone: Baresip; heard(): Int16Array; rate(): number }> {
  const dumps = mkdtempSync(join(folder, 'dump-'))
  const phone = await startBaresip(home, user, codec, { config: ['module sndfile.so', `snd_path ${dumps}`] })
  const decoded = () => {
    const file = readdirSync(dumps).find(ofBaresip)
    return file ? readFileSync(join(dumps, file)) : null
  }
  const wav = () => decodeWav(decoded()!)
  return {
    phone,
    rate: () => wav().sampleRate,
    /** Audio that its own codec decoded from our packets; call it after the call, when the file is complete. */
    heard() {
      const { pcm, channels } = wav()
      return pcm.filter((_, i) => i % channels === 0)
    },
  }
}

async function talk(codec: CodecName, leg: Leg, phone: Baresip): Promise<void> {
  expect(leg.sampleRate).toBe(16_000)
  const sound = new Sound(leg.sampleRate)
  leg.attach(sound)
  await phone.speak(tone(HEARD_HZ, 8000, 8000 * 10))
  await until(() => sound.hears(HEARD_HZ), 'the tone of the phone')
  await until(() => leg.stats().packets_sent > 100, 'two seconds of our tone')
  expect(new Set(sound.frames.map(({ pcm }) => pcm.length))).toEqual(new Set([320]))
  expect(leg.stats()).toMatchObject({ codec, packets_lost: 0, packets_late: 0 })
}

function expectSaid(heard: Int16Array, rate: number): void {
  // The middle: at its ends a call has silence.
  const middle = heard.subarray(Math.floor(heard.length * 0.4), Math.floor(heard.length * 0.8))
  expect(middle.length).toBeGreaterThan(rate / 4)
  expect(rms(middle)).toBeGreaterThan(3000)
  expect(shareOf(SAID_HZ, middle, rate)).toBeGreaterThan(0.9)
}

describe.each(['G722', 'opus'] as const)('baresip over %s', codec => {
  it('calls in, is heard and hears', { timeout: 120_000 }, async () => {
    const { phone, heard, rate } = await phoneOf(codec, `in${codec}`)
    bench.setTrunks(trunkPlan({ port: phone.port }, { codecs: ['PCMA', 'G722', 'opus'] }))
    await phone.command('dial', `sip:+12025550100@${HOST}:${bench.rig.udpPort}`)
    const offer = await bench.offer()
    const leg = (await offer.answer())!
    await phone.wait('CALL_ESTABLISHED')
    await talk(codec, leg, phone)
    await phone.command('hangup')
    await leg.ended
    await until(() => heard().length > 0)
    expectSaid(heard(), rate())
  })

  it('is called, is heard and hears', { timeout: 120_000 }, async () => {
    const { phone, heard, rate } = await phoneOf(codec, '+12025550199')
    const { result } = bench.dial({ port: phone.port } as never, { codecs: ['PCMA', 'G722', 'opus'] })
    await phone.wait('CALL_INCOMING')
    await phone.command('accept')
    const dialed = await result
    if (!dialed.ok) throw new Error(dialed.failure.reason)
    await talk(codec, dialed.leg, phone)
    await dialed.leg.hangup('agent_hangup')
    await phone.wait('CALL_CLOSED')
    await until(() => heard().length > 0)
    expectSaid(heard(), rate())
  })
})
