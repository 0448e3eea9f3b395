/** The common part of TCP and TLS: connections that are framed into messages, kept for reuse, and limited. */
import type { Server, Socket } from 'node:net'
import { StreamFramer } from '../text/framer.ts'
import { type Flow, type HostPortOf, isIPv6, isWildcard, type Listener, plainAddress, type Sink } from './transport.ts'

/** The differences between TCP and TLS. */
export interface StreamKind {
  protocol: 'tcp' | 'tls'
  /** The `server` event after which a connection can be read. */
  ready: 'connection' | 'secureConnection'
  serve(): Server
  /** The peer's certificate must name `name`. */
  dial(remote: HostPortOf, localAddress: string | undefined, name: string): Socket
}

export interface StreamLimits {
  connections: number
  /** Connections from one address, so that one peer cannot use them all; 1000 by default. */
  perAddress: number
  /**
   * Milliseconds without a byte either way before a connection is closed (RFC 3261 §18 leaves the value open); 30 min
   * by default.
   */
  idleMs: number
  /** Milliseconds before an idle connection that never carried a message is closed; 60,000 by default. */
  unprovenMs: number
  /** Milliseconds from a message's first byte until it must be complete; 15,000 by default. */
  partialMs: number
  connectMs: number
  /**
   * Bytes waiting for a peer at which it is disconnected, so that a peer that stops reading cannot fill our memory; 4
   * MiB by default.
   */
  backlog: number
}

export const STREAM_LIMITS: StreamLimits = {
  connections: 10_000,
  perAddress: 1000,
  idleMs: 30 * 60_000,
  unprovenMs: 60_000,
  partialMs: 15_000,
  connectMs: 10_000,
  backlog: 4_194_304,
}

const PONG = Buffer.from('\r\n')
const KEEP_ALIVE_MS = 45_000

interface Context {
  kind: StreamKind
  at: HostPortOf
  sink: Sink
  limits: StreamLimits
  sockets: Set<Socket>
  /** Connections by peer, and by name where one was requested (RFC 3261 §18.1.1). */
  open: Map<string, Socket>
  counts: Map<string, number>
  /** The error that closed a connection, for reports to its writers. */
  reasons: WeakMap<Socket, Error>
}

export async function listenStream(
  kind: StreamKind,
  bound: HostPortOf,
  sink: Sink,
  limits: StreamLimits,
): Promise<Listener> {
  const server = kind.serve()
  await listen(server, bound)
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : bound.port
  const context: Context = {
    kind,
    at: { host: bound.host, port },
    sink,
    limits,
    sockets: new Set<Socket>(),
    open: new Map(),
    counts: new Map(),
    reasons: new WeakMap(),
  }
  // Checked before the TLS handshake costs any work.
  server.prependListener('connection', (socket: Socket) => {
    if (!welcome(context, socket)) socket.destroy()
  })
  server.on(kind.ready, (socket: Socket) => {
    if (!socket.destroyed) adopt(context, socket, remoteOf(socket), null)
  })
  server.on('tlsClientError', (error: Error, socket: Socket) => sink.broken(error.message, remoteOf(socket)))
  server.on('error', error => sink.broken(error.message, context.at))
  return {
    protocol: kind.protocol,
    bound: context.at,
    open: (remote, name) => outgoing(context, remote, name),
    connections: () => context.sockets.size,
    close: () => close(server, context.sockets),
  }
}

function listen(server: Server, at: HostPortOf): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: at.port, host: at.host, exclusive: true, ipv6Only: isIPv6(at.host) }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function remoteOf(socket: Socket): HostPortOf {
  return { host: plainAddress(socket.remoteAddress ?? ''), port: socket.remotePort ?? 0 }
}

function welcome({ sink, limits, sockets, counts }: Context, socket: Socket): boolean {
  const { host } = remoteOf(socket)
  if (!sink.admits(host)) return false
  const count = counts.get(host) ?? 0
  if (count >= limits.perAddress || sockets.size >= limits.connections) {
    sink.broken('too many connections', remoteOf(socket))
    return false
  }
  counts.set(host, count + 1)
  socket.once('close', () => {
    const left = (counts.get(host) ?? 1) - 1
    if (left === 0) counts.delete(host)
    else counts.set(host, left)
  })
  return true
}

const keyOf = (remote: HostPortOf, name: string | null): string => `${remote.host} ${remote.port} ${name ?? ''}`

