/** The callers' transports: each line sends packets of 20 ms, and reports when voice is received. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { decodeG711 } from '../../../media/audio/g711.ts'
import { createOpusDecoder, createOpusEncoder, loadOpus, OPUS_SAMPLE_RATE } from '../../../media/audio/opus.ts'
import { createResampler } from '../../../media/audio/resample.ts'
import { parseRtp, RTP_HEADER_BYTES, writeRtpHeader } from '../../../media/rtp/packet.ts'
import { FRAME } from '../clips.ts'
import { monotonicMs } from '../rpc.ts'

export interface Line {
  send(payload: Uint8Array): void
  close(): void
  /** For audio that becomes audible later than it arrives. */
  tick?(nowMs: number): void
}

export type Heard = (atMs: number) => void

const RATE = 8000
const FRAME_MS = 20
/** Sample level above which audio counts as speech, not silence or comfort noise. */
const VOICE = 300

const isVoiced = (pcm: Int16Array) => pcm.some(sample => Math.abs(sample) > VOICE)

const bind = () =>
  new Promise<Socket>(resolve => {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1', () => resolve(socket))
  })

export interface UdpLine extends Line {
  readonly port: number
  target(port: number): void
}

export async function openRtpLine(heard: Heard): Promise<UdpLine> {
  const socket = await bind()
  const ssrc = Math.floor(Math.random() * 2 ** 32)
  let target = 0
  let sequence = 0
  socket.on('message', data => {
    const packet = parseRtp(data)
    if (packet && isVoiced(decodeG711('PCMU', packet.payload))) heard(monotonicMs())
  })
  return {
    port: socket.address().port,
    target: port => {
      target = port
    },
    send(payload) {
      const packet = Buffer.alloc(RTP_HEADER_BYTES + payload.length)
      const timestamp = (sequence * FRAME) >>> 0
      writeRtpHeader(packet, { payloadType: 0, marker: sequence === 0, sequence: sequence++, timestamp, ssrc })
      packet.set(payload, RTP_HEADER_BYTES)
      socket.send(packet, target, '127.0.0.1')
    },
    close: () => socket.close(),
  }
}

/** To a room through `room-load/bridge.go`: bare Opus packets in both directions. */
export async function openRoomLine(heard: Heard): Promise<UdpLine> {
  const socket = await bind()
  const decoder = createOpusDecoder()
  let target = 0
  socket.on('message', (data, from) => {
    target = from.port
    if (isVoiced(decoder.decode(data))) heard(monotonicMs())
  })
  return {
    port: socket.address().port,
    target() {},
    send: payload => {
      if (target > 0) socket.send(payload, target, '127.0.0.1')
    },
    close() {
      socket.close()
      decoder.close()
    },
  }
}

/** Twilio's end of a media stream: received audio is played in real time, and dropped at `clear`. */
export async function openTwilioLine(url: string, heard: Heard): Promise<Line> {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  await once(socket, 'open')
  socket.on('error', () => {}) // a lost connection counts as no answer
  const streamSid = `MZ${Math.random().toString(16).slice(2)}`
  const report = (event: object) => socket.send(JSON.stringify(event))
  report({ event: 'connected', protocol: 'Call', version: '1.0.0' })
  const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: RATE, channels: 1 }
  report({ event: 'start', streamSid, start: { streamSid, callSid: streamSid, tracks: ['inbound'], mediaFormat } })
  let waiting: { atMs: number; isVoiced: boolean }[] = []
  let playedUntilMs = 0
  const play = (nowMs: number) => {
    for (let next = waiting[0]; next && next.atMs <= nowMs; next = waiting[0]) {
      if (next.isVoiced) heard(next.atMs)
      waiting.shift()
    }
  }
  socket.on('message', data => {
    const nowMs = monotonicMs()
    const { event, media } = JSON.parse(String(data)) as { event: string; media?: { payload: string } }
    play(nowMs)
    if (event === 'clear') {
      waiting = []
      playedUntilMs = nowMs
    }
    if (!media) return
    const sound = Buffer.from(media.payload, 'base64')
    for (let at = 0; at < sound.length; at += FRAME) {
      const frame = sound.subarray(at, at + FRAME)
      const atMs = Math.max(nowMs, playedUntilMs)
      playedUntilMs = atMs + (frame.length / RATE) * 1000
      waiting.push({ atMs, isVoiced: isVoiced(decodeG711('PCMU', frame)) })
    }
    play(nowMs)
  })
  return {
    send(payload) {
      const media = { track: 'inbound', payload: Buffer.from(payload).toString('base64') }
      if (socket.readyState === WebSocket.OPEN) report({ event: 'media', streamSid, media })
    },
    tick: play,
    close: () => socket.close(),
  }
}

/** Encodes the frames as Opus packets, one each. */
export async function asOpus(frames: readonly Uint8Array[]): Promise<Uint8Array[]> {
  await loadOpus()
  const encoder = createOpusEncoder({ fec: false, maxBitrate: null })
  await new Promise(resolve => setImmediate(resolve)) // the encoder is created in the next turn of the event loop
  const size = (OPUS_SAMPLE_RATE / 1000) * FRAME_MS
  const resampler = createResampler(RATE, OPUS_SAMPLE_RATE)
  const pcm = new Int16Array((frames.length + 1) * size)
  let at = 0
  for (const part of [...frames.map(frame => resampler.push(decodeG711('PCMU', frame))), resampler.flush()]) {
    const fitting = part.subarray(0, pcm.length - at)
    pcm.set(fitting, at)
    at += fitting.length
  }
  const packets = frames.map((_, nth) => encoder.encode(pcm.subarray(nth * size, (nth + 1) * size)))
  encoder.close()
  return packets.map(packet => {
    if (!packet) throw new Error('Opus is not available')
    return Uint8Array.from(packet)
  })
}
