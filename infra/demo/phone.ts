/**
 * The demo's phone: a separate process with only SIP and RTP. It answers one call at a time, plays the caller's
 * recordings on their cues, and records both sides in a stereo WAV (caller left, agent right).
 */
import { randomUUID } from 'node:crypto'
import { createSocket, type RemoteInfo } from 'node:dgram'
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { frameSamples, rms } from '../../media/audio/frames.ts'
import { decodeWav, encodeWav } from '../../media/audio/wav.ts'
import { createPacer } from '../../media/rtp/pacer.ts'
import { openRtp, RTP_RATE, type RtpSession } from '../../media/rtp/session.ts'
import { type Header, headerOf, type SipRequest, serialise } from '../../sip/text/message.ts'
import { answerOffer } from '../../sip/text/offer.ts'
import { parseMessage } from '../../sip/text/parse.ts'
import { systemClock } from '../adapters/clock.ts'
import { createLog } from '../adapters/log.ts'
import { createCues } from './cues.ts'
import { demoLines } from './script.ts'

const RING_MS = 1200
const FRAME = frameSamples(RTP_RATE)

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    record: { type: 'string' },
  },
})
const log = createLog('phone', 'warn')
const report = (event: object) => process.stdout.write(`${JSON.stringify(event)}\n`)
const pacer = createPacer(systemClock)
const clips = demoLines.map(line => decodeWav(readFileSync(new URL(`voice/${line.file}`, import.meta.url))).pcm)
const socket = createSocket('udp4')

interface LiveCall {
  callId: string
  tag: string
  rtp: RtpSession
  ok: Buffer | null
  cancelAnswer: () => void
  heard: Int16Array[]
  said: Int16Array[]
  closed: boolean
}
let call: LiveCall | null = null

socket.on('message', (bytes, from) => {
  const parsed = parseMessage(bytes)
  if (!parsed.ok || parsed.message.kind !== 'request') return
  void handle(parsed.message, from).catch(error => log.error({ err: error }, 'request failed'))
})
socket.bind(Number(values.port), values.host, () =>
  report({ ready: true, sip: `${socket.address().address}:${socket.address().port}` }),
)

async function handle(request: SipRequest, from: RemoteInfo): Promise<void> {
  const callId = headerOf(request, 'Call-ID') ?? ''
  const ours = call?.callId === callId
  const send = (status: number, reason: string, extra: Header[] = [], body = '') => {
    const response = respond(request, status, reason, ours ? call!.tag : randomUUID().slice(0, 8), extra, body)
    socket.send(response, from.port, from.address)
    return response
  }
  switch (request.method) {
    case 'INVITE':
      if (ours && call!.ok) socket.send(call!.ok, from.port, from.address)
      else if (!ours && call) send(486, 'Busy Here')
      else if (!ours) await ring(request, callId, from)
      return
    case 'ACK':
      if (ours) talk(call!)
      return
    case 'BYE':
      send(200, 'OK')
      if (ours) hangUp(call!)
      return
    case 'CANCEL':
      send(200, 'OK')
      if (ours && !call!.ok) {
        call!.cancelAnswer()
        hangUp(call!)
      }
      return
    default:
      send(200, 'OK', [['Allow', 'INVITE, ACK, BYE, CANCEL, OPTIONS']])
  }
}

async function ring(request: SipRequest, callId: string, from: RemoteInfo): Promise<void> {
  const rtp = await openRtp({ host: values.host, ports: { min: 0, max: 0 }, clock: systemClock, pacer, log })
  const live: LiveCall = {
    callId,
    tag: randomUUID().slice(0, 8),
    rtp,
    ok: null,
    cancelAnswer: () => {},
    heard: [],
    said: [],
    closed: false,
  }
  call = live
  const contact: Header = ['Contact', `<sip:phone@${values.host}:${socket.address().port}>`]
  const reply = (status: number, reason: string, extra: Header[], body = '') => {
    const response = respond(request, status, reason, live.tag, extra, body)
    socket.send(response, from.port, from.address)
    return response
  }
  const answer = answerOffer(request.body.toString('latin1'), {
    address: values.host,
    port: rtp.local.port,
    codecs: ['PCMU', 'PCMA'],
    sessionId: String(Date.now()),
    version: 1,
  })
  if (!answer.ok) {
    reply(488, 'Not Acceptable Here', [])
    hangUp(live)
    return
  }
  reply(180, 'Ringing', [contact])
  report({ event: 'ringing' })
  live.cancelAnswer = systemClock.after(RING_MS, () => {
    rtp.configure({
      remote: answer.audio.remote,
      codec: answer.audio.codec,
      payloadType: answer.audio.payloadType,
      dtmfPayloadType: answer.audio.dtmf?.send ?? null,
      direction: answer.audio.direction,
    })
    live.ok = reply(200, 'OK', [contact, ['Content-Type', 'application/sdp']], answer.sdp)
  })
}

function respond(
  request: SipRequest,
  status: number,
  reason: string,
  tag: string,
  extra: Header[],
  body: string,
): Buffer {
  const copied = request.headers.filter(([name]) => ['Via', 'From', 'Call-ID', 'CSeq', 'Record-Route'].includes(name))
  const to = headerOf(request, 'To') ?? ''
  const headers: Header[] = [...copied, ['To', /;\s*tag=/.test(to) ? to : `${to};tag=${tag}`], ...extra]
  return serialise({ kind: 'response', status, reason, headers, body: Buffer.from(body, 'latin1') })
}

const talking = new WeakSet<LiveCall>()

function talk(live: LiveCall): void {
  if (talking.has(live)) return
  talking.add(live)
  report({ event: 'answered' })
  const cues = createCues(demoLines.map(line => line.cue))
  let clip: { pcm: Int16Array; at: number } | null = null
  live.rtp.attach({
    pull() {
      const frame = new Int16Array(FRAME)
      if (clip) {
        frame.set(clip.pcm.subarray(clip.at, clip.at + FRAME))
        clip.at += FRAME
        if (clip.at >= clip.pcm.length) {
          clip = null
          cues.said()
        }
      }
      live.said.push(frame)
      return frame
    },
    push({ pcm }) {
      live.heard.push(pcm)
      const line = cues.hear(rms(pcm))
      if (line === null) return
      clip = { pcm: clips[line]!, at: 0 }
      report({ event: 'says', text: demoLines[line]!.text })
    },
    dtmf() {},
  })
}

function hangUp(live: LiveCall): void {
  if (live.closed) return
  live.closed = true
  live.rtp.close()
  if (call === live) call = null
  if (values.record && live.heard.length > 0) writeFileSync(values.record, recording(live))
  report({ event: 'over' })
}

function recording({ said, heard }: LiveCall): Buffer {
  const frames = Math.min(said.length, heard.length)
  const pcm = new Int16Array(frames * FRAME * 2)
  for (let f = 0; f < frames; f++) {
    for (let i = 0; i < FRAME; i++) {
      pcm[(f * FRAME + i) * 2] = said[f]![i]!
      pcm[(f * FRAME + i) * 2 + 1] = heard[f]![i]!
    }
  }
  return encodeWav({ sampleRate: RTP_RATE, channels: 2, pcm })
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (call) hangUp(call)
    process.exit(0)
  })
}
