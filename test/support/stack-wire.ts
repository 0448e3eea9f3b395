/**
 * The traffic on loopback: RTP captured by tcpdump and decoded to audio. Requires permission to capture (root here).
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { rms } from '../../media/audio/frames.ts'
import { decodeG711, encodeG711 } from '../../media/audio/g711.ts'
import { parseRtp, RTP_HEADER_BYTES, type RtpPacket, writeRtpHeader } from '../../media/rtp/packet.ts'
import { ended, type Stack } from './stack.ts'
import { QUIET } from './stack-speech.ts'
import { PATIENCE } from './world.ts'

export interface WirePacket extends RtpPacket {
  atMs: number
  from: string
  to: string
}

/** A port, or a predicate over `address:port`. */
type End = number | ((end: string) => boolean)

interface Ends {
  from?: End
  to?: End
}

export interface Tap {
  /** All RTP between these ends so far, in wire order. */
  packets(ends: Ends): WirePacket[]
  /** Resolves when the captured traffic satisfies the condition. */
  wait(look: () => boolean, what: string, ms?: number): Promise<void>
}

const PCMU = 0
const PCMA = 8

/** Captures all traffic of the engine's RTP ports until the stack stops. */
export async function tapRtp(stack: Stack): Promise<Tap> {
  const filter = `udp portrange ${stack.rtp.min}-${stack.rtp.max}`
  const args = ['-i', 'lo', '-n', '-U', '--immediate-mode', '-w', '-', ...filter.split(' ')]
  const child = spawn('tcpdump', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  stack.keep(child)
  await new Promise<void>((resolve, reject) => {
    child.once('error', error => reject(new Error(`tcpdump is needed: ${error.message}`)))
    child.once('exit', () => reject(new Error('tcpdump may not capture here: these tests run as root')))
    createInterface({ input: child.stderr }).on('line', line => line.includes('listening on') && resolve())
  })
  child.removeAllListeners('exit')
  stack.onStop(() => ended(child, 'SIGTERM'))
  const all: WirePacket[] = []
  const waiting = new Set<() => void>()
  const read = createPcapReader()
  child.stdout.on('data', chunk => {
    all.push(...read(chunk))
    for (const look of [...waiting]) look()
  })
  const fits = (end: string, wanted: End = () => true) =>
    typeof wanted === 'number' ? end.endsWith(`:${wanted}`) : wanted(end)
  return {
    packets: ({ from, to }) => all.filter(packet => fits(packet.from, from) && fits(packet.to, to)),
    wait(look, what, ms = 20_000) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(again)
          reject(new Error(`waited ${ms * PATIENCE} ms on the wire for ${what}`))
        }, ms * PATIENCE)
        const again = () => {
          if (!look()) return
          clearTimeout(timer)
          waiting.delete(again)
          resolve()
        }
        waiting.add(again)
        again()
      })
    },
  }
}

/** libpcap's file format: Ethernet frames with IPv4 and UDP. */
function createPcapReader(): (chunk: Buffer) => WirePacket[] {
  let pending: Buffer = Buffer.alloc(0)
  let headerRead = false
  return chunk => {
    pending = Buffer.concat([pending, chunk])
    const packets: WirePacket[] = []
    if (!headerRead) {
      if (pending.length < 24) return packets
      headerRead = true
      pending = pending.subarray(24)
    }
    while (pending.length >= 16 && pending.length >= 16 + pending.readUInt32LE(8)) {
      const end = 16 + pending.readUInt32LE(8)
      const atMs = pending.readUInt32LE(0) * 1000 + pending.readUInt32LE(4) / 1000
      const packet = readFrame(Buffer.from(pending.subarray(16, end)), atMs)
      if (packet) packets.push(packet)
      pending = pending.subarray(end)
    }
    return packets
  }
}

function readFrame(frame: Buffer, atMs: number): WirePacket | null {
  const ip = frame.subarray(14)
  if (frame.length < 42 || frame.readUInt16BE(12) !== 0x0800 || ip[9] !== 17) return null
  const udp = ip.subarray((ip[0]! & 15) * 4)
  const address = (offset: number) => [...ip.subarray(offset, offset + 4)].join('.')
  const rtp = parseRtp(udp.subarray(8, udp.readUInt16BE(4)))
  // 72 and above is RTCP, when its type is read as a payload type.
  if (!rtp || (rtp.payloadType >= 72 && rtp.payloadType < 96)) return null
  return { ...rtp, atMs, from: `${address(12)}:${udp.readUInt16BE(0)}`, to: `${address(16)}:${udp.readUInt16BE(2)}` }
}

