/** A foreign SIP peer: sipp with a scenario. Its exit code says whether the messages matched. */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../infra/embedded/ports.ts'
import { ended, HOST, type Stack } from './stack.ts'
import { until } from './world.ts'

export interface Sipp {
  port: number
  mediaPort: number
  /** All SIP messages sent and received so far. */
  messages(): string
  /** Resolves when it ends; rejects when a message differs from the scenario. */
  done: Promise<void>
  stop(): Promise<void>
}

export interface SippOptions {
  /** The number it calls; without one it waits for a call. */
  calls?: string
  /** Its address; another loopback address makes it a stranger. */
  ip?: string
  port?: number
  seconds?: number
  /** Number of calls before it ends. */
  times?: number
  /** Returns the RTP received on its port and on the one two above. */
  echo?: boolean
}

let runs = 0

export const freeSipPort = () => freePort(6000 + randomInt(2500), HOST, true)

/** Media ports that a worker uses in turn; those of two workers do not overlap. */
const MEDIA_PORTS = 340
const firstMediaPort = 15_000 + 4 * MEDIA_PORTS * (Number(process.env['VITEST_POOL_ID'] ?? 1) % 2)
let lastMedia = randomInt(MEDIA_PORTS)

/** An even port (RFC 3550 §11); sipp also binds the one two above, for video. */
async function freeMediaPort(ip: string): Promise<number> {
  for (;;) {
    lastMedia = (lastMedia + 1) % MEDIA_PORTS
    const port = firstMediaPort + 4 * lastMedia
    const [audio, video] = await Promise.all([freePort(port, ip, true), freePort(port + 2, ip, true)])
    if (audio === port && video === port + 2) return port
  }
}

export async function startSipp(
  stack: Pick<Stack, 'folder' | 'keep' | 'sip'>,
  steps: readonly string[],
  options: SippOptions = {},
): Promise<Sipp> {
  const ip = options.ip ?? HOST
  const port = options.port ?? (await freeSipPort())
  const mediaPort = await freeMediaPort(ip)
  const name = join(stack.folder, `sipp-${runs++}`)
  const scenario = `<?xml version="1.0" encoding="ISO-8859-1" ?>\n<scenario name="e2e">\n${steps.join('\n')}\n</scenario>\n`
  writeFileSync(`${name}.xml`, scenario)
  const target = options.calls ? [`${stack.sip.host}:${stack.sip.port}`, '-s', options.calls] : []
  const args = [
    ...[
      ...target,
      '-sf',
      `${name}.xml`,
      '-m',
      String(options.times ?? 1),
      '-i',
      ip,
      '-p',
      String(port),
      '-bind_local',
      '-nostdin',
    ],
    ...['-mi', ip, '-mp', String(mediaPort), '-timeout', `${options.seconds ?? 60}s`, '-timeout_error'],
    ...(options.echo ? ['-rtp_echo'] : []),
    ...['-trace_msg', '-message_file', `${name}.messages`, '-trace_err', '-error_file', `${name}.errors`],
  ]
  const child = spawn('sipp', args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: stack.folder,
    env: { ...process.env, TERM: 'dumb' },
  })
  stack.keep(child)
  const complaints: string[] = []
  child.stderr.on('data', data => complaints.push(String(data)))
  const read = (kind: string) => (existsSync(`${name}.${kind}`) ? readFileSync(`${name}.${kind}`, 'latin1') : '')
  const done = new Promise<void>((resolve, reject) => {
    child.once('error', error => reject(new Error(`sipp is needed: ${error.message}`)))
    child.once('exit', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`sipp ended with ${code ?? signal}: ${complaints.join('')}\n${read('errors')}`))
    })
  })
  done.catch(() => {}) // the error reaches whoever awaits it, if anyone
  // A sipp that exits at once reports the reason.
  if (!options.calls) await Promise.race([until(() => listens(port), 'sipp to listen'), done])
  return { port, mediaPort, done, messages: () => read('messages'), stop: () => ended(child) }
}

/** proc(5): the local port in hexadecimal after the address. */
const listens = (port: number) =>
  readFileSync('/proc/net/udp', 'latin1').includes(`:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000`)

// Parts of scenarios.

