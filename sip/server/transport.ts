/** The interface of a transport (RFC 3261 §18): UDP, and streams with or without TLS. */
export type Protocol = 'udp' | 'tcp' | 'tls'
export interface HostPortOf {
  host: string
  port: number
}

/** A channel to one peer for messages in both directions. */
export interface Flow {
  protocol: Protocol
  reliable: boolean
  local: HostPortOf
  remote: HostPortOf
  /** False once the underlying connection is closed. */
  usable(): boolean
  /** `onError` is called asynchronously, at most once, when the bytes could not be handed to the network. */
  send(bytes: Buffer, onError: (error: Error) => void): void
  /** Checks whether anything listens at the peer, on transports that do not report it. */
  probe(onRefused: (error: Error) => void): void
}

export interface Listener {
  protocol: Protocol
  /** As bound: the host may be a wildcard. */
  bound: HostPortOf
  /** A flow to that address, opened on the first send. The peer's certificate must name `name` (RFC 5922 §4). */
  open(remote: HostPortOf, name: string): Flow
  connections(): number
  close(): Promise<void>
}

export interface Sink {
  /** Receives the bytes of one message. Returns false when they are not SIP: a stream has then lost its framing. */
  message(bytes: Buffer, flow: Flow): boolean
  /** False rejects the peer before anything is read from it (stream transports). */
  admits(address: string): boolean
  /** Our concrete address that `remote` should see, for a listener bound to `bound`. */
  localFor(bound: HostPortOf, remote: string): string
  broken(code: string, remote: HostPortOf): void
}

/** Converts ::ffff:1.2.3.4 to 1.2.3.4. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

export const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::'
export const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1' || host === 'localhost'
export const isIPv6 = (host: string): boolean => host.includes(':')
