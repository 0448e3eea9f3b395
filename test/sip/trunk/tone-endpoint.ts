/** Audio of a far end that sends tones and identifies received ones, so that tests verify audio paths. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { measureTone } from '../../../media/answering/tones.ts'
import { decodeG711, encodeG711, type G711 } from '../../../media/audio/g711.ts'

const FRAME = 160
const NUMBERS: Record<G711, number> = { PCMU: 0, PCMA: 8 }
const KEYS = '0123456789*#ABCD'

export class FarSound {
  readonly port: number
  /** Received audio, one entry per frame: Hz, or 0 for no clear tone. */
  readonly heard: number[] = []
  /** Loud frames, whatever is in them. */
  loud = 0
  readonly keys: string[] = []
  private readonly socket: Socket
  private readonly codec: G711
  private sequence = 0
  private timer: NodeJS.Timeout | null = null
  private lastKey = -1
  private wake: () => void = () => {}
  private hearing: (pcm: Int16Array) => void = () => {}

  private constructor(socket: Socket, codec: G711) {
    this.socket = socket
    this.codec = codec
    this.port = socket.address().port
    socket.on('message', data => {
      if (data.length < 12 || (data[1]! & 0x7f) >= 72) {
        if ((data[1]! & 0x7f) === 101) this.key(data)
        return
      }
      const pcm = decodeG711(codec, data.subarray(12))
      const { hz, level, purity } = measureTone(pcm, 8000)
      this.heard.push(purity > 0.7 ? Math.round(hz) : 0)
      if (level > 200) this.loud++
      this.hearing(pcm)
      this.wake()
    })
  }

  /** Every frame from now on. */
  listen(hearing: (pcm: Int16Array) => void): void {
    this.hearing = hearing
  }

  static async open(codec: G711 = 'PCMU'): Promise<FarSound> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new FarSound(socket, codec)
  }

  sdp(events = true, extra: readonly string[] = []): string {
    const number = NUMBERS[this.codec]
    return [
      ...['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'],
      `m=audio ${this.port} RTP/AVP ${number}${events ? ' 101' : ''}`,
      ...(events ? ['a=rtpmap:101 telephone-event/8000'] : []),
      ...extra,
      '',
    ].join('\r\n')
  }

  /** Says these tones together, from now on; none is silence. */
  say(port: number, ...hz: number[]): void {
    if (this.timer) clearInterval(this.timer)
    this.timer = setInterval(() => this.send(port, hz), 20)
  }

  /** Sends nothing any more. */
  stop(): void {
    if (this.timer) clearInterval(this.timer)
  }

  private send(port: number, hz: readonly number[]): void {
    this.sequence += 1
    const packet = Buffer.alloc(12 + FRAME)
    packet[0] = 0x80
    packet[1] = NUMBERS[this.codec]
    packet.writeUInt16BE(this.sequence & 0xffff, 2)
    packet.writeUInt32BE(this.sequence * FRAME, 4)
    packet.writeUInt32BE(77, 8)
    const pcm = Int16Array.from({ length: FRAME }, (_, i) => {
      const t = (2 * Math.PI * (this.sequence * FRAME + i)) / 8000
      return hz.reduce((sum, f) => sum + 5000 * Math.sin(f * t), 0)
    })
    encodeG711(this.codec, pcm, packet, 12)
    this.socket.send(packet, port, '127.0.0.1')
  }

  private key(data: Buffer): void {
    const at = data.readUInt32BE(4)
    if (at !== this.lastKey) this.keys.push(KEYS[data[12]!]!)
    this.lastKey = at
    this.wake()
  }

  async until(ready: () => boolean): Promise<void> {
    while (!ready()) {
      await new Promise<void>(resolve => {
        this.wake = resolve
      })
    }
  }

  /** Ten frames of this tone, counted from now. */
  async hears(hz: number): Promise<void> {
    const from = this.heard.length
    await this.until(() => this.heard.slice(from).filter(one => Math.abs(one - hz) < 25).length >= 10)
  }

  close(): void {
    this.stop()
    this.socket.close()
  }
}
