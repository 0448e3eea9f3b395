/** A foreign phone: baresip, controlled over TCP (netstrings of JSON). */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort, listening } from '../../infra/embedded/ports.ts'
import { concatPcm } from '../../media/audio/frames.ts'
import type { CodecName } from '../../media/contract/plan.ts'
import { ended, HOST, type Stack } from './stack.ts'
import type { Owner } from './stack-owner.ts'
import { silence, wavOf } from './stack-speech.ts'
import { PATIENCE, until } from './world.ts'

export interface BaresipEvent {
  type: string
  param: string
  peeruri: string
}

export interface Baresip {
  port: number
  /** True when an address on the wire is its RTP address. */
  isMedia(end: string): boolean
  events: BaresipEvent[]
  /** Its output, for failed tests. */
  output: string[]
  command(command: string, params?: string): Promise<string>
  wait(type: string, ms?: number, nth?: number): Promise<BaresipEvent>
  /** Plays this on the microphone from now on, followed by silence. */
  speak(pcm: Int16Array): Promise<void>
}

/** Two minutes in ms: baresip ends a call when its microphone file ends. */
const LONG_MS = 120_000

/** Codec names in baresip's syntax, with the sample rate. */
const CODECS: Record<CodecName, { name: string; module: string }> = {
  PCMU: { name: 'PCMU/8000/1', module: 'g711.so' },
  PCMA: { name: 'PCMA/8000/1', module: 'g711.so' },
  G722: { name: 'G722/16000/1', module: 'g722.so' },
  opus: { name: 'opus/48000/2', module: 'opus.so' },
}

/** Options beyond a plain phone. */
export interface BaresipExtras {
  /** Config lines that replace those of the same name; modules are added. */
  config?: string[]
  /** Account parameters, each with its semicolon. */
  account?: string
  /** Its address of record; `user` at its own address by default. */
  aor?: string
}

/**
 * `user` is the number it answers to. It needs several ports, and another process may take one between check and bind;
 * then it exits and is restarted on others.
 */
export async function startBaresip(
  stack: Pick<Stack, 'folder' | 'keep' | 'onStop'>,
  user: string,
  codec: CodecName = 'PCMU',
  extras: BaresipExtras = {},
): Promise<Baresip> {
  for (let tries = 1; ; tries++) {
    const started = await startOnce(stack, user, codec, extras)
    if (!('complaint' in started)) return started
    if (tries === 3) throw new Error(`baresip did not start: ${started.complaint}`)
  }
}

