import { connect, createServer, type Server, type Socket } from 'node:net'
import { StreamFramer } from '../text/framer.ts'
import type { Flow, HostPortOf, Listener, Sink } from './transport.ts'
import { plainAddress } from './transport.ts'

const PONG = Buffer.from('\r\n')
const KEEP_ALIVE_MS = 45_000
const CONNECT_TIMEOUT_MS = 10_000
/** Idle longer than this with no byte either way, and the connection is closed (RFC 3261 §18 leaves the length to us). */
const IDLE_MS = 30 * 60_000

type Context = {
  readonly at: HostPortOf
  readonly sink: Sink
  readonly sockets: Set<Socket>
  readonly open: Map<string, Socket>
}

export async function listenTcp(bound: HostPortOf, sink: Sink): Promise<Listener> {
  const sockets = new Set<Socket>()
  const server = createServer()
  await listen(server, bound)
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : bound.port
  const context: Context = { at: { host: bound.host, port }, sink, sockets, open: new Map() }
  server.on('connection', socket => {
    if (sink.admits(plainAddress(socket.remoteAddress ?? ''))) adopt(context, socket, remoteOf(socket))
    else socket.destroy()
  })
  server.on('error', error => sink.broken(error.message, context.at))
  return {
    protocol: 'tcp',
    bound: context.at,
    open: remote => outgoing(context, remote),
    close: () => close(server, sockets),
  }
}

function listen(server: Server, at: HostPortOf): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: at.port, host: at.host, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function remoteOf(socket: Socket): HostPortOf {
  return { host: plainAddress(socket.remoteAddress ?? ''), port: socket.remotePort ?? 0 }
}

const keyOf = (remote: HostPortOf): string => `${remote.host} ${remote.port}`

/** Reads messages off the connection and keeps it under its peer's address for reuse (RFC 3261 §18.1.1). */
function adopt(context: Context, socket: Socket, remote: HostPortOf): void {
  const framer = new StreamFramer()
  const key = keyOf(remote)
  context.sockets.add(socket)
  context.open.set(key, socket)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  socket.setTimeout(IDLE_MS, () => socket.destroy())
  socket.on('data', chunk => {
    for (const event of framer.push(chunk)) {
      if (event.type === 'message') context.sink.message(event.bytes, flowOver(context, socket, remote))
      else if (event.type === 'ping') socket.write(PONG)
      else {
        context.sink.broken(event.code, remote)
        socket.destroy()
      }
    }
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    context.sockets.delete(socket)
    if (context.open.get(key) === socket) context.open.delete(key)
  })
}

function flowOver(context: Context, socket: Socket, remote: HostPortOf): Flow {
  return {
    protocol: 'tcp',
    reliable: true,
    local: { host: context.sink.localFor(context.at, remote.host), port: context.at.port },
    remote,
    usable: () => !socket.destroyed,
    send: (bytes, onError) => write(socket, bytes, onError),
    probe: () => {},
  }
}

/** A flow that dials when first written to, or uses the connection there already is. */
function outgoing(context: Context, remote: HostPortOf): Flow {
  return {
    protocol: 'tcp',
    reliable: true,
    local: { host: context.sink.localFor(context.at, remote.host), port: context.at.port },
    remote,
    usable: () => true,
    send: (bytes, onError) => write(context.open.get(keyOf(remote)) ?? dial(context, remote), bytes, onError),
    probe: () => {},
  }
}

function dial(context: Context, remote: HostPortOf): Socket {
  const local = context.at.host === '0.0.0.0' || context.at.host === '::' ? {} : { localAddress: context.at.host }
  const socket = connect({ host: remote.host, port: remote.port, ...local })
  const timer = setTimeout(() => socket.destroy(new Error('connect timed out')), CONNECT_TIMEOUT_MS)
  timer.unref()
  socket.once('connect', () => clearTimeout(timer))
  socket.once('close', () => clearTimeout(timer))
  adopt(context, socket, remote)
  return socket
}

function write(socket: Socket, bytes: Buffer, onError: (error: Error) => void): void {
  if (socket.destroyed) {
    queueMicrotask(() => onError(new Error('connection closed')))
    return
  }
  let told = false
  const fail = (error: Error): void => {
    if (!told) onError(error)
    told = true
  }
  const onClose = (): void => fail(new Error('connection closed'))
  // While a connect is pending, its failure destroys the socket without telling the write callback in every Node version.
  socket.once('close', onClose)
  socket.write(bytes, error => {
    socket.off('close', onClose)
    if (error) fail(error)
  })
}

function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    for (const socket of sockets) socket.destroy()
  })
}
