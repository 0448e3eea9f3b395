/** Free ports: the preferred one when it is free, otherwise the next free one. */
import { createSocket, type Socket } from 'node:dgram'
import { connect, createServer, type Server } from 'node:net'

export async function freePort(wished: number, host = '127.0.0.1', udpToo = false): Promise<number> {
  for (let port = wished; port < wished + 200; port++) {
    if ((await tcpFree(port, host)) && (!udpToo || (await udpFree(port, host)))) return port
  }
  throw new Error(`No free port from ${wished} on ${host}`)
}

/**
 * Starts something on the first free port from `wished` on, and retries on a later port when another process was faster
 * between the check and the bind.
 */
export async function onFreePort<T>(
  wished: number,
  start: (port: number) => Promise<T>,
  { host = '127.0.0.1', udpToo = false } = {},
): Promise<T> {
  for (let from = wished, tries = 0; ; tries++) {
    const port = await freePort(from, host, udpToo)
    try {
      return await start(port)
    } catch (error) {
      if (tries >= 5 || !/EADDRINUSE|already in use|in use by another program/i.test(String(error))) throw error
      from = port + 1
    }
  }
}

export interface HeldPort {
  port: number
  release(): Promise<void>
}

/**
 * Reserves a free port until it is released, for a server that starts later but whose address is needed now.
 * Connections are closed at once meanwhile.
 */
export async function holdPort(wished: number, { host = '127.0.0.1', udpToo = false } = {}): Promise<HeldPort> {
  return onFreePort(
    wished,
    async port => {
      const server = createServer(socket => socket.destroy())
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, resolve)
      })
      const socket = udpToo ? await bindUdp(port, host).catch(error => Promise.reject(closed(server, error))) : null
      server.unref()
      socket?.unref()
      return {
        port,
        async release() {
          await Promise.all([
            new Promise<void>(resolve => server.close(() => resolve())),
            new Promise<void>(resolve => (socket ? socket.close(resolve) : resolve())),
          ])
        },
      }
    },
    { host, udpToo },
  )
}

function bindUdp(port: number, host: string): Promise<Socket> {
  const socket = createSocket('udp4')
  return new Promise((resolve, reject) => {
    socket.once('error', error => {
      socket.close()
      reject(error)
    })
    socket.bind({ port, address: host, exclusive: true }, () => resolve(socket))
  })
}

function closed(server: Server, error: unknown): unknown {
  server.close()
  return error
}

function tcpFree(port: number, host: string): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}

const udpFree = (port: number, host: string): Promise<boolean> =>
  bindUdp(port, host).then(
    socket => new Promise(resolve => socket.close(() => resolve(true))),
    () => false,
  )

/** Resolves when something listens on the port. */
export async function listening(port: number, host: string, timeoutMs: number): Promise<void> {
  const until = Date.now() + timeoutMs
  for (;;) {
    const open = await new Promise<boolean>(resolve => {
      const socket = connect(port, host, () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => resolve(false))
    })
    if (open) return
    if (Date.now() > until) throw new Error(`Nothing listens on ${host}:${port}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