async function startOnce(
  stack: Pick<Stack, 'folder' | 'keep' | 'onStop'>,
  user: string,
  codec: CodecName,
  extras: BaresipExtras,
): Promise<Baresip | { complaint: string }> {
  const port = await freePort(16_000 + randomInt(1900), HOST, true)
  const control = await freePort(14_000 + randomInt(900))
  const media = 34_000 + 20 * randomInt(900)
  const folder = mkdtempSync(join(stack.folder, `baresip-${port}-`))
  const quiet = join(folder, 'quiet.wav')
  wavOf(quiet, silence(LONG_MS))
  const lines = [
    'poll_method epoll',
    `sip_listen ${HOST}:${port}`,
    'call_local_timeout 120',
    'call_max_calls 4',
    'audio_path /usr/share/baresip',
    'audio_player aubridge,nobody',
    `audio_source aufile,${quiet}`,
    'audio_alert aubridge,nobody',
    'ausrc_srate 8000',
    'auplay_srate 8000',
    'ausrc_channels 1',
    'auplay_channels 1',
    'audio_level no',
    `rtp_ports ${media}-${media + 19}`,
    'jitter_buffer_delay 5-10',
    'module_path /usr/lib/baresip/modules',
    `module ${CODECS[codec].module}`,
    'module aufile.so',
    'module aubridge.so',
    'module_tmp uuid.so',
    'module_tmp account.so',
    'module_app menu.so',
    'module_app ctrl_tcp.so',
    `ctrl_tcp_listen ${HOST}:${control}`,
  ]
  const own = extras.config ?? []
  const nameOf = (line: string) => line.split(' ', 1)[0]!
  const isReplaced = (line: string) => nameOf(line) !== 'module' && own.some(other => nameOf(other) === nameOf(line))
  writeFileSync(join(folder, 'config'), `${[...lines.filter(line => !isReplaced(line)), ...own].join('\n')}\n`)
  writeFileSync(join(folder, 'contacts'), '')
  const account = `${extras.account ?? ''}${extras.account?.includes(';regint=') ? '' : ';regint=0'}`
  writeFileSync(
    join(folder, 'accounts'),
    `<${extras.aor ?? `sip:${user}@${HOST}:${port}`}>${account};answermode=manual;audio_codecs=${CODECS[codec].name}\n`,
  )
  const child = spawn('baresip', ['-f', folder, '-4'], { stdio: ['ignore', 'pipe', 'pipe'] })
  stack.keep(child)
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', line => output.push(line))
  const complaint = await new Promise<string | null>((resolve, reject) => {
    child.once('error', error => reject(new Error(`baresip is needed: ${error.message}`)))
    child.once('close', code => resolve(`it ended with ${code}\n${output.join('\n')}`))
    listening(control, HOST, 20_000).then(
      () => resolve(null),
      error => resolve(`${error.message}\n${output.join('\n')}`),
    )
  })
  if (complaint !== null) {
    await ended(child)
    return { complaint }
  }
  const socket = connect(control, HOST)
  stack.onStop(() => {
    socket.destroy()
    return ended(child)
  })
  let spoken = 0
  const link = linkOver(socket)
  return {
    isMedia: end => Number(end.split(':')[1]) >= media && Number(end.split(':')[1]) < media + 20,
    port,
    output,
    events: link.events,
    command: link.command,
    wait: link.wait,
    async speak(pcm) {
      const file = join(folder, `says-${spoken++}.wav`)
      wavOf(file, concatPcm([silence(100), pcm, silence(LONG_MS)]))
      await link.command('ausrc', `aufile,${file}`)
    },
  }
}

function linkOver(socket: Socket): Pick<Baresip, 'events' | 'command' | 'wait'> {
  const events: BaresipEvent[] = []
  const answers = new Map<string, (answer: { ok: boolean; data: string }) => void>()
  const waiting = new Set<() => void>()
  let pending = Buffer.alloc(0)
  let tokens = 0
  socket.on('error', () => {})
  socket.on('data', chunk => {
    pending = Buffer.concat([pending, chunk])
    for (;;) {
      const colon = pending.indexOf(':')
      const length = Number(pending.toString('latin1', 0, colon))
      if (colon < 0 || pending.length < colon + length + 2) return
      const message = JSON.parse(pending.toString('utf8', colon + 1, colon + 1 + length))
      pending = pending.subarray(colon + length + 2)
      if (message.event) {
        events.push({ type: message.type, param: message.param ?? '', peeruri: message.peeruri ?? '' })
        for (const look of [...waiting]) look()
      } else answers.get(message.token)?.(message)
    }
  })
  return {
    events,
    command(command, params = '') {
      const token = String(++tokens)
      const body = JSON.stringify({ command, params, token })
      socket.write(`${Buffer.byteLength(body)}:${body},`)
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`baresip did not answer to ${command}`)), 5000)
        answers.set(token, ({ ok, data }) => {
          clearTimeout(timer)
          answers.delete(token)
          if (ok) resolve(data)
          else reject(new Error(`baresip refused ${command} ${params}: ${data}`))
        })
      })
    },
    wait(type, ms = 20_000, nth = 1) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(
            new Error(
              `waited ${ms * PATIENCE} ms for ${type} of baresip; seen: ${events.map(event => event.type).join(' ')}`,
            ),
          )
        }, ms * PATIENCE)
        const look = () => {
          const found = events.filter(event => event.type === type)[nth - 1]
          if (!found) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      })
    },
  }
}

/** Calls `uri`; resolves to the call of that owner once its agent has spoken. */
export async function greeted(phone: Baresip, owner: Owner, uri: string) {
  await phone.command('dial', uri)
  await phone.wait('CALL_ESTABLISHED')
  const { id } = (await until(() => owner.newest('in'), 'the call'))!
  const call = await owner.follow(id)
  await call.agentSaid(1)
  return { id, call }
}