/**
 * Starts to read messages from the connection and keeps it for reuse. `name` is null for a connection that the peer
 * opened.
 */
function adopt(context: Context, socket: Socket, remote: HostPortOf, name: string | null): void {
  const { limits, sockets, open, reasons, sink } = context
  const key = keyOf(remote, name)
  sockets.add(socket)
  open.set(key, socket)
  socket.setMaxListeners(0)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  socket.setTimeout(name === null ? limits.unprovenMs : limits.idleMs, () => socket.destroy())
  socket.on('data', reader(context, socket, remote))
  socket.on('error', error => {
    reasons.set(socket, error)
    sink.broken(error.message, remote)
    socket.destroy()
  })
  socket.on('close', () => {
    sockets.delete(socket)
    if (open.get(key) === socket) open.delete(key)
  })
}

function reader(context: Context, socket: Socket, remote: HostPortOf): (chunk: Buffer) => void {
  const { limits, sink } = context
  const framer = new StreamFramer()
  const flow = flowOver(context, socket, remote)
  let slow: NodeJS.Timeout | null = null
  const lost = (code: string): void => {
    sink.broken(code, remote)
    socket.destroy()
  }
  socket.once('close', () => {
    if (slow !== null) clearTimeout(slow)
  })
  return chunk => {
    for (const event of framer.push(chunk)) {
      if (socket.destroyed) return
      if (event.type === 'ping') socket.write(PONG)
      else if (event.type === 'broken') lost(event.code)
      else if (sink.message(event.bytes, flow)) socket.setTimeout(limits.idleMs)
      else lost('not SIP')
      if (slow !== null) clearTimeout(slow)
      slow = null
    }
    if (framer.partial) slow ??= setTimeout(() => lost('message too slow'), limits.partialMs).unref()
  }
}

function flowOver(context: Context, socket: Socket, remote: HostPortOf): Flow {
  return {
    protocol: context.kind.protocol,
    reliable: true,
    local: localOf(context, remote),
    remote,
    usable: () => !socket.destroyed,
    send: (bytes, onError) => write(context, socket, bytes, onError),
    probe: () => {},
  }
}

function localOf({ sink, at }: Context, remote: HostPortOf): HostPortOf {
  return { host: sink.localFor(at, remote.host), port: at.port }
}

/** A flow that uses the existing connection, or dials when written to. */
function outgoing(context: Context, remote: HostPortOf, name: string): Flow {
  const connection = (): Socket => {
    const ours = context.open.get(keyOf(remote, name))
    // Without a name, a connection that the peer opened from that address proves as much as the address.
    const theirs = name === remote.host ? context.open.get(keyOf(remote, null)) : undefined
    return ours ?? theirs ?? dial(context, remote, name)
  }
  return {
    protocol: context.kind.protocol,
    reliable: true,
    local: localOf(context, remote),
    remote,
    usable: () => true,
    send: (bytes, onError) => write(context, connection(), bytes, onError),
    probe: () => {},
  }
}

function dial(context: Context, remote: HostPortOf, name: string): Socket {
  const { at, kind, limits } = context
  const socket = kind.dial(remote, isWildcard(at.host) ? undefined : at.host, name)
  const timer = setTimeout(() => socket.destroy(new Error('connect timed out')), limits.connectMs)
  timer.unref()
  socket.once(kind.protocol === 'tls' ? 'secureConnect' : 'connect', () => clearTimeout(timer))
  socket.once('close', () => clearTimeout(timer))
  adopt(context, socket, remote, name)
  return socket
}

function write(context: Context, socket: Socket, bytes: Buffer, onError: (error: Error) => void): void {
  const reason = (): Error => context.reasons.get(socket) ?? new Error('connection closed')
  if (socket.destroyed) {
    queueMicrotask(() => onError(reason()))
    return
  }
  let told = false
  const fail = (error: Error): void => {
    if (!told) onError(error)
    told = true
  }
  // While a connect is pending, its failure destroys the socket without calling the write callback in some Node
  // versions.
  const onClose = (): void => fail(reason())
  socket.once('close', onClose)
  socket.write(bytes, error => {
    socket.off('close', onClose)
    if (error) fail(context.reasons.get(socket) ?? error)
  })
  if (socket.writableLength > context.limits.backlog) socket.destroy(new Error('the peer reads too slowly'))
}

function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    for (const socket of sockets) socket.destroy()
  })
}
