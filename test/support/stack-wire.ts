/** What really went over loopback: RTP by tcpdump, read back as sound. Needs the right to capture (root here). */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { decodeG711 } from '../../media/audio/g711.ts'
import { parseRtp, type RtpPacket } from '../../media/rtp/packet.ts'
import { ended, type Stack } from './stack.ts'
import { RATE } from './stack-speech.ts'

export interface WirePacket extends RtpPacket {
  atMs: number
  from: string
  to: string
}

export interface Tap {
  /** All RTP so far between these ends (`address:port`), in the order of the wire. */
  packets(filter: { from?: string | number; to?: string | number }): Promise<WirePacket[]>
}

const PCMU = 0
const PCMA = 8

/** Captures everything to and from the engine's RTP ports until the stack stops. */
export async function tapRtp(stack: Stack): Promise<Tap> {
  const file = join(stack.folder, 'rtp.pcap')
  const filter = `udp portrange ${stack.rtp.min}-${stack.rtp.max}`
  const child: ChildProcess = spawn('tcpdump', ['-i', 'lo', '-n', '-U', '--immediate-mode', '-Z', 'root', '-w', file, ...filter.split(' ')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  stack.keep(child)
  await new Promise<void>((resolve, reject) => {
    child.once('error', error => reject(new Error(`tcpdump is needed: ${error.message}`)))
    child.once('exit', () => reject(new Error('tcpdump may not capture here (root?)')))
    createInterface({ input: child.stderr! }).on('line', line => {
      if (line.includes('listening on')) resolve()
    })
  })
  child.removeAllListeners('exit')
  stack.onStop(() => ended(child, 'SIGTERM'))
  const fits = (end: string, wanted: string | number | undefined) =>
    wanted === undefined || end === wanted || end.endsWith(`:${wanted}`)
  return {
    packets: async ({ from, to }) => readPcap(file).filter(packet => fits(packet.from, from) && fits(packet.to, to)),
  }
}

/** pcap as of libpcap's file format, Ethernet frames with IPv4 and UDP. An unfinished last record is left out. */
function readPcap(file: string): WirePacket[] {
  const bytes = readFileSync(file)
  const packets: WirePacket[] = []
  for (let at = 24; at + 16 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at + 8)
    const frame = bytes.subarray(at + 16, at + 16 + length)
    if (frame.length < length) break
    const atMs = bytes.readUInt32LE(at) * 1000 + bytes.readUInt32LE(at + 4) / 1000
    at += 16 + length
    const ip = frame.subarray(14)
    const header = (ip[0]! & 15) * 4
    if (frame.readUInt16BE(12) !== 0x0800 || ip[9] !== 17) continue
    const udp = ip.subarray(header)
    const address = (offset: number) => [...ip.subarray(offset, offset + 4)].join('.')
    const rtp = parseRtp(udp.subarray(8, udp.readUInt16BE(4)))
    if (!rtp || rtp.payloadType >= 72) continue
    const from = `${address(12)}:${udp.readUInt16BE(0)}`
    packets.push({ ...rtp, atMs, from, to: `${address(16)}:${udp.readUInt16BE(2)}` })
  }
  return packets
}

/** The sound of one stream, laid out by its timestamps; lost packets are silence. */
export function soundOf(packets: readonly WirePacket[]): Int16Array {
  const voiced = packets.filter(packet => packet.payloadType === PCMU || packet.payloadType === PCMA)
  const first = voiced[0]
  if (!first) return new Int16Array(0)
  const place = (packet: WirePacket) => (packet.timestamp - first.timestamp) | 0
  const last = voiced.at(-1)!
  const pcm = new Int16Array(Math.max(0, place(last) + last.payload.length))
  for (const packet of voiced) {
    const at = place(packet)
    if (at >= 0 && at + packet.payload.length <= pcm.length && packet.ssrc === first.ssrc)
      pcm.set(decodeG711(packet.payloadType === PCMA ? 'PCMA' : 'PCMU', packet.payload), at)
  }
  return pcm
}

export const lengthMs = (pcm: Int16Array) => (pcm.length / RATE) * 1000
