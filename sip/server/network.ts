import { networkInterfaces } from 'node:os'
import type { Log } from './log.ts'
import { type Flow, type HostPortOf, type Listener, type Protocol, plainAddress, type Sink } from './transport.ts'
import { listenTcp } from './transport-tcp.ts'
import { listenUdp } from './transport-udp.ts'

export type ListenSpec = { readonly protocol: 'udp' | 'tcp'; readonly host: string; readonly port: number }

const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::'
const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1'
const PRIVATE = /^(10\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|::1$|f[cd]|fe80:)/i

/** Leading octets (or IPv6 groups) two addresses have in common: drachtio's way to find the interface nearest to a peer. */
export function commonOctets(a: string, b: string): number {
  const separator = a.includes(':') ? ':' : '.'
  const left = a.split(separator)
  const right = b.split(separator)
  let count = 0
  while (count < left.length && left[count] === right[count]) count++
  return count
}

function interfaceAddresses(ipv6: boolean): string[] {
  return Object.values(networkInterfaces())
    .flatMap(list => list ?? [])
    .filter(entry => (entry.family === 'IPv6') === ipv6)
    .map(entry => entry.address)
}

/** The best of `addresses` to show `remote`: longest common prefix, loopback last unless the peer is on loopback itself. */
export function bestLocal(addresses: readonly string[], remote: string): string | null {
  const score = (address: string): number =>
    isLoopback(address) && !isLoopback(remote) ? -1 : commonOctets(address, remote)
  let best: string | null = null
  for (const address of addresses) if (best === null || score(address) > score(best)) best = address
  return best
}

/** Our side of the network: what we listen on, and which of it faces a given peer. */
export class Network {
  private readonly listeners: Listener[] = []
  private readonly externalIp: string | null
  private readonly log: Log

  constructor(externalIp: string | null, log: Log) {
    this.externalIp = externalIp
    this.log = log
  }

  async listen(specs: readonly ListenSpec[], sink: Pick<Sink, 'message' | 'admits'>): Promise<void> {
    const full: Sink = {
      ...sink,
      localFor: (bound, remote) => this.localFor(bound, remote),
      broken: (code, remote) => this.log.warn({ code, remote: remote.host }, 'transport error'),
    }
    for (const { protocol, host, port } of specs) {
      const open = protocol === 'udp' ? listenUdp : listenTcp
      this.listeners.push(await open({ host, port }, full))
    }
  }

  localFor(bound: HostPortOf, remote: string): string {
    if (this.externalIp !== null && !PRIVATE.test(remote)) return this.externalIp
    if (!isWildcard(bound.host)) return bound.host
    return bestLocal(interfaceAddresses(remote.includes(':')), remote) ?? bound.host
  }

  /** A flow to `remote`, from the listener that faces it best; null when none speaks that protocol or family. */
  flowTo(protocol: Protocol, remote: HostPortOf): Flow | null {
    const ipv6 = remote.host.includes(':')
    const fitting = this.listeners.filter(
      listener =>
        listener.protocol === protocol && (listener.bound.host.includes(':') === ipv6 || listener.bound.host === '::'),
    )
    const hosts = fitting.map(listener => this.localFor(listener.bound, remote.host))
    const best = bestLocal(hosts, remote.host)
    return best === null ? null : (fitting[hosts.indexOf(best)]?.open(remote) ?? null)
  }

  speaks(protocol: Protocol): boolean {
    return this.listeners.some(listener => listener.protocol === protocol)
  }

  /** True for an address that one of our own listeners has: drachtio refuses to send requests to itself. */
  isSelf(protocol: Protocol, remote: HostPortOf): boolean {
    return this.listeners.some(({ protocol: ours, bound }) => {
      if (ours !== protocol || bound.port !== remote.port) return false
      if (!isWildcard(bound.host)) return bound.host === plainAddress(remote.host)
      return interfaceAddresses(remote.host.includes(':')).includes(remote.host)
    })
  }

  /** `udp/1.2.3.4:5060` for each address we can be reached at; a wildcard counts once per interface. */
  hostports(external: boolean): string[] {
    return this.listeners.flatMap(({ protocol, bound }) => {
      const ipv6 = bound.host.includes(':')
      const hosts = isWildcard(bound.host) ? interfaceAddresses(ipv6) : [bound.host]
      const shown = external && this.externalIp !== null ? [this.externalIp, ...hosts] : hosts
      return shown.map(host => `${protocol}/${host.includes(':') ? `[${host}]` : host}:${bound.port}`)
    })
  }

  bound(): { readonly protocol: Protocol; readonly host: string; readonly port: number }[] {
    return this.listeners.map(({ protocol, bound }) => ({ protocol, ...bound }))
  }

  async close(): Promise<void> {
    await Promise.all(this.listeners.splice(0).map(listener => listener.close()))
  }
}
