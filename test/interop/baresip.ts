/**
 * baresip as a peer: it sends a tone, and writes received audio to files. Its echo module is not used, because it often
 * fails to start.
 */

import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CodecName, TrunkPlan } from '../../media/contract/plan.ts'
import { tone } from '../media/audio/sound.ts'
import { type Baresip, type BaresipExtras, startBaresip } from '../support/stack-baresip.ts'
import { wavOf } from '../support/stack-speech.ts'
import { hearsNow, ofBaresip } from '../support/wav-tail.ts'
import { until } from '../support/world.ts'
import { type Line, OUR_NUMBER, pair, THEIR_NUMBER, type Transport } from './line.ts'
import type { Phone } from './phone.ts'

export interface BaresipOptions {
  transport?: Transport
  codec?: CodecName
  /** Settings of the trunk that leads to it. */
  trunk?: Partial<TrunkPlan>
  extras?: BaresipExtras
  /** Its address of record, instead of its number where it is. */
  aor?: string
  /** URI that it calls; our number at our server by default. */
  calls?: string
}

const SAID_HZ = 440
const SAID_SECONDS = 40

export interface BaresipPhone extends Phone {
  baresip: Baresip
}

export async function baresipPhone(line: Line, options: BaresipOptions = {}): Promise<BaresipPhone> {
  const { transport = 'udp', codec = 'PCMU', trunk = {}, extras = {} } = options
  let child: ChildProcess | null = null
  const dumps = join(line.folder, `heard-${randomUUID()}`)
  mkdirSync(dumps)
  const said = join(line.folder, 'says.wav')
  if (!existsSync(said)) wavOf(said, tone(SAID_HZ, 8000, 8000 * SAID_SECONDS))
  const certificate = join(line.folder, 'baresip.pem')
  writeFileSync(certificate, `${pair.cert}${pair.key}`)
  const place = {
    folder: line.folder,
    onStop: (run: () => unknown) => line.onStop(run),
    keep(started: ChildProcess) {
      child = started
      line.keep(started)
    },
  }
  const account = `${transport === 'udp' ? '' : `;transport=${transport}`}${extras.account ?? ''}`
  const baresip = await startBaresip(place, THEIR_NUMBER, codec, {
    ...extras,
    ...(options.aor === undefined ? {} : { aor: options.aor }),
    config: [
      'module sndfile.so',
      `snd_path ${dumps}`,
      `audio_source aufile,${said}`,
      `sip_certificate ${certificate}`,
      ...(extras.config ?? []),
    ],
    account,
  })
  const { command, events } = baresip
  const idle = async (): Promise<boolean> => /Active calls \(0\)/.test(await command('listcalls'))
  let begun = 0
  /** Events of calls before this one are of no interest. */
  const begin = (): void => {
    begun = events.length
  }
  return {
    baresip,
    hz: SAID_HZ,
    hears: hz => hearsNow(dumps, ofBaresip, hz),
    // baresip speaks TLS one port on.
    trunk: { port: transport === 'tls' ? baresip.port + 1 : baresip.port, transport, codecs: [codec], ...trunk },
    async dial() {
      begin()
      await command('dial', options.calls ?? line.uri(transport, OUR_NUMBER))
    },
    async rings() {
      begin()
      await until(async () => /INCOMING/.test(await command('listcalls')), 'a call to come')
    },
    accept: () => command('accept'),
    hangup: () => command('hangup'),
    hold: () => command('hold'),
    resume: () => command('resume'),
    reinvite: () => command('reinvite'),
    async press(keys) {
      for (const key of keys) await command('sndcode', key)
    },
    pressed: () =>
      events
        .slice(begun)
        .filter(({ type }) => type === 'CALL_DTMF_START')
        .map(({ param }) => param)
        .join(''),
    over: () => until(idle, 'its calls to end'),
    async reset() {
      for (let tries = 0; tries < 5 && !(await idle()); tries++) await command('hangup')
    },
    freeze() {
      child?.kill('SIGSTOP')
      return () => void child?.kill('SIGCONT')
    },
    output: () =>
      baresip.output
        .filter(line => line.trim() !== '' && !line.includes('bit/s'))
        .slice(-40)
        .join('\n'),
  }
}
