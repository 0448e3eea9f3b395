import { createSocket } from 'node:dgram'
import type { HostPortOf } from './transport.ts'

/** What keeps a NAT binding alive (RFC 5626 §3.5.1) and asks for nothing: no SIP party answers or logs it. */
const NOTHING = Buffer.from('\r\n\r\n')
const LISTEN_MS = 2000

/**
 * Tells whether a UDP port is closed. The kernel reports the peer's "port unreachable" to a connected socket only, and
 * the one that serves all peers can't be connected; so a second one asks. Silence proves nothing and calls nobody.
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