const isVoice = ({ payloadType }: RtpPacket) => payloadType === PCMU || payloadType === PCMA
const decode = (packet: RtpPacket) => decodeG711(packet.payloadType === PCMA ? 'PCMA' : 'PCMU', packet.payload)

/** True when a packet contains anything but the silence sent between turns. */
export const isSound = (packet: RtpPacket) => isVoice(packet) && packet.payload.some(byte => byte !== packet.payload[0])

/** True when a packet contains audible sound. */
export const isLoud = (packet: RtpPacket) => isVoice(packet) && rms(decode(packet)) > QUIET

/** The audio of one stream, placed by timestamps; lost packets are silence. */
export function soundOf(packets: readonly WirePacket[]): Int16Array {
  const voiced = packets.filter(isVoice)
  const first = voiced[0]
  if (!first) return new Int16Array(0)
  const place = (packet: WirePacket) => (packet.timestamp - first.timestamp) | 0
  const pcm = new Int16Array(Math.max(...voiced.map(packet => place(packet) + packet.payload.length)))
  for (const packet of voiced)
    if (packet.ssrc === first.ssrc && place(packet) >= 0) pcm.set(decode(packet), place(packet))
  return pcm
}

// The other direction: audio and keys as a pcap for sipp to play.

export type Played = { pcm: Int16Array } | { digit: string }

const KEYS = '0123456789*#ABCD'
const EVENT_STEPS = 8

const DTMF_TYPE = 101

/** One RTP stream of 20 ms packets: audio in A-law, keys by RFC 4733, each with three end packets. */
export function pcap(file: string, parts: readonly Played[]): string {
  const header = Buffer.alloc(24)
  header.writeUInt32LE(0xa1b2c3d4, 0)
  header.writeUInt16LE(2, 4)
  header.writeUInt16LE(4, 6)
  header.writeUInt32LE(65_535, 16)
  header.writeUInt32LE(1, 20)
  const records: Buffer[] = [header]
  let sequence = 1
  let timestamp = 8000
  let atMs = 0
  const add = (payloadType: number, marker: boolean, at: number, payload: Uint8Array) => {
    const rtp = Buffer.alloc(RTP_HEADER_BYTES + payload.length)
    writeRtpHeader(rtp, { payloadType, marker, sequence: sequence++, timestamp: at, ssrc: 0x51505031 })
    rtp.set(payload, RTP_HEADER_BYTES)
    records.push(record(rtp, atMs))
    atMs += 20
  }
  for (const part of parts) {
    if ('pcm' in part) {
      for (let at = 0; at + 160 <= part.pcm.length; at += 160, timestamp += 160)
        add(PCMA, false, timestamp, alaw(part.pcm.subarray(at, at + 160)))
      continue
    }
    for (let step = 1; step <= EVENT_STEPS + 2; step++) {
      const event = Buffer.from([KEYS.indexOf(part.digit), step >= EVENT_STEPS ? 0x8a : 0x0a, 0, 0])
      event.writeUInt16BE(160 * Math.min(step, EVENT_STEPS), 2)
      add(DTMF_TYPE, step === 1, timestamp, event)
    }
    timestamp += 160 * (EVENT_STEPS + 2)
  }
  writeFileSync(file, Buffer.concat(records))
  return file
}

function alaw(pcm: Int16Array): Uint8Array {
  const bytes = new Uint8Array(pcm.length)
  encodeG711('PCMA', pcm, bytes)
  return bytes
}

function record(rtp: Buffer, atMs: number): Buffer {
  const bytes = Buffer.alloc(16 + 42 + rtp.length)
  bytes.writeUInt32LE(1_600_000_000 + Math.floor(atMs / 1000), 0)
  bytes.writeUInt32LE((atMs % 1000) * 1000, 4)
  bytes.writeUInt32LE(42 + rtp.length, 8)
  bytes.writeUInt32LE(42 + rtp.length, 12)
  bytes.writeUInt16BE(0x0800, 16 + 12)
  const ip = bytes.subarray(30)
  ip[0] = 0x45
  ip.writeUInt16BE(28 + rtp.length, 2)
  ip[8] = 64
  ip[9] = 17
  ip.set([127, 0, 0, 1, 127, 0, 0, 1], 12)
  ip.writeUInt16BE(6000, 20)
  ip.writeUInt16BE(6000, 22)
  ip.writeUInt16BE(8 + rtp.length, 24)
  ip.set(rtp, 28)
  return bytes
}
