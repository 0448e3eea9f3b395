/** Shared by the vendors' WebSocket fakes: a server on a free loopback port that can refuse the handshake. */
import { createServer, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'

export interface Refusal {
  status: number
  headers?: Record<string, string>
  body?: object
}

export interface WsVendor {
  baseUrl: string
  /** All handshake requests, including refused ones. */
  requests: IncomingMessage[]
  /** When set, refuses handshakes with this response. */
  refuse: Refusal | null
  /** When set, handshakes get no answer. */
  sttUnavailable: boolean
  /** Number of open sockets. */
  open(): number
  /** Cuts the connections without a close frame. */
  drop(): void
  close(): Promise<void>
}

export async function startWsVendor(
  onConnection: (socket: WebSocket, request: IncomingMessage) => void,
): Promise<WsVendor> {
  const http = createServer((_request, response) => response.writeHead(404).end())
  const sockets = new WebSocketServer({ noServer: true })
  const silent = new Set<Duplex>()
  http.on('upgrade', (request, stream, head) => {
    vendor.requests.push(request)
    if (vendor.sttUnavailable) {
      silent.add(stream)
      stream.on('error', () => {}).on('close', () => silent.delete(stream))
      stream.on('end', () => stream.end()).resume()
      return
    }
    if (vendor.refuse) {
      const { status, headers = {}, body = {} } = vendor.refuse
      const text = JSON.stringify(body)
      const lines = Object.entries({ ...headers, 'content-length': String(text.length), connection: 'close' })
      stream.end(`HTTP/1.1 ${status} No\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${text}`)
      return
    }
    sockets.handleUpgrade(request, stream, head, socket => {
      socket.on('error', () => {})
      onConnection(socket, request)
    })
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  const vendor: WsVendor = {
    baseUrl: `ws://127.0.0.1:${(http.address() as { port: number }).port}`,
    requests: [],
    refuse: null,
    sttUnavailable: false,
    open: () => sockets.clients.size + silent.size,
    drop() {
      for (const socket of sockets.clients) socket.terminate()
    },
    async close() {
      for (const socket of sockets.clients) socket.terminate()
      for (const stream of silent) stream.destroy()
      http.closeAllConnections()
      await new Promise(resolve => http.close(resolve))
    },
  }
  return vendor
}

/** Waits in real time until the condition holds; throws with `what` otherwise. */
export async function until(what: string, holds: () => boolean, withinMs = 3000): Promise<void> {
  const endMs = performance.now() + withinMs
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`timed out waiting for: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}
