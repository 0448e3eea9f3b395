import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, watch } from 'node:fs'
import { isIP } from 'node:net'
import { basename, dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { type PrivateHosts, readPrivateHosts } from '../../media/shared/addresses.ts'
import { bareError } from '../../media/shared/bare-error.ts'
import { createMetrics } from '../../media/shared/metrics.ts'
import { countProcess, openMetricsPage } from '../../media/shared/metrics-page.ts'
import { ownAddresses } from '../../media/shared/own-addresses.ts'
import { parseHostPort } from '../text/grammar.ts'
import { allowList, readCidrLines } from './allow.ts'
import { countServer } from './meters.ts'
import type { ListenSpec } from './network.ts'
import { selfSigned } from './self-signed.ts'
import { SipServer } from './server.ts'
import { type HostPortOf, isLoopback, type Protocol } from './transport.ts'
import type { TlsSettings } from './transport-tls.ts'

const USAGE = `usage: sip-server --admin HOST:PORT --secret SECRET --listen {udp|tcp|tls}:HOST:PORT [--listen ...]
                  [--tls-cert FILE --tls-key FILE] [--tls-ca FILE ...] [--allow CIDR ...] [--allow-file PATH]
                  [--private-hosts {allow|deny|CIDR,...}] [--own-ip ADDRESS ...] [--external-ip ADDRESS ...]
                  [--metrics HOST:PORT] [--log-level LEVEL]
Write IPv6 addresses in brackets. Port 0 selects a free port, printed on standard output. The secret
can also be set in SIP_SERVER_SECRET. On loopback, TLS needs no certificate: one is generated. --tls-ca adds CA
certificates to the system's trusted ones.`

class UsageError extends Error {}

interface Settings {
  admin: HostPortOf
  secret: string
  listen: ListenSpec[]
  allow: string[]
  allowFile: string | null
  privateHosts: PrivateHosts
  /** Further addresses of this installation, such as that of a NAT. */
  ownIps: string[]
  externalIps: string[]
  metrics: HostPortOf | null
  tls: TlsSettings | null
  logLevel: string
}

function readSettings(args: string[]): Settings {
  const { values } = parse(args)
  if (values.help === true) throw new UsageError(USAGE)
  if (values.listen === undefined) throw new UsageError(`--listen is required\n${USAGE}`)
  const secret = values.secret ?? process.env['SIP_SERVER_SECRET']
  if (secret === undefined || secret === '') throw new UsageError(`--secret is required\n${USAGE}`)
  const listen = values.listen.map(listenSpec)
  return {
    admin: hostPort(values.admin ?? '127.0.0.1:9022', '--admin'),
    secret,
    listen,
    allow: values.allow ?? [],
    allowFile: values['allow-file'] ?? null,
    privateHosts: privateHosts(values['private-hosts'] ?? 'allow'),
    metrics: values.metrics === undefined ? null : hostPort(values.metrics, '--metrics'),
    ownIps: (values['own-ip'] ?? []).map(text => ipAddress(text, '--own-ip')),
    externalIps: (values['external-ip'] ?? []).map(text => ipAddress(text, '--external-ip')),
    tls: tlsSettings(listen, values['tls-cert'], values['tls-key'], values['tls-ca'] ?? []),
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
        'private-hosts': { type: 'string' },
        metrics: { type: 'string' },
        'own-ip': { type: 'string', multiple: true },
        'external-ip': { type: 'string', multiple: true },
        'tls-cert': { type: 'string' },
        'tls-key': { type: 'string' },
        'tls-ca': { type: 'string', multiple: true },
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
  if (at?.port === undefined) throw new UsageError(`${option} must be HOST:PORT, not "${text}"`)
  return { host: at.host, port: at.port }
}

function listenSpec(text: string): ListenSpec {
  const parts = /^(udp|tcp|tls):(.+)$/.exec(text)
  if (parts === null)
    throw new UsageError(`--listen must be udp:HOST:PORT, tcp:HOST:PORT or tls:HOST:PORT, not "${text}"`)
  return { protocol: parts[1] as Protocol, ...hostPort(parts[2]!, '--listen') }
}

function privateHosts(text: string): PrivateHosts {
  const hosts = readPrivateHosts(text)
  if (hosts === null) throw new UsageError(`--private-hosts must be allow, deny or a list of CIDRs, not "${text}"`)
  return hosts
}

function ipAddress(text: string, option: string): string {
  if (isIP(text) === 0) throw new UsageError(`${option} must be an IP address, not "${text}"`)
  return text
}

function tlsSettings(
  listen: readonly ListenSpec[],
  cert: string | undefined,
  key: string | undefined,
  ca: readonly string[],
): TlsSettings | null {
  const secure = listen.filter(({ protocol }) => protocol === 'tls')
  if (secure.length === 0) return null
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--tls-cert and --tls-key must be given together')
  if (cert === undefined && !secure.every(({ host }) => isLoopback(host)))
    throw new UsageError('TLS on a public address needs --tls-cert and --tls-key')
  const pair = cert === undefined || key === undefined ? selfSigned(Date.now()) : readPair(cert, key)
  return { ...pair, ca: ca.map(file => readFileSync(file, 'utf8')) }
}

function readPair(certFile: string, keyFile: string): { cert: string; key: string } {
  const [cert, key] = [readFileSync(certFile, 'utf8'), readFileSync(keyFile, 'utf8')]
  try {
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return { cert, key }
  } catch (error) {
    throw new UsageError(`Cannot read the certificate or its key: ${(error as Error).message}`)
  }
  throw new UsageError(`The key in ${keyFile} does not match the certificate in ${certFile}`)
}

/** Null when no restriction is configured. An allow file that exists but is empty admits nobody. */
function allowedSources(settings: Settings): string[] | null {
  if (settings.allowFile === null) return settings.allow.length === 0 ? null : settings.allow
  const cidrs = [...settings.allow, ...readCidrLines(readFileSync(settings.allowFile, 'utf8'))]
  allowList(cidrs)
  return cidrs
}

/** Watches the directory, not the file, to notice a list that is replaced by rename. */
function watchAllowFile(path: string, reload: () => void): () => void {
  const watcher = watch(dirname(path), (_event, name) => {
    if (name === null || name === basename(path)) reload()
  })
  return () => watcher.close()
}

function inWords(error: unknown): string {
  const { code, syscall, address, port, message } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  if (code === 'EADDRINUSE') return `port ${port} on ${address} is in use by another program`
  if (code === 'EADDRNOTAVAIL') return `this machine does not have the address ${address}`
  if (code === 'EACCES') return `permission denied: ${syscall} ${address ?? ''} ${port ?? ''}`.trim()
  if (code === 'ENOENT') return `no such file: ${(error as NodeJS.ErrnoException).path}`
  return message
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2))
  const log = pino(
    { level: settings.logLevel, name: 'sip-server', serializers: { err: bareError } },
    pino.destination(2),
  )
  const { admin, secret, listen, ownIps, externalIps, privateHosts, allowFile } = settings
  const own = ownAddresses([...ownIps, ...externalIps])
  const tls = settings.tls === null ? {} : { tls: settings.tls }
  const allow = allowedSources(settings)
  const server = new SipServer({ admin, secret, listen, externalIps, privateHosts, own, allow, log, ...tls })
  const started = await server.start()
  const metrics = createMetrics()
  countProcess(metrics)
  countServer(metrics, server)
  const page = settings.metrics === null ? null : await openMetricsPage(metrics, settings.metrics)
  const reload = (): void => {
    try {
      server.setAllowedSources(allowedSources(settings))
      log.info({}, 'allowed sources reloaded')
    } catch (error) {
      log.error({ reason: inWords(error) }, 'reload of allowed sources failed')
    }
  }
  const unwatch = allowFile === null ? (): void => {} : watchAllowFile(allowFile, reload)
  const stop = (): void => {
    unwatch()
    void Promise.all([server.close(), page?.close()]).then(() => process.exit(0))
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  const at = `${started.admin.host}:${started.admin.port}`
  process.stdout.write(
    `${JSON.stringify({ ready: true, admin: at, listen: started.listen, metrics: page?.port ?? null })}\n`,
  )
}

main().catch(error => {
  process.stderr.write(`${error instanceof UsageError ? error.message : `sip-server: ${inWords(error)}`}\n`)
  process.exit(1)
})
