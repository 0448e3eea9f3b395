import { readFileSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { parseHostPort } from '../text/grammar.ts'
import { allowList, readCidrLines } from './allow.ts'
import type { ListenSpec } from './network.ts'
import { SipServer } from './server.ts'
import type { HostPortOf } from './transport.ts'

const USAGE = `usage: sip-server --admin HOST:PORT --secret SECRET --listen udp:HOST:PORT [--listen tcp:HOST:PORT ...]
                  [--allow CIDR ...] [--allow-file PATH] [--external-ip ADDRESS] [--log-level LEVEL]
Port 0 takes any free port; the line on standard output says which. The secret may also come by SIP_SERVER_SECRET.`

class UsageError extends Error {}

type Settings = {
  readonly admin: HostPortOf
  readonly secret: string
  readonly listen: ListenSpec[]
  readonly allow: string[]
  readonly allowFile: string | null
  readonly externalIp: string | null
  readonly logLevel: string
}

function readSettings(args: string[]): Settings {
  const { values } = parse(args)
  if (values.help === true) throw new UsageError(USAGE)
  if (values.listen === undefined) throw new UsageError(`--listen is missing\n${USAGE}`)
  const secret = values.secret ?? process.env['SIP_SERVER_SECRET']
  if (secret === undefined || secret === '') throw new UsageError(`--secret is missing\n${USAGE}`)
  return {
    admin: hostPort(values.admin ?? '127.0.0.1:9022', '--admin'),
    secret,
    listen: values.listen.map(listenSpec),
    allow: values.allow ?? [],
    allowFile: values['allow-file'] ?? null,
    externalIp: values['external-ip'] ?? null,
    logLevel: values['log-level'] ?? 'warn',
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        admin: { type: 'string' },
        secret: { type: 'string' },
        listen: { type: 'string', multiple: true },
        allow: { type: 'string', multiple: true },
        'allow-file': { type: 'string' },
        'external-ip': { type: 'string' },
        'log-level': { type: 'string' },
        help: { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${USAGE}`)
  }
}

function hostPort(text: string, option: string): HostPortOf {
  const at = parseHostPort(text)
  if (at?.port === undefined) throw new UsageError(`${option} takes HOST:PORT, not "${text}"`)
  return { host: at.host, port: at.port }
}

function listenSpec(text: string): ListenSpec {
  const parts = /^(udp|tcp):(.+)$/.exec(text)
  if (parts === null) throw new UsageError(`--listen takes udp:HOST:PORT or tcp:HOST:PORT, not "${text}"`)
  return { protocol: parts[1] as 'udp' | 'tcp', ...hostPort(parts[2]!, '--listen') }
}

/** Null when no restriction was asked for. A file that is there but empty lets nobody in. */
function allowedSources(settings: Settings): string[] | null {
  if (settings.allowFile === null) return settings.allow.length === 0 ? null : settings.allow
  const cidrs = [...settings.allow, ...readCidrLines(readFileSync(settings.allowFile, 'utf8'))]
  allowList(cidrs)
  return cidrs
}

/** The folder is watched, not the file, so that a list replaced by rename is noticed too. */
function watchAllowFile(path: string, reload: () => void): () => void {
  const watcher = watch(dirname(path), (_event, name) => {
    if (name === null || name === basename(path)) reload()
  })
  return () => watcher.close()
}

function inWords(error: unknown): string {
  const { code, syscall, address, port, message } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  if (code === 'EADDRINUSE') return `port ${port} on ${address} is taken by another program`
  if (code === 'EADDRNOTAVAIL') return `this machine has no address ${address}`
  if (code === 'EACCES') return `not permitted: ${syscall} ${address ?? ''} ${port ?? ''}`.trim()
  if (code === 'ENOENT') return `no such file: ${(error as NodeJS.ErrnoException).path}`
  return message
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2))
  const log = pino({ level: settings.logLevel, name: 'sip-server' }, pino.destination(2))
  const { admin, secret, listen, externalIp, allowFile } = settings
  const external = externalIp === null ? {} : { externalIp }
  const server = new SipServer({ admin, secret, listen, allow: allowedSources(settings), log, ...external })
  const started = await server.start()
  const reload = (): void => {
    try {
      server.setAllowedSources(allowedSources(settings))
      log.info({}, 'allowed sources reloaded')
    } catch (error) {
      log.error({ reason: inWords(error) }, 'allowed sources kept as they were')
    }
  }
  const unwatch = allowFile === null ? (): void => {} : watchAllowFile(allowFile, reload)
  const stop = (): void => {
    unwatch()
    void server.close().then(() => process.exit(0))
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  const at = `${started.admin.host}:${started.admin.port}`
  process.stdout.write(`${JSON.stringify({ ready: true, admin: at, listen: started.listen })}\n`)
}

main().catch(error => {
  process.stderr.write(`${error instanceof UsageError ? error.message : `sip-server: ${inWords(error)}`}\n`)
  process.exit(1)
})
