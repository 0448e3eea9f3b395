import { createSocket } from 'node:dgram'
import type { HostPortOf } from './transport.ts'

/**
 * Keeps a NAT binding alive (RFC 5626 §3.5.1) without asking for anything: no SIP implementation answers or logs it.
 */
const NOTHING = Buffer.from('\r\n\r\n')
const LISTEN_MS = 2000

/**
 * Detects a closed UDP port. The kernel reports the peer's "port unreachable" only to a connected socket, and the
 * shared socket cannot be connected; so this uses a second one. Silence proves nothing, and `onRefused` is not called.
 */
export function probeUdp(remote: HostPortOf, onRefused: (error: Error) => void): void {
  const socket = createSocket(remote.host.includes(':') ? 'udp6' : 'udp4')
  const timer = setTimeout(() => socket.close(), LISTEN_MS)
  timer.unref()
  socket.unref()
  socket.once('error', error => {
    clearTimeout(timer)
    socket.close()
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') onRefused(error)
  })
  socket.once('connect', () => socket.send(NOTHING))
  socket.connect(remote.port, remote.host)
}
