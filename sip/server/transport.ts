/** What the server asks of a transport (RFC 3261 §18): UDP, and streams with or without TLS. */
export type Protocol = 'udp' | 'tcp' | 'tls'
export type HostPortOf = { readonly host: string; readonly port: number }

/** One way to one peer, on which messages come and go. */
export type Flow = {
  readonly protocol: Protocol
  readonly reliable: boolean
  readonly local: HostPortOf
  readonly remote: HostPortOf
  /** False once the connection under it is gone. */
  usable(): boolean
  /** `onError` is called, at most once and later, when the bytes could not be handed to the network. */
  send(bytes: Buffer, onError: (error: Error) => void): void
  /** Asks whether anybody listens over there, where the transport doesn't tell by itself. */
  probe(onRefused: (error: Error) => void): void
}

export type Listener = {
  readonly protocol: Protocol
  /** As bound: the host may be a wildcard. */
  readonly bound: HostPortOf
  /** A flow to that address, opened when first written to. `name` is whom a certificate has to name (RFC 5922 §4). */
  open(remote: HostPortOf, name: string): Flow
  connections(): number
  close(): Promise<void>
}

export type Sink = {
  /** Bytes of one whole message. False says that they are no SIP at all: a stream has lost its framing. */
  message(bytes: Buffer, flow: Flow): boolean
  /** False refuses the peer before a byte of it is read (stream transports). */
  admits(address: string): boolean
  /** The concrete address of ours that `remote` should see, for a listener bound to `bound`. */
  localFor(bound: HostPortOf, remote: string): string
  broken(code: string, remote: HostPortOf): void
}

/** ::ffff:1.2.3.4 → 1.2.3.4 */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

export const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::'
export const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1' || host === 'localhost'
export const isIPv6 = (host: string): boolean => host.includes(':')
