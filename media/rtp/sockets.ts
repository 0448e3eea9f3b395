/** A pair of UDP sockets for one stream: RTP on an even port and RTCP on the next one (RFC 3550 §11). */
import { createSocket, type Socket } from 'node:dgram'

export interface SocketPair {
  rtp: Socket
  rtcp: Socket
}

/** `ports`: inclusive range of which even ports are used; 0–0 lets the system choose. Rejects when none is free. */
export async function bindPair(host: string, ports: { min: number; max: number }): Promise<SocketPair> {
  const first = ports.min + (ports.min & 1)
  const pairs = ports.max === 0 ? 0 : Math.floor((ports.max - first + 1) / 2)
  const attempts = pairs > 0 ? pairs : 50
  const offset = Math.floor(Math.random() * attempts)
  for (let i = 0; i < attempts; i++) {
    const wanted = pairs > 0 ? first + 2 * ((offset + i) % pairs) : 0
    const rtp = await bind(host, wanted)
    if (!rtp) continue
    const port = rtp.address().port
    const rtcp = port % 2 === 0 ? await bind(host, port + 1) : null
    if (rtcp) return { rtp, rtcp }
    rtp.close()
  }
  throw new Error('No free pair of RTP ports. Extend the RTP port range.')
}

function bind(host: string, port: number): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(familyOf(host))
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close()
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(null)
      else reject(error)
    })
    socket.bind({ port, address: host, exclusive: true }, () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
  })
}

export const familyOf = (host: string) => (host.includes(':') ? 'udp6' : 'udp4')
