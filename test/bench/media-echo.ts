/** Node's limit: returns packets without parsing them, one socket per call, as RTP has. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { serve } from './rpc.ts'

let sockets: Socket[] = []

const handlers = {
  /** Opens new sockets in place of the previous ones and returns their ports. */
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
