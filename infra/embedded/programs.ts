/**
 * Our own processes as supervised children: SIP server, speech, engine, control. They run on the same Node as this
 * process.
 */
import { fileURLToPath } from 'node:url'
import type { PrivateHosts } from '../../media/shared/addresses.ts'
import { type Child, startChild } from './child.ts'

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const isReady = (line: string) => line.startsWith('{"ready":true')

export interface ProgramOptions {
  logFile: string
  report(text: string): void
  note?: ((pid: number) => void) | undefined
}

export async function startSipServer(
  options: ProgramOptions & {
    admin: string
    secret: string
    listen: string[]
    allowFile?: string
    privateHosts?: PrivateHosts
    /** Addresses of this installation that no interface has. */
    ownIps?: readonly string[]
    metrics?: string
    logLevel?: string | undefined
  },
): Promise<{ child: Child; listen: string[] }> {
  const child = await startChild({
    name: 'SIP server',
    command: process.execPath,
    args: [
      ...[path('../../sip/server/main.ts'), '--admin', options.admin],
      ...options.listen.flatMap(address => ['--listen', address]),
      ...(options.allowFile === undefined ? [] : ['--allow-file', options.allowFile]),
      ...(options.privateHosts === undefined ? [] : ['--private-hosts', String(options.privateHosts)]),
      ...(options.ownIps ?? []).flatMap(address => ['--own-ip', address]),
      ...(options.metrics === undefined ? [] : ['--metrics', options.metrics]),
      ...(options.logLevel === undefined ? [] : ['--log-level', options.logLevel]),
    ],
    // Not an argument, which every user of the machine could read.
    env: { ...process.env, SIP_SERVER_SECRET: options.secret },
    logFile: options.logFile,
    ready: isReady,
    readyTimeoutMs: 20_000,
    report: options.report,
    note: options.note,
  })
  return { child, listen: (JSON.parse(child.readyLine) as { listen: string[] }).listen }
}

export async function startSpeech(
  options: ProgramOptions & {
    port: number
    models: string
    whisper: string
    threads: number
    logLevel?: string | undefined
  },
): Promise<{ child: Child; sttReady: boolean }> {
  const child = await startChild({
    name: 'Speech',
    command: process.execPath,
    args: [
      ...[path('../../media/models/speech/main.ts'), '--port', String(options.port)],
      ...['--models', options.models, '--whisper', options.whisper, '--threads', String(options.threads)],
      ...(options.logLevel === undefined ? [] : ['--log-level', options.logLevel]),
    ],
    logFile: options.logFile,
    ready: isReady,
    readyTimeoutMs: 60_000,
    report: options.report,
    note: options.note,
  })
  return { child, sttReady: (JSON.parse(child.readyLine) as { sttReady: boolean }).sttReady }
}

export function startProcess(
  options: ProgramOptions & {
    name: string
    file: 'engine.ts' | 'control.ts'
    env: Record<string, string>
    /** Seconds that stopping may take in addition to the usual limit. */
    drainSeconds?: number
  },
): Promise<Child> {
  return startChild({
    name: options.name,
    command: process.execPath,
    args: [path(`../bin/${options.file}`)],
    // Without it @livekit/rtc-node logs for its own developers.
    env: { ...process.env, ...options.env, NODE_ENV: 'production' },
    logFile: options.logFile,
    ready: isReady,
    readyTimeoutMs: 60_000,
    stopTimeoutMs: 20_000 + 1000 * (options.drainSeconds ?? 0),
    report: options.report,
    note: options.note,
  })
}
