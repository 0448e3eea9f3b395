/**
 * A call over SIP with providers that its project chose by REST: STT, text model and TTS are local servers with the
 * providers' protocols. Then the same with the first of each down.
 */
import { afterAll, beforeAll, expect } from 'vitest'
import { type FakeCartesia, startFakeCartesia } from '../fakes/vendors/cartesia.ts'
import { type FakeElevenLabs, startFakeElevenLabs } from '../fakes/vendors/elevenlabs.ts'
import { type HttpAnswer, type HttpVendor, startHttpVendor } from '../fakes/vendors/http-vendor.ts'
import { type FakeRealtime, startFakeRealtime } from '../fakes/vendors/openai-realtime.ts'
import {
  anthropicStream,
  baseUrlOf,
  googleStream,
  type Kind,
  refusal,
  sse,
  whole,
} from '../fakes/vendors/text-models.ts'
import { startWsVendor, type WsVendor } from '../fakes/vendors/ws-vendor.ts'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { type Baresip, startBaresip } from '../support/stack-baresip.ts'
import { expectCost, expectSettled } from '../support/stack-checks.ts'
import type { Owner } from '../support/stack-owner.ts'
import { soundOf, type Tap, tapRtp } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'

const { it } = needs('baresip', 'tcpdump')

const QUESTION = 'Who built the lighthouse?'
const READ = 'Tell me about the old lighthouse'
const SPEAKS = { anthropic: 'It was built by the river people.', google: 'It was built long ago.' }

let stack: Stack
let tap: Tap
let deepgram: WsVendor
let elevenlabs: FakeElevenLabs
let cartesia: FakeCartesia
let anthropic: HttpVendor
let google: HttpVendor
let realtime: FakeRealtime
beforeAll(async () => {
  deepgram = await startReader()
  ;[elevenlabs, cartesia] = await Promise.all([startFakeElevenLabs(), startFakeCartesia()])
  ;[anthropic, google] = await Promise.all([startHttpVendor(), startHttpVendor()])
  realtime = await startFakeRealtime()
  anthropic.answer = thinks('anthropic', anthropicStream({ text: SPEAKS.anthropic.split(/(?<= )/) }))
  google.answer = thinks('google', googleStream({ text: SPEAKS.google.split(/(?<= )/) }))
  stack = await startStack({
    DEEPGRAM_URL: deepgram.baseUrl,
    ELEVENLABS_URL: elevenlabs.baseUrl,
    CARTESIA_URL: cartesia.baseUrl,
    ANTHROPIC_URL: baseUrlOf('anthropic', anthropic),
    GOOGLE_URL: baseUrlOf('google', google),
    OPENAI_URL: `${realtime.baseUrl.replace(/^ws/, 'http')}/v1`,
  })
  tap = await tapRtp(stack)
})
afterAll(async () => {
  await stack?.stop()
  await Promise.all([deepgram, elevenlabs, cartesia, anthropic, google, realtime].map(vendor => vendor?.close()))
})

/** Deepgram's protocol with one sentence in it: heard where the sound was loud first. */
function startReader(): Promise<WsVendor> {
  return startWsVendor(socket => {
    let samples = 0
    let finalAt = 0
    let loudAt: number | null = null
    let told = false
    const rate = 8000
    socket.on('message', (bytes: Buffer, isBinary) => {
      if (isBinary) {
        for (let i = 0; i + 1 < bytes.length; i += 2)
          if (loudAt === null && Math.abs(bytes.readInt16LE(i)) > 2000) loudAt = samples + i / 2
        samples += bytes.length / 2
        return
      }
      const { type } = JSON.parse(bytes.toString()) as { type: string }
      if (type === 'CloseStream') return socket.close(1000)
      if (type !== 'Finalize') return
      const said = loudAt === null || told ? [] : READ.split(' ')
      told ||= said.length > 0
      const words = said.map((word, i) => {
        const start = loudAt! / rate + i * 0.02
        return { word, punctuated_word: word, start, end: start + 0.02, confidence: 0.9 }
      })
      const alternatives = [{ transcript: said.join(' '), confidence: 0.9, words }]
      const span = { start: finalAt / rate, duration: (samples - finalAt) / rate }
      finalAt = samples
      const state = { is_final: true, speech_final: false, from_finalize: true }
      socket.send(
        JSON.stringify({ type: 'Results', channel_index: [0, 1], ...span, ...state, channel: { alternatives } }),
      )
    })
  })
}

/** Streams what it says, and writes the record of the call when requested. */
const thinks =
  (kind: Kind, said: string[]) =>
  (body: Buffer): HttpAnswer => {
    if (!body.toString().includes('You write the record of a telephone call')) return sse(said)
    const record = { summary: `Written by ${kind}.`, goal_reached: false, goal_evidence: '', caller_name: '' }
    return whole(kind, JSON.stringify(record))
  }

async function choose(owner: Owner, keys: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(keys)) {
    const set = await owner.rest('POST', '/secrets', { name, value })
    expect(set.status).toBe(200)
  }
  const saved = await owner.rest('PATCH', `/projects/${owner.projectId}`, {
    greeting: 'Welcome to the museum.',
    llm: { provider: 'anthropic', model: 'claude-haiku-4-5', api_key_secret: 'ANTHROPIC' },
    llm_fallback: [{ provider: 'google', model: 'gemini-3-flash-preview', api_key_secret: 'GOOGLE' }],
    speech_to_text: [{ provider: 'deepgram', api_key_secret: 'DEEPGRAM' }],
    text_to_speech: [
      { provider: 'elevenlabs', voice: 'rachel', api_key_secret: 'ELEVEN' },
      { provider: 'cartesia', voice: 'katie', api_key_secret: 'CARTESIA' },
    ],
  })
  expect([saved.status, saved.body]).toEqual([200, expect.anything()])
}

