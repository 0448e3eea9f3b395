/** Free ports: the wished one when nobody has it, else the next that is free. */
import { createSocket } from 'node:dgram'
import { connect, createServer } from 'node:net'

export async function freePort(wished: number, host = '127.0.0.1', udpToo = false): Promise<number> {
  for (let port = wished; port < wished + 200; port++) {
    if ((await tcpFree(port, host)) && (!udpToo || (await udpFree(port, host)))) return port
  }
  throw new Error(`no free port from ${wished} on ${host}`)
}

/**
 * Starts something on the first port from `wished` on that is free, and on a later one when another process was faster:
 * between looking and listening there is always a moment.
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
      if (tries >= 5 || !/EADDRINUSE|address already in use|is taken/i.test(String(error))) throw error
      from = port + 1
    }
  }
}

function tcpFree(port: number, host: string): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}

function udpFree(port: number, host: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = createSocket('udp4')
    socket.once('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: host, exclusive: true }, () => socket.close(() => resolve(true)))
  })
}

/** Resolves when something listens there. */
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
    if (Date.now() > until) throw new Error(`nothing listens on ${host}:${port}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
