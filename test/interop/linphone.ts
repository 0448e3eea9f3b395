/** Linphone's command line as a peer: it plays a tone from a file, and writes received audio to another. */
import { spawn } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../infra/embedded/ports.ts'
import { tone } from '../media/audio/sound.ts'
import { wavOf } from '../support/stack-speech.ts'
import { hearsNow } from '../support/wav-tail.ts'
import { until } from '../support/world.ts'
import type { Line } from './line.ts'
import type { Phone } from './phone.ts'

const SAID_HZ = 440
const SAID_SECONDS = 40
const HOST = '127.0.0.1'

export interface LinphonePhone extends Phone {
  say(command: string): void
  printed(words: RegExp): Promise<void>
}

/** `early`: it answers calls with 183 and early media. */
export async function linphonePhone(line: Line, early = false): Promise<LinphonePhone> {
  const home = join(line.folder, `linphone-${randomUUID()}`)
  mkdirSync(join(home, '.local/share/linphone'), { recursive: true })
  const port = await freePort(16_000 + randomInt(1900), HOST, true)
  const rtp = 52_100 + 20 * randomInt(300)
  const settings = [
    ...['[sip]', `sip_port=${port}`, `sip_tcp_port=0`, 'sip_tls_port=0', `incoming_calls_early_media=${early ? 1 : 0}`],
    ...[
      '[rtp]',
      `audio_rtp_port=${rtp}-${rtp + 19}`,
      '[net]',
      'firewall_policy=0',
      '[misc]',
      'file_transfer_protocol=',
      // Offers video when configured.
      ...['[video]', 'automatically_initiate=0', 'automatically_accept=0'],
    ],
  ]
  writeFileSync(join(home, 'rc'), `${settings.join('\n')}\n`)
  const said = join(line.folder, 'says.wav')
  if (!existsSync(said)) wavOf(said, tone(SAID_HZ, 8000, 8000 * SAID_SECONDS))
  const child = spawn('linphonec', ['-c', join(home, 'rc'), '-C', ...(early ? ['--real-early-media'] : [])], {
    stdio: 'pipe',
    env: { ...process.env, HOME: home },
  })
  line.keep(child)
  let output = ''
  let begun = 0
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', data => {
      output += String(data)
    })
  const say = (command: string): void => void child.stdin.write(`${command}\n`)
  const printed = async (words: RegExp): Promise<void> => {
    await until(() => words.test(output.slice(begun)), `Linphone to say ${words.source}`)
  }
  await printed(/linphonec>/)
  // The rate of what it records is then known.
  for (const command of ['codec disable all', 'codec enable 3', 'soundcard use files', `play ${said}`]) say(command)
  let calls = 0
  /** Earlier output belongs to calls that have ended. */
  const begin = (): void => {
    begun = output.length
    say(`record ${join(home, `heard-${calls++}.wav`)}`)
  }
  begin()
  return {
    say,
    printed,
    hz: SAID_HZ,
    hears: hz => hearsNow(home, name => name.startsWith('heard-'), hz),
    trunk: { port, codecs: ['PCMU'] },
    async dial() {
      begin()
      say(`call ${line.uri('udp')}`)
    },
    async rings() {
      await printed(/incoming call/i)
    },
    async accept() {
      say('answer')
    },
    async hangup() {
      say('terminate all')
    },
    async hold() {
      say('pause')
    },
    async resume() {
      say('resume')
    },
    /** With video, which we decline; so that the next time it does so again. */
    async reinvite() {
      const agreed = (): number => output.slice(begun).split('Media streams established').length
      const before = agreed()
      say('camera on')
      await until(() => agreed() > before, 'Linphone to have its sound agreed anew')
    },
    async press(keys) {
      for (const key of keys) {
        say(key)
        await new Promise(resolve => setTimeout(resolve, 300))
      }
    },
    pressed: () => [...output.slice(begun).matchAll(/Receiving tone (.)/g)].map(([, key]) => key).join(''),
    async over() {
      await printed(/ended/i)
      begin()
    },
    async reset() {
      say('terminate all')
      begin()
    },
    freeze() {
      child.kill('SIGSTOP')
      return () => void child.kill('SIGCONT')
    },
    output: () => output.slice(-3000),
  }
}