/** Calls the agent, asks the question, waits for an answer, and hangs up. */
async function ask(phone: Baresip, owner: Owner) {
  const sound = await stack.speech.say(QUESTION)
  await phone.command('dial', `sip:${owner.number}@${stack.sip.host}:${stack.sip.port}`)
  await phone.wait('CALL_ESTABLISHED')
  const { id } = (await until(() => owner.newest('in'), 'the call'))!
  const call = await owner.follow(id)
  await call.agentSaid(1)
  await phone.speak(sound)
  await call.wait('turn.finished', ({ turn }) => turn.role === 'caller')
  await call.agentSaid(2)
  await phone.command('hangup')
  await call.ended()
  const switches = call.events.filter(event => event.type === 'provider.switched')
  return { id, switches, detail: await owner.detail(id) }
}

const KEYS = { ANTHROPIC: 'sk-an', GOOGLE: 'sk-go', DEEPGRAM: 'sk-dg', ELEVEN: 'sk-el', CARTESIA: 'sk-ca' }

it("uses STT, LLM and TTS of the project's vendors", { timeout: 180_000 }, async () => {
  const phone = await startBaresip(stack, '+14155550171')
  const owner = await stack.owner({ trunk: { port: phone.port } })
  await choose(owner, KEYS)
  const { switches, detail } = await ask(phone, owner)
  expect(detail.transcript.map(({ role, heard_text }) => [role, heard_text])).toEqual([
    ['agent', 'Welcome to the museum.'],
    ['caller', READ],
    ['agent', SPEAKS.anthropic],
  ])
  expect(detail).toMatchObject({ status: 'completed', summary: 'Written by anthropic.' })
  expect(switches).toEqual([])
  expect(deepgram.requests.map(({ headers }) => headers.authorization)).toEqual(['Token sk-dg'])
  expect(elevenlabs.requests.every(({ headers }) => headers['xi-api-key'] === 'sk-el')).toBe(true)
  expect(anthropic.asked.every(({ request }) => request.headers['x-api-key'] === 'sk-an')).toBe(true)
  expect([...cartesia.requests, ...google.asked]).toEqual([])
  // The vendor's voice is a steady level of 4000: that is what went over the wire.
  const wire = soundOf(tap.packets({ to: phone.isMedia }))
  expect(wire.filter(sample => Math.abs(sample - 4000) < 200).length).toBeGreaterThan(8000)
  expectCost(detail)
  await expectSettled(stack, owner)
})

it('falls back to the next of each in the same turn', { timeout: 180_000 }, async () => {
  deepgram.refuse = { status: 401 }
  elevenlabs.refuse = { status: 429, headers: { 'retry-after': '60' } }
  anthropic.answer = refusal('anthropic', 529)
  const phone = await startBaresip(stack, '+14155550172')
  const owner = await stack.owner({ trunk: { port: phone.port } })
  await choose(owner, Object.fromEntries(Object.entries(KEYS).map(([name, value]) => [name, `${value}-2`])))
  const { switches, detail } = await ask(phone, owner)
  expect(detail.transcript.map(({ role }) => role)).toEqual(['agent', 'caller', 'agent'])
  expect(detail.transcript[0]!.heard_text).toBe('Welcome to the museum.')
  expect(detail.transcript[1]!.text).toMatch(/light ?house/i) // the offline recogniser
  expect(detail.transcript[2]!.heard_text).toBe(SPEAKS.google)
  expect(detail.summary).toBe('Written by google.')
  expect(switches.map(({ kind, from, to, code }) => [kind, from, to, code])).toEqual([
    ['tts', 'elevenlabs', 'cartesia', 'rate_limited'],
    ['stt', 'deepgram', 'offline', 'unauthorized'],
    ['llm', 'anthropic/claude-haiku-4-5', 'google/gemini-3-flash-preview', 'unavailable'],
  ])
  const logs = [...stack.logged('engine'), ...stack.logged('control')]
  expect(JSON.stringify([switches, logs])).not.toMatch(/sk-(?:an|go|dg|el|ca)/)
  await expectSettled(stack, owner)
})

it('uses a speech-to-speech model, whose audio passes unchanged', { timeout: 180_000 }, async () => {
  realtime.transcripts = [READ]
  realtime.scripts = [{ parts: [{ say: 'It was built by the sea.' }] }]
  const phone = await startBaresip(stack, '+14155550173')
  const owner = await stack.owner({ trunk: { port: phone.port } })
  expect((await owner.rest('POST', '/secrets', { name: 'OPENAI', value: 'sk-rt' })).status).toBe(200)
  const saved = await owner.rest('PATCH', `/projects/${owner.projectId}`, {
    greeting: 'Welcome to the museum.',
    llm: { provider: 'openai_realtime', model: 'gpt-realtime', voice: 'marin', api_key_secret: 'OPENAI' },
  })
  expect(saved.status).toBe(200)
  const { switches, detail } = await ask(phone, owner)
  expect(detail.transcript.map(({ role, heard_text }) => [role, heard_text])).toEqual([
    ['agent', 'Welcome to the museum.'],
    ['caller', READ],
    ['agent', 'It was built by the sea.'],
  ])
  expect(detail).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
  expect(switches).toEqual([])
  expect(realtime.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-rt'])
  expectCost(detail)
  await expectSettled(stack, owner)
})
