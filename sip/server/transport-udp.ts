import { createSocket, type Socket } from 'node:dgram'
import { probeUdp } from './probe-udp.ts'
import { type Flow, type HostPortOf, isIPv6, type Listener, plainAddress, type Sink } from './transport.ts'

/** Bytes of the longest keep-alive (RFC 5626 §3.5.2 and plain NAT keep-alives): such datagrams are not messages. */
const KEEP_ALIVE_MAX = 4
/**
 * Receive buffer in bytes: the kernel's default of 208 kB holds only about 90 messages. The kernel caps it at its own
 * limit.
 */
const RECEIVE_BYTES = 1_048_576

export async function listenUdp(bound: HostPortOf, sink: Sink): Promise<Listener> {
  const ipv6 = isIPv6(bound.host)
  const socket = createSocket({ type: ipv6 ? 'udp6' : 'udp4', ipv6Only: ipv6, recvBufferSize: RECEIVE_BYTES })
  await bind(socket, bound)
  const at: HostPortOf = { host: bound.host, port: socket.address().port }
  const flowTo = (remote: HostPortOf): Flow => ({
    protocol: 'udp',
    reliable: false,
    local: { host: sink.localFor(at, remote.host), port: at.port },
    remote,
    usable: () => true,
    send: (bytes, onError) => send(socket, bytes, remote, onError),
    probe: onRefused => probeUdp(remote, onRefused),
  })
  socket.on('message', (bytes, from) => {
    if (bytes.length <= KEEP_ALIVE_MAX) return
    sink.message(bytes, flowTo({ host: plainAddress(from.address), port: from.port }))
  })
  socket.on('error', error => sink.broken(error.message, at))
  return { protocol: 'udp', bound: at, open: flowTo, connections: () => 0, close: () => close(socket) }
}

function bind(socket: Socket, at: HostPortOf): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ port: at.port, address: at.host, exclusive: true }, () => {
      socket.off('error', reject)
      resolve()
    })
  })
}

function send(socket: Socket, bytes: Buffer, remote: HostPortOf, onError: (error: Error) => void): void {
  try {
    socket.send(bytes, remote.port, remote.host, error => {
      if (error) onError(error)
    })
  } catch (error) {
    // A closed socket or a port of 0 throws at once.
    queueMicrotask(() => onError(error as Error))
  }
}

function close(socket: Socket): Promise<void> {
  return new Promise(resolve => socket.close(() => resolve()))
}
