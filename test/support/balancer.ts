/** What stands before several controls, as in a deployment: TCP, one connection after the other to the next of them. */
import { connect, createServer, type Socket } from 'node:net'

const HOST = '127.0.0.1'

export interface Balancer {
  port: number
  /** Connections given to each so far, in the order of `ports`. */
  given(): readonly number[]
  close(): Promise<void>
}

/** A process that does not accept is left out, until it does again; who hangs is the client's to give up. */
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
    client.destroy() // nobody is there
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

/** Whoever goes takes the other along: who waits for an answer must learn that none will come. */
function join(client: Socket, server: Socket): void {
  client.once('close', () => server.destroy())
  server.once('close', () => client.destroySoon()) // what was answered may still be on its way
  client.pipe(server)
  server.pipe(client)
  client.resume()
}
