/** Probes the path to a carrier below SIP from this machine: DNS, port and certificate. */
import { lookup } from 'node:dns'
import { connect as connectTcp, isIP, type LookupFunction } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Clock } from '../../../media/shared/clock.ts'
import { within } from '../../../media/shared/within.ts'
import { nameError, transportWords } from '../../server/transport-tls.ts'
import type { Target } from '../routing/hosts.ts'

export type Probed = {
  readonly ok: boolean
  readonly message: string
  readonly ms: number
  /** The host exists, but no trunk may be there. */
  readonly blocked?: true
}
export type Lookup = (host: string) => Promise<readonly string[]>
/** True when a trunk may be at an address. */
export type MayReach = (address: string) => boolean
export type Connected = { readonly connect: Probed; readonly certificate: Probed | null }

const DNS_WAIT_MS = 2500
const CONNECT_WAIT_MS = 3500

/** Does not disclose the address: it may be a name inside our own network. */
export const blocked = (host: string, ms: number): Probed => ({
  ok: false,
  message: `${host} does not have a public address. This installation allows trunks only at public addresses.`,
  ms,
  blocked: true,
})

/** Resolves the host. Null when it is an allowed IP address. */
export async function probeName(
  resolve: Lookup,
  clock: Clock,
  host: string,
  mayReach: MayReach,
): Promise<Probed | null> {
  if (isIP(host) !== 0) return mayReach(host) ? null : blocked(host, 0)
  const startedMs = clock.now()
  const found = await within(
    clock,
    DNS_WAIT_MS,
    null,
    resolve(host).catch(() => []),
  )
  const ms = Math.round(clock.now() - startedMs)
  if (found === null) return { ok: false, message: `DNS did not answer for ${host} in time.`, ms }
  if (found.length === 0) return { ok: false, message: `${host} does not exist in DNS.`, ms }
  if (!found.every(mayReach)) return blocked(host, ms)
  return { ok: true, message: `${host} resolves to ${[...new Set(found)].join(', ')}.`, ms }
}

/** Checks the address at connection time, because a name may have another address than a moment ago. */
const guarded =
  (mayReach: MayReach): LookupFunction =>
  (host, options, done) =>
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '', 0)
      const [first] = found
      if (!first || !found.every(({ address }) => mayReach(address))) {
        return done(Object.assign(new Error('the address is not allowed'), { code: 'EACCES' }), '', 0)
      }
      if (options.all) done(null, found)
      else done(null, first.address, first.family)
    })

/** Null over UDP, where there is nothing to connect. The certificate must name `name` (RFC 5922 §4). */
export async function probePort(
  clock: Clock,
  { host, port, transport }: Target,
  mayReach: MayReach,
  name: string = host,
): Promise<Connected | null> {
  if (transport === 'udp') return null
  const startedMs = clock.now()
  const at = { host, port, lookup: guarded(mayReach) }
  const outcome = await (transport === 'tcp' ? dialTcp(clock, at) : dialTls(clock, at, name))
  const ms = Math.round(clock.now() - startedMs)
  if (outcome.error !== null) return { connect: { ok: false, message: outcome.error, ms }, certificate: null }
  const message =
    transport === 'tcp' ? 'The port is open.' : `The port is open and speaks ${outcome.protocol ?? 'TLS'}.`
  const bad = outcome.certificate
  const certificate = {
    ok: bad === null,
    message:
      bad === null ? `The certificate is for ${name}, valid and trusted.` : `${bad[0]?.toUpperCase()}${bad.slice(1)}.`,
    ms: 0,
  }
  return { connect: { ok: true, message, ms }, certificate: transport === 'tls' ? certificate : null }
}

/** `error`: why there is no connection; `certificate`: what is wrong with the certificate. */
type Dialed = { readonly error: string | null; readonly protocol: string | null; readonly certificate: string | null }

const inTime = (clock: Clock, dialed: Promise<Dialed>): Promise<Dialed> =>
  within(clock, CONNECT_WAIT_MS, { error: 'no answer in time: timeout', protocol: null, certificate: null }, dialed)

const failed = (error: Error): Dialed => ({ error: transportWords(error), protocol: null, certificate: null })

type At = { readonly host: string; readonly port: number; readonly lookup: LookupFunction }

async function dialTcp(clock: Clock, at: At): Promise<Dialed> {
  const socket = connectTcp(at)
  try {
    return await inTime(
      clock,
      new Promise<Dialed>(resolve => {
        socket.once('connect', () => resolve({ error: null, protocol: null, certificate: null }))
        socket.on('error', error => resolve(failed(error)))
      }),
    )
  } finally {
    socket.destroy()
  }
}

async function dialTls(clock: Clock, at: At, name: string): Promise<Dialed> {
  const servername = isIP(name) === 0 ? name : ''
  // Accept any certificate and send nothing: whether it is trusted is decided below and reported.
  const socket = connectTls({ ...at, servername, rejectUnauthorized: false, checkServerIdentity: () => undefined })
  try {
    return await inTime(
      clock,
      new Promise<Dialed>(resolve => {
        let open = false
        socket.once('connect', () => {
          open = true
        })
        socket.once('secureConnect', () => resolve(judged(socket, name)))
        socket.on('error', error => {
          const { error: message, ...rest } = failed(error)
          resolve({ ...rest, error: open ? `the TLS handshake failed (${message})` : message })
        })
      }),
    )
  } finally {
    socket.destroy()
  }
}

function judged(socket: TLSSocket, host: string): Dialed {
  const wrongName = nameError(host, socket.getPeerCertificate())?.message ?? null
  const code = socket.authorized ? null : String(socket.authorizationError)
  const untrusted = code === null ? null : transportWords(Object.assign(new Error(code), { code }))
  return { error: null, protocol: socket.getProtocol(), certificate: wrongName ?? untrusted }
}