export const receive = (method: string, extra = '') => `<recv request="${method}" crlf="true" ${extra}/>`
export const expectAnswer = (status: number, extra = '') => `<recv response="${status}" ${extra}/>`
export const maybeAnswer = (status: number) => expectAnswer(status, 'optional="true"')
export const pause = (ms: number) => `<pause milliseconds="${ms}"/>`
export const play = (file: string) => `<nop><action><exec play_pcap_audio="${file}"/></action></nop>`
const send = (lines: readonly string[], extra = '') => `<send ${extra}><![CDATA[\n\n${lines.join('\n')}\n\n]]></send>`

export const sdp = (
  formats = '8 101',
  extra: readonly string[] = ['a=rtpmap:8 PCMA/8000', 'a=rtpmap:101 telephone-event/8000', 'a=fmtp:101 0-15'],
) => [
  ...['v=0', 'o=sipp 1 1 IN IP4 [media_ip]', 's=-', 'c=IN IP4 [media_ip]', 't=0 0'],
  ...[`m=audio [media_port] RTP/AVP ${formats}`, ...extra],
]

/** An answer to the last received request. */
export function answer(line: string, body: readonly string[] = []): string {
  return send([
    `SIP/2.0 ${line}`,
    ...['[last_Via:]', '[last_From:]', '[last_To:];tag=sipp[pid]', '[last_Call-ID:]', '[last_CSeq:]'],
    'Contact: <sip:sipp@[local_ip]:[local_port]>',
    ...(body.length > 0
      ? ['Content-Type: application/sdp', 'Content-Length: [len]', '', ...body]
      : ['Content-Length: 0', '']),
  ])
}

/** An answer inside a dialog, where To already has its tag. */
export const answerInside = (line: string) =>
  send([
    `SIP/2.0 ${line}`,
    '[last_Via:]',
    '[last_From:]',
    '[last_To:]',
    '[last_Call-ID:]',
    '[last_CSeq:]',
    'Content-Length: 0',
    '',
  ])

export function request(method: string, body: readonly string[] = [], options: { cseq?: number } = {}): string {
  const first = method === 'INVITE'
  return send(
    [
      `${method} ${first ? 'sip:[service]@[remote_ip]:[remote_port]' : '[next_url]'} SIP/2.0`,
      'Via: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]',
      'Max-Forwards: 70',
      'From: <sip:+12125550111@[local_ip]:[local_port]>;tag=[pid]s[call_number]',
      `To: <sip:[service]@[remote_ip]:[remote_port]>${first ? '' : '[peer_tag_param]'}`,
      'Call-ID: [call_id]',
      `CSeq: ${options.cseq ?? 1} ${method}`,
      'Contact: <sip:sipp@[local_ip]:[local_port]>',
      ...(body.length > 0
        ? ['Content-Type: application/sdp', 'Content-Length: [len]', '', ...body]
        : ['Content-Length: 0', '']),
    ],
    method === 'ACK' ? '' : 'retrans="500"',
  )
}

/** The ACK of a refusal belongs to the INVITE's transaction; `back`: number of steps since the INVITE. */
export const acknowledge = (back: number) =>
  send([
    'ACK sip:[service]@[remote_ip]:[remote_port] SIP/2.0',
    `Via: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch-${back}]`,
    'Max-Forwards: 70',
    'From: <sip:+12125550111@[local_ip]:[local_port]>;tag=[pid]s[call_number]',
    'To: <sip:[service]@[remote_ip]:[remote_port]>[peer_tag_param]',
    'Call-ID: [call_id]',
    'CSeq: 1 ACK',
    'Content-Length: 0',
    '',
  ])

/** Answers a call, runs the steps, and waits for the other side to hang up. */
export const taken = (steps: readonly string[] = [], before: readonly string[] = []) => [
  ...[receive('INVITE'), ...before, answer('200 OK', sdp()), receive('ACK')],
  ...[...steps, receive('BYE'), answerInside('200 OK')],
]
export const refusing = (line: string) => [receive('INVITE'), answer(line), receive('ACK')]
export const ringing = [receive('INVITE'), answer('180 Ringing')]
export const canceled = [
  receive('CANCEL'),
  answerInside('200 OK'),
  // The end of the INVITE itself; sipp still has its headers, except the method in CSeq.
  send([
    'SIP/2.0 487 Request Terminated',
    ...[
      '[last_Via:]',
      '[last_From:]',
      '[last_To:];tag=sipp[pid]',
      '[last_Call-ID:]',
      'CSeq: [last_cseq_number] INVITE',
    ],
    ...['Content-Length: 0', ''],
  ]),
  receive('ACK'),
]
