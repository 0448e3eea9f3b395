/** A TCP load balancer in front of several control processes, round robin. */
import { connect, createServer, type Socket } from 'node:net'

const HOST = '127.0.0.1'

export interface Balancer {
  port: number
  /** Connections given to each process so far, in the order of `ports`. */
  given(): readonly number[]
  close(): Promise<void>
}

/** Skips a process that does not accept, until it does again; a client must give up on a hanging one itself. */
export async function startBalancer(port: number, ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>()
  const given = ports.map(() => 0)
  let turn = 0

  const keep = (socket: Socket) => {
    open.add(socket)
    socket.setNoDelay(true)
    socket.once('close', () => open.delete(socket))
    return socket
  }

  async function serve(client: Socket): Promise<void> {
    const first = turn++
    for (let tried = 0; tried < ports.length && !client.destroyed; tried++) {
      const index = (first + tried) % ports.length
      const server = await connected(ports[index]!)
      if (server === null) continue
      given[index]!++
      join(client, keep(server))
      return
    }
    client.destroy() // no process accepts
  }

  const server = createServer({ pauseOnConnect: true }, client => {
    client.on('error', () => {})
    void serve(keep(client))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, HOST, resolve)
  })
  return {
    port,
    given: () => given,
    async close() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

function connected(port: number): Promise<Socket | null> {
  return new Promise(resolve => {
    const socket = connect(port, HOST)
    socket.on('error', () => resolve(null))
    socket.once('connect', () => resolve(socket))
  })
}

/** Closes both sides together: a client must learn that no answer will come. */
function join(client: Socket, server: Socket): void {
  client.once('close', () => server.destroy())
  server.once('close', () => client.destroySoon()) // the answer may still be in transit
  client.pipe(server)
  server.pipe(client)
  client.resume()
}
