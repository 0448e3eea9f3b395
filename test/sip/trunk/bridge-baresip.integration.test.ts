/** Calls transferred to an independent phone: baresip. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import { tone } from '../../media/audio/sound.ts'
import { needs } from '../../support/needs.ts'
import type { Stack } from '../../support/stack.ts'
import { type Baresip, startBaresip } from '../../support/stack-baresip.ts'
import { wavOf } from '../../support/stack-speech.ts'
import { hearsNow, ofBaresip } from '../../support/wav-tail.ts'
import { type Peer, reply } from '../peer.ts'
import { asked, CALLER_HZ } from './asking.ts'
import { Bench } from './bench.ts'
import { FarSound } from './tone-endpoint.ts'

const { it } = needs('baresip')

const SAID_HZ = 620
let bench: Bench
let peer: Peer
let sound: FarSound
let phone: Baresip
/** Directory of the audio that it receives. */
let dumps: string
const closers: (() => unknown)[] = []
beforeEach(async () => {
  bench = await Bench.start()
  peer = await bench.rig.udpPeer()
  sound = await FarSound.open('PCMU')
  const folder = mkdtempSync(join(tmpdir(), 'bridge-'))
  const stack: Pick<Stack, 'folder' | 'keep' | 'onStop'> = {
    folder,
    keep: child => void closers.push(() => child.kill('SIGKILL')),
    onStop: stop => void closers.push(stop),
  }
  dumps = mkdtempSync(join(folder, 'heard-'))
  const said = join(folder, 'says.wav')
  wavOf(said, tone(SAID_HZ, 8000, 8000 * 30))
  const config = ['module sndfile.so', `snd_path ${dumps}`, `audio_source aufile,${said}`]
  phone = await startBaresip(stack as Stack, '+12025550199', 'PCMA', { config })
  closers.push(() => rmSync(folder, { recursive: true, force: true }))
})
afterEach(async () => {
  await bench.close()
  sound.close()
  for (const close of closers.splice(0)) await close()
})

const over = () => ({ bench, peer, sound, trunk: { port: phone.port, transfer: 'bridge' } }) as const

it('answers with another codec, audio both ways, and ends the call by hanging up', async () => {
  const { record } = await asked(over())
  await phone.wait('CALL_INCOMING')
  await phone.command('accept')
  await phone.wait('CALL_ESTABLISHED')
  await sound.hears(SAID_HZ)
  await hearsNow(dumps, ofBaresip, CALLER_HZ)
  await phone.command('hangup')
  reply(peer, await peer.request('BYE'), '200 OK')
  expect(await record()).toMatchObject({ status: 'completed', ended_reason: 'transferred' })
})

it('is hung up when the caller leaves', async () => {
  const { caller, record } = await asked(over())
  await phone.wait('CALL_INCOMING')
  await phone.command('accept')
  await phone.wait('CALL_ESTABLISHED')
  caller.request('BYE')
  await phone.wait('CALL_CLOSED')
  expect((await record()).ended_reason).toBe('transferred')
})

it('declines, and the agent speaks again', async () => {
  const { tts, caller, record } = await asked(over())
  await phone.wait('CALL_INCOMING')
  await phone.command('hangup')
  await sound.hears(1000)
  expect(tts.spoken.at(-1)).toMatch(/^They say: Their/)
  caller.request('BYE')
  expect((await record()).ended_reason).toBe('caller_hangup')
})

it('stops ringing when the caller hangs up', async () => {
  const { caller, record } = await asked(over())
  await phone.wait('CALL_INCOMING')
  caller.request('BYE')
  await phone.wait('CALL_CLOSED')
  expect((await record()).ended_reason).toBe('caller_hangup')
})
