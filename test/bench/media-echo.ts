/** The limit of Node: sends back what comes, and knows nothing of it. A socket a call, as sound has. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { serve } from './rpc.ts'

let sockets: Socket[] = []

const handlers = {
  /** The ports of new sockets, which take the place of those before. */
  async open({ calls }: { calls: number }): Promise<number[]> {
    for (const socket of sockets) socket.close()
    sockets = Array.from({ length: calls }, () => createSocket('udp4'))
    for (const socket of sockets) {
      socket.on('message', (data, from) => socket.send(data, from.port, from.address))
      socket.bind(0, '127.0.0.1')
      await once(socket, 'listening')
    }
    return sockets.map(socket => socket.address().port)
  },
}

export type MediaEchoHandlers = typeof handlers

serve(handlers)
