import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type Random, wounded } from './mutate.ts'

const STATUSES = [
  '100 Trying',
  '180 Ringing',
  '200 OK',
  '302 Moved',
  '401 Unauthorized',
  '503 No',
  '699 Odd',
  '20 Short',
]

/** A party that throws bytes at a server, and answers what it is asked with damaged responses. */
export class Noise {
  readonly port: number
  readonly #socket: Socket
  readonly #serverPort: number

  private constructor(socket: Socket, serverPort: number, random: Random) {
    this.#socket = socket
    this.#serverPort = serverPort
    this.port = socket.address().port
    socket.on('message', bytes => {
      const text = bytes.toString('latin1')
      if (text.startsWith('SIP/2.0') || bytes.length <= 4) return
      for (let answers = random(4); answers > 0; answers--) {
        const response = text.replace(/^.*\r\n/, `SIP/2.0 ${STATUSES[random(STATUSES.length)]}\r\n`)
        this.raw(random(2) === 0 ? Buffer.from(response, 'latin1') : wounded(response, random, [text]))
      }
    })
  }

  static async start(serverPort: number, random: Random): Promise<Noise> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new Noise(socket, serverPort, random)
  }

  raw(bytes: Buffer): void {
    this.#socket.send(bytes, this.#serverPort, '127.0.0.1')
  }

  close(): void {
    this.#socket.close()
  }
}
