import { networkInterfaces } from 'node:os'
import { formatHostPort } from '../text/grammar.ts'
import type { Log } from './log.ts'
import {
  type Flow,
  type HostPortOf,
  isIPv6,
  isLoopback,
  isWildcard,
  type Listener,
  type Protocol,
  plainAddress,
  type Sink,
} from './transport.ts'
import { listenStream, type StreamLimits } from './transport-stream.ts'
import { tcp } from './transport-tcp.ts'
import { type TlsSettings, tls } from './transport-tls.ts'
import { listenUdp } from './transport-udp.ts'

export interface ListenSpec {
  protocol: Protocol
  host: string
  port: number
}

export interface NetworkOptions {
  /** Addresses shown to peers outside private networks, at most one per family. */
  externalIps: readonly string[]
  /** Required to listen on TLS. */
  tls: TlsSettings | null
  limits: StreamLimits
}

const LINK_LOCAL = /^(169\.254\.|fe80:)/i
const PRIVATE = /^(10\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|::1$|f[cd]|fe80:)/i

/**
 * Number of leading octets (or IPv6 groups) two addresses share: drachtio's way to find the interface nearest to a
 * peer.
 */
export function commonOctets(a: string, b: string): number {
  const separator = a.includes(':') ? ':' : '.'
  const left = a.split(separator)
  const right = b.split(separator)
  let count = 0
  while (count < left.length && left[count] === right[count]) count++
  return count
}

/** Querying the kernel takes 0.1 ms, a sixth of the server's work if done for every datagram. */
const INTERFACES_MS = 1000

/** Returns this machine's addresses of one family, at most a second old. `now` is in ms. */
export function interfaceAddresses(read: typeof networkInterfaces, now: () => number): (ipv6: boolean) => string[] {
  let readAt = Number.NEGATIVE_INFINITY
  let known = { IPv4: [] as string[], IPv6: [] as string[] }
  return ipv6 => {
    if (now() - readAt >= INTERFACES_MS) {
      readAt = now()
      known = { IPv4: [], IPv6: [] }
      const entries = Object.values(read()).flatMap(list => list ?? [])
      for (const { family, address } of entries) known[family].push(address)
    }
    return known[ipv6 ? 'IPv6' : 'IPv4']
  }
}

/** The best of `addresses` to show to `remote`: longest common prefix, loopback last unless the peer is on loopback. */
export function bestLocal(addresses: readonly string[], remote: string): string | null {
  const score = (address: string): number => {
    if (isLoopback(address) && !isLoopback(remote)) return -2
    if (LINK_LOCAL.test(address) && !LINK_LOCAL.test(remote)) return -1
    return commonOctets(address, remote)
  }
  let best: string | null = null
  for (const address of addresses) if (best === null || score(address) > score(best)) best = address
  return best
}

/** The server's listeners, and the choice of the one that faces a given peer. */
export class Network {
  readonly #listeners: Listener[] = []
  readonly #options: NetworkOptions
  readonly #log: Log
  readonly #addresses = interfaceAddresses(networkInterfaces, () => performance.now())

  constructor(options: NetworkOptions, log: Log) {
    this.#options = options
    this.#log = log
  }

  async listen(specs: readonly ListenSpec[], sink: Pick<Sink, 'message' | 'admits'>): Promise<void> {
    const full: Sink = {
      ...sink,
      localFor: (bound, remote) => this.localFor(bound, remote),
      broken: (code, remote) => this.#log.warn({ code, remote: remote.host }, 'transport error'),
    }
    for (const spec of specs) this.#listeners.push(await this.#open(spec, full))
  }

  #open({ protocol, host, port }: ListenSpec, sink: Sink): Promise<Listener> {
    const { tls: settings, limits } = this.#options
    if (protocol === 'udp') return listenUdp({ host, port }, sink)
    if (protocol === 'tcp') return listenStream(tcp, { host, port }, sink, limits)
    if (settings === null) throw new Error('TLS needs a certificate; set tls')
    return listenStream(tls(settings), { host, port }, sink, limits)
  }

  localFor(bound: HostPortOf, remote: string): string {
    const external = this.#options.externalIps.find(address => isIPv6(address) === isIPv6(remote))
    if (external !== undefined && !PRIVATE.test(remote)) return external
    if (!isWildcard(bound.host)) return bound.host
    return bestLocal(this.#addresses(isIPv6(remote)), remote) ?? bound.host
  }

  /**
   * Returns a flow to `remote` from the listener that faces it best; null when none has that protocol and family. Over
   * TLS the peer's certificate must name `name`.
   */
  flowTo(protocol: Protocol, remote: HostPortOf, name: string = remote.host): Flow | null {
    const fitting = this.#listeners.filter(
      ({ protocol: spoken, bound }) => spoken === protocol && isIPv6(bound.host) === isIPv6(remote.host),
    )
    const hosts = fitting.map(listener => this.localFor(listener.bound, remote.host))
    const best = bestLocal(hosts, remote.host)
    return best === null ? null : (fitting[hosts.indexOf(best)]?.open(remote, name) ?? null)
  }

  speaks(protocol: Protocol): boolean {
    return this.#listeners.some(listener => listener.protocol === protocol)
  }

  /** True for the address of one of our listeners: drachtio refuses to send requests to itself. */
  isSelf(protocol: Protocol, remote: HostPortOf): boolean {
    return this.#listeners.some(({ protocol: ours, bound }) => {
      if (ours !== protocol || bound.port !== remote.port) return false
      if (!isWildcard(bound.host)) return bound.host === plainAddress(remote.host)
      return this.#addresses(isIPv6(remote.host)).includes(remote.host)
    })
  }

  /** True when a URI names one of our hosts at one of our ports (RFC 3261 §16.4). */
  isOurs(at: HostPortOf): boolean {
    return this.#listeners.some(({ bound }) => {
      if (bound.port !== at.port) return false
      if (this.#options.externalIps.includes(at.host) || bound.host === at.host) return true
      return isWildcard(bound.host) && this.#addresses(isIPv6(at.host)).includes(at.host)
    })
  }

  /** Lists `udp/1.2.3.4:5060` for each address we can be reached at; a wildcard counts once per interface. */
  hostports(external: boolean): string[] {
    return this.#listeners.flatMap(({ protocol, bound }) => {
      const ipv6 = isIPv6(bound.host)
      const hosts = isWildcard(bound.host) ? this.#addresses(ipv6) : [bound.host]
      const outside = external ? this.#options.externalIps.filter(address => isIPv6(address) === ipv6) : []
      return [...outside, ...hosts].map(host => `${protocol}/${formatHostPort({ host, port: bound.port })}`)
    })
  }

  get connections(): number {
    return this.#listeners.reduce((sum, listener) => sum + listener.connections(), 0)
  }

  bound(): ListenSpec[] {
    return this.#listeners.map(({ protocol, bound }) => ({ protocol, ...bound }))
  }

  async close(): Promise<void> {
    await Promise.all(this.#listeners.splice(0).map(listener => listener.close()))
  }
}
