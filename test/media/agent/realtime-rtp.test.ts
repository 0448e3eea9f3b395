/** Audio from a real RTP session to the model's socket and back, and a recording of the same call. */
import { createSocket, type Socket } from 'node:dgram'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { RealtimeConversation } from '../../../media/agent/realtime.ts'
import { decodeG711, encodeG711, type G711 } from '../../../media/audio/g711.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import { createOpenAiRealtime } from '../../../media/models/openai-realtime.ts'
import type { AudioFrame } from '../../../media/ports/leg.ts'
import { recordingSink } from '../../../media/recording/sink.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { parseRtp, writeRtpHeader } from '../../../media/rtp/packet.ts'
import { openRtp } from '../../../media/rtp/session.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt, fakeTts } from '../../fakes/speech.ts'
import { startFakeRealtime } from '../../fakes/vendors/openai-realtime.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'
import { quietLog } from '../../support/world.ts'

const pacer = createPacer(systemClock)
const PERIOD = 256
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function world(codec: G711) {
  const server = await startFakeRealtime()
  closing.push(() => server.close())
  const rtp = await openRtp({ host: '127.0.0.1', ports: { min: 0, max: 0 }, clock: systemClock, pacer, log: quietLog })
  const peer: Socket = createSocket('udp4')
  await new Promise<void>(resolve => peer.bind(0, '127.0.0.1', resolve))
  closing.push(
    () => peer.close(),
    () => rtp.close(),
  )
  const got: { atMs: number; payload: Buffer }[] = []
  peer.on('message', data => {
    const packet = parseRtp(data)
    if (packet) got.push({ atMs: performance.now(), payload: Buffer.from(packet.payload) })
  })
  const remote = { address: '127.0.0.1', port: peer.address().port }
  const payloadType = codec === 'PCMU' ? 0 : 8
  rtp.configure({ remote, codec, payloadType, dtmfPayloadType: null, direction: 'sendrecv' })
  const talk = new RealtimeConversation({
    plan: plan({ direction: 'in', greeting: 'Hi.', llm: { provider: 'openai_realtime', model: 'm', voice: null } }),
    secrets: { tool_headers: {}, llm_api_key: 'k', vendor_keys: {} },
    sampleRate: 8000,
    clock: systemClock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: fakeStt([]),
    tts: fakeTts(),
    llm: fakeLlm(() => []),
    realtime: createOpenAiRealtime({
      url: server.baseUrl,
      apiKey: 'k',
      model: 'm',
      voice: null,
      clock: systemClock,
      log: quietLog,
    }),
    fetch: () => Promise.reject(new Error('none')),
    abilities: {},
    emit: () => {},
    onHangup: () => {},
  })
  closing.push(() => talk.stop())
  const recorded = { caller: [] as AudioFrame[], agent: [] as (Int16Array | null)[] }
  rtp.attach(
    recordingSink(
      talk,
      {
        caller: frame => recorded.caller.push(frame),
        agent: pcm => recorded.agent.push(pcm),
        finish: async () => null,
      },
      8000,
    ),
  )
  talk.start()
  await until('the session', () => server.events.some(event => event.type === 'session.update'))
  await server.sync()
  let sequence = 0
  const send = (payload: Uint8Array) => {
    const data = Buffer.concat([Buffer.alloc(12), payload])
    const timestamp = sequence * 160
    writeRtpHeader(data, { payloadType, marker: false, sequence: sequence++, timestamp, ssrc: 7 })
    peer.send(data, rtp.local.port, '127.0.0.1')
  }
  return { server, send, got, recorded, sent: () => Buffer.concat(got.map(({ payload }) => payload)) }
}

/** 256 bytes, each value once, eight frames of 160 together. */
const every = Buffer.from(Uint8Array.from({ length: 1280 }, (_, i) => i % PERIOD))

describe('µ-law', () => {
  it('passes all 256 values unchanged in both directions, and is recorded', async () => {
    const { server, send, sent, recorded } = await world('PCMU')
    server.scripts.push({ parts: [{ say: 'Bytes.', sound: every }] })
    for (let at = 0; at < every.length; at += 160) send(every.subarray(at, at + 160))
    await until('the bytes', () => server.heard().length === every.length)
    expect(server.heard().equals(every)).toBe(true)
    for (let i = 0; i < 30; i++) send(Buffer.alloc(160, 0xff))
    await until('the answer on the wire', () => sent().includes(every))
    const pcm = decodeG711('PCMU', every)
    const inAll = (frames: (Int16Array | null)[]) =>
      Buffer.concat(frames.map(frame => Buffer.from((frame ?? new Int16Array(160)).slice().buffer)))
    expect(inAll(recorded.caller.map(frame => frame.pcm)).includes(Buffer.from(pcm.slice().buffer))).toBe(true)
    expect(inAll(recorded.agent).includes(Buffer.from(pcm.slice().buffer))).toBe(true)
  })

  it("stops within 40 ms of the vendor's speech event", async () => {
    const { server, send, got } = await world('PCMU')
    server.scripts.push({ parts: [{ say: 'A long story that goes on and on and on and on and on.' }] })
    for (let i = 0; i < 5; i++) send(Buffer.alloc(160, i % 2 ? 0x90 : 0x10))
    for (let i = 0; i < 30; i++) send(Buffer.alloc(160, 0xff))
    const loud = (payload: Buffer) => payload.some(byte => byte === 0x90)
    await until('the story', () => got.filter(({ payload }) => loud(payload)).length > 10)
    server.send({ type: 'input_audio_buffer.speech_started', audio_start_ms: 0, item_id: 'x' })
    await server.sync()
    const toldMs = performance.now()
    const count = got.length
    await until('more packets', () => got.length >= count + 20)
    const last = got.findLast(({ payload }) => loud(payload))!
    expect(last.atMs - toldMs).toBeLessThanOrEqual(40)
  })
})

describe('A-law', () => {
  it('is transcoded in both directions', async () => {
    const { server, send, sent } = await world('PCMA')
    const tone = Int16Array.from({ length: 800 }, (_, i) => Math.round(6000 * Math.sin(i / 5)))
    const sound = Buffer.alloc(tone.length)
    encodeG711('PCMU', tone, sound)
    const alaw = Buffer.alloc(tone.length)
    encodeG711('PCMA', tone, alaw)
    server.scripts.push({ parts: [{ say: 'Tone.', sound }] })
    for (let at = 0; at < alaw.length; at += 160) send(alaw.subarray(at, at + 160))
    await until('the sound', () => server.heard().length === 800)
    const far = (one: Int16Array, other: Int16Array) =>
      Math.max(...one.map((sample, i) => Math.abs(sample - other[i]!)))
    expect(far(decodeG711('PCMU', server.heard()), tone)).toBeLessThan(400)
    for (let i = 0; i < 30; i++) send(Buffer.alloc(160, 0xd5))
    const expected = Buffer.alloc(800)
    encodeG711('PCMA', decodeG711('PCMU', sound), expected)
    await until('the tone on the wire', () => sent().includes(expected))
  })
})
