/** The adapter against a server that speaks the vendor's protocol, over a real socket. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { encodeG711 } from '../../../media/audio/g711.ts'
import { createOpenAiRealtime, type OpenAiRealtimeOptions } from '../../../media/models/openai-realtime.ts'
import type { AudioFrame } from '../../../media/ports/leg.ts'
import type { RealtimeEvent, RealtimeOptions, RealtimeStream } from '../../../media/ports/realtime-model.ts'
import { fakeClock } from '../../fakes/line.ts'
import { type FakeRealtime, startFakeRealtime } from '../../fakes/vendors/openai-realtime.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'
import { recordingLog } from '../../support/world.ts'

const KEY = 'sk-secret-key'
let server: FakeRealtime
let log: ReturnType<typeof recordingLog>
let streams: RealtimeStream[]

beforeEach(async () => {
  server = await startFakeRealtime()
  log = recordingLog()
  streams = []
})
afterEach(async () => {
  for (const stream of streams) stream.close()
  await until('all sockets closed', () => server.open() === 0)
  await server.close()
  expect(JSON.stringify(log.lines)).not.toMatch(/sk-secret|Something that was said/)
})

function open(session: Partial<RealtimeOptions> = {}, options: Partial<OpenAiRealtimeOptions> = {}) {
  const events: RealtimeEvent[] = []
  const model = createOpenAiRealtime({
    url: `${server.baseUrl}/v1`,
    apiKey: KEY,
    model: 'gpt-realtime',
    voice: 'marin',
    clock: systemClock,
    log,
    ...options,
  })
  const stream = model.open({
    sampleRate: 8000,
    instructions: 'Be kind.',
    boundary: 'b0undaryOfTests1',
    language: 'en-GB',
    tools: [],
    history: [],
    onEvent: event => events.push(event),
    ...session,
  })
  streams.push(stream)
  const of = <T extends RealtimeEvent['type']>(type: T) =>
    events.filter((event): event is Extract<RealtimeEvent, { type: T }> => event.type === type)
  return { stream, events, of, ready: () => until('a session', () => of('ready').length > 0) }
}

const frame = (value: number, samples = 160): AudioFrame => ({
  pcm: new Int16Array(samples).fill(value),
  atMs: 0,
  concealed: false,
})
function say(stream: RealtimeStream) {
  for (let i = 0; i < 20; i++) stream.push(frame(i % 2 ? 5000 : -5000))
  for (let i = 0; i < 30; i++) stream.push(frame(0))
}
const sent = (type: string) => server.events.filter(event => event.type === type)

describe('a session', () => {
  it('is set up with prompt, voice, tools, µ-law both ways and what was said before', async () => {
    const { ready } = open({
      tools: [{ name: 'look_up', description: 'Look up', parameters: { type: 'object' } }],
      history: [
        { role: 'agent', text: 'Hello', interrupted: true },
        { role: 'caller', text: '12', keys: true },
        { role: 'tool', id: 'c1', step: '1', name: 'look_up', arguments: { a: 1 }, result: 'seven', ok: true },
      ],
    })
    await ready()
    await until('the history', () => server.items().length === 4)
    const [request] = server.requests
    expect(request!.url).toBe('/v1/realtime?model=gpt-realtime')
    expect(request!.headers.authorization).toBe(`Bearer ${KEY}`)
    expect(sent('session.update')[0]!['session']).toMatchObject({
      type: 'realtime',
      instructions: 'Be kind.',
      output_modalities: ['audio'],
      audio: {
        input: {
          format: { type: 'audio/pcmu' },
          transcription: { language: 'en' },
          turn_detection: { create_response: true, interrupt_response: true },
        },
        output: { format: { type: 'audio/pcmu' }, voice: 'marin' },
      },
      tools: [{ type: 'function', name: 'look_up', description: 'Look up', parameters: { type: 'object' } }],
    })
    expect(server.items()).toMatchObject([
      { role: 'assistant', content: [{ type: 'output_text', text: expect.stringMatching(/^Hello —/) }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: '(pressed keys) 12' }] },
      { type: 'function_call', call_id: 'c1', name: 'look_up', arguments: '{"a":1}' },
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: '<data-b0undaryOfTests1 from="look_up">\nseven\n</data-b0undaryOfTests1>',
      },
    ])
  })

  it('passes all 256 bytes of µ-law on untouched, both ways', async () => {
    const all = Buffer.from(Uint8Array.from({ length: 320 }, (_, i) => i % 256))
    server.scripts.push({ parts: [{ say: 'Bytes', sound: all }] })
    const { stream, of, ready } = open()
    await ready()
    for (const at of [0, 160]) {
      const ulaw = all.subarray(at, at + 160)
      stream.push({ pcm: new Int16Array(160), ulaw, atMs: 0, concealed: false })
    }
    await until('the bytes', () => server.heard().length === 320)
    expect(server.heard().equals(all)).toBe(true)
    stream.respond()
    await until('the answer', () => of('answer_done').length > 0)
    expect(Buffer.concat(of('speech').map(event => event.ulaw!)).equals(all)).toBe(true)
  })

  it('encodes PCM of a leg without µ-law', async () => {
    const { stream, ready } = open()
    await ready()
    stream.push(frame(1234))
    await until('the bytes', () => server.heard().length === 160)
    const expected = Buffer.alloc(160)
    encodeG711('PCMU', frame(1234).pcm, expected)
    expect(server.heard().equals(expected)).toBe(true)
  })

  it('speaks 24 kHz PCM to a leg of 48 kHz', async () => {
    server.scripts.push({ parts: [{ say: 'Wide' }] })
    const { stream, of, ready } = open({ sampleRate: 48_000 })
    await ready()
    expect(sent('session.update')[0]!['session']).toMatchObject({
      audio: { input: { format: { type: 'audio/pcm', rate: 24_000 } }, output: { format: { type: 'audio/pcm' } } },
    })
    for (let i = 0; i < 10; i++) stream.push(frame(1000, 960))
    await until('the sound', () => server.heard().length > 9000)
    expect(server.heard().readInt16LE(6000)).toBe(1000)
    stream.respond()
    await until('the answer', () => of('answer_done').length > 0)
    const samples = of('speech').reduce((sum, { pcm }) => sum + pcm.length, 0)
    expect(Math.abs(samples - 4 * 60 * 48)).toBeLessThanOrEqual(48 * 3)
    expect(of('speech').every(({ ulaw }) => ulaw === null)).toBe(true)
  })

  it('buffers messages until ready', async () => {
    const { stream } = open()
    stream.push(frame(5000))
    stream.addMessage({ role: 'caller', text: 'Hi' })
    await until('both', () => server.heard().length === 160 && server.items().length === 1)
    expect(server.events[0]!.type).toBe('session.update')
  })
})

describe('a turn', () => {
  it('is reported from first voice to last word', async () => {
    server.transcripts.push(' Hello there. ')
    server.scripts.push({ parts: [{ say: 'Hi.' }] })
    const { stream, events, of, ready } = open()
    await ready()
    say(stream)
    await until('the words', () => of('caller_said').length > 0)
    const order = events.map(event => event.type).filter((type, i, all) => type !== all[i - 1])
    expect(order).toEqual([
      'ready',
      'caller_started',
      'caller_done',
      'answer_started',
      'words',
      'speech',
      'speech_done',
      'answer_done',
      'caller_said',
    ])
    expect(of('caller_said')[0]!.text).toBe('Hello there.')
    expect(
      of('words')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe('Hi.')
  })

  it('reports a failed transcription', async () => {
    server.transcripts.push(null)
    const { stream, of, ready } = open()
    await ready()
    say(stream)
    await until('the words', () => of('caller_said').length > 0)
    expect(of('caller_said')[0]!.text).toBeNull()
  })

  it('interrupts an answer', async () => {
    server.scripts.push({ parts: [{ say: 'A long story', hangs: true }] }, { parts: [{ say: 'Yes?' }] })
    const { stream, of, ready } = open()
    await ready()
    say(stream)
    await until('the answer', () => of('speech').length > 0)
    say(stream)
    await until('both', () => of('answer_done').length === 2)
    expect(of('answer_done').map(({ broken }) => broken)).toEqual([true, false])
  })
})

describe('tools', () => {
  it('are reported with arguments or a parse error', async () => {
    server.scripts.push({
      parts: [
        { call: 'a', args: '{"n":1}', id: 'one' },
        { call: 'b', args: '{"n":', id: 'two' },
        { call: 'c', args: '[]', id: 'three' },
        { call: 'd', args: '', id: 'four' },
      ],
    })
    const { stream, of, ready } = open()
    await ready()
    stream.respond()
    await until('the answer', () => of('answer_done').length > 0)
    expect(of('tool').map(({ id, name, arguments: args, problem }) => [id, name, args, problem !== undefined])).toEqual(
      [
        ['one', 'a', { n: 1 }, false],
        ['two', 'b', {}, true],
        ['three', 'c', {}, true],
        ['four', 'd', {}, false],
      ],
    )
  })

  it('give their result to the call that asked', async () => {
    server.scripts.push({ parts: [{ call: 'a', id: 'one' }] }, { parts: [{ say: 'Done.' }] })
    const { stream, of, ready } = open()
    await ready()
    stream.respond()
    await until('the call', () => of('tool').length > 0)
    const message = { role: 'tool', id: 'one', step: '1', name: 'a', arguments: {}, result: 'ok', ok: true } as const
    stream.addToolResult(message)
    stream.respond()
    await until('the answer', () => of('words').length > 0)
    expect(server.items().find(item => item.type === 'function_call_output')).toMatchObject({ call_id: 'one' })
    expect(log.lines).toEqual([])
  })
})

describe('an answer', () => {
  it('is queued behind another response', async () => {
    server.scripts.push({ parts: [{ say: 'One', hangs: true }] }, { parts: [{ say: 'Two' }] })
    const { stream, of, ready } = open()
    await ready()
    stream.respond()
    await until('the first', () => of('speech').length > 0)
    stream.respond()
    await server.sync()
    expect(sent('response.create')).toHaveLength(1)
    server.send({ type: 'response.done', response: { id: of('answer_started')[0]!.answer, status: 'completed' } })
    await until('the second request', () => sent('response.create').length === 2)
  })

  it('waits for a response that the vendor started', async () => {
    server.scripts.push({ parts: [], silent: true })
    const { stream, of, ready } = open()
    await ready()
    server.send({ type: 'response.created', response: { id: 'theirs' } })
    stream.respond()
    server.fail({ type: 'invalid_request_error', code: 'conversation_already_has_active_response', event_id: 'ask-1' })
    await server.sync()
    expect(of('answer_failed')).toEqual([])
    server.send({ type: 'response.done', response: { id: 'theirs', status: 'completed' } })
    await until('ours', () => of('words').length > 0)
  })

  it('is not requested while the caller speaks', async () => {
    const { stream, of, ready } = open()
    await ready()
    for (let i = 0; i < 10; i++) stream.push(frame(i % 2 ? 5000 : -5000))
    await until('the voice', () => of('caller_started').length > 0)
    stream.respond()
    for (let i = 0; i < 30; i++) stream.push(frame(0))
    await until('the answer', () => of('answer_done').length > 0)
    await server.sync()
    expect(sent('response.create')).toEqual([])
    expect(of('answer_done')).toHaveLength(1)
  })

  it('survives a rate-limited response', async () => {
    const error = { type: 'requests', code: 'rate_limit_exceeded' }
    server.scripts.push({ parts: [], status: 'failed', error })
    const { stream, of, ready } = open()
    await ready()
    stream.respond()
    await until('the failure', () => of('answer_failed').length > 0)
    expect(of('answer_failed')[0]!.error).toMatchObject({ code: 'rate_limited', retryable: true })
    stream.respond()
    await until('an answer', () => of('answer_done').length > 0)
    expect(of('ended')).toEqual([])
  })

  it('is cancelled and truncated on demand', async () => {
    server.scripts.push({ parts: [{ say: 'A long story', hangs: true }] })
    const { stream, of, ready } = open()
    await ready()
    stream.cancel() // nothing is being said
    stream.respond()
    await until('the answer', () => of('speech').length > 0)
    stream.cancel()
    stream.truncate(of('speech')[0]!.item, 340)
    await until('the end', () => of('answer_done').length > 0)
    await server.sync()
    expect(of('answer_done')[0]!.broken).toBe(true)
    expect(sent('response.cancel')).toHaveLength(1)
    expect(sent('conversation.item.truncate')[0]).toMatchObject({ content_index: 0, audio_end_ms: 340 })
    expect(server.items()[0]).toMatchObject({ truncatedMs: 340 })
  })
})

describe('end of a session', () => {
  it.each([
    ['with its longest time', { type: 'invalid_request_error', code: 'session_expired' }, 'unavailable', true],
    ['when the money is gone', { type: 'invalid_request_error', code: 'insufficient_quota' }, 'unauthorized', false],
  ] as const)('%s', async (_, error, code, retryable) => {
    const { of, ready } = open()
    await ready()
    server.fail(error)
    await until('the end', () => of('ended').length > 0)
    expect(of('ended')[0]!.error).toMatchObject({ code, retryable })
  })

  it('when it could not be set up', async () => {
    server.sessionError = { type: 'invalid_request_error', code: 'invalid_value', message: 'Something that was said.' }
    const { of } = open()
    await until('the end', () => of('ended').length > 0)
    expect(of('ended')[0]!.error).toMatchObject({ code: 'bad_answer', retryable: false })
  })

  it.each([
    [401, 'unauthorized', false],
    [429, 'rate_limited', true],
    [503, 'unavailable', true],
  ] as const)('when the handshake is refused with %d', async (status, code, retryable) => {
    server.refuse = { status }
    const { of } = open()
    await until('the end', () => of('ended').length > 0)
    expect(of('ended')[0]!.error).toMatchObject({ code, retryable })
  })

  it.each(['deaf', 'mute'] as const)('when the server is %s', async how => {
    if (how === 'deaf') server.sttUnavailable = true
    else server.sessionError = 'none'
    const clock = fakeClock()
    const { of } = open({}, { clock })
    await until('the handshake', () =>
      how === 'deaf' ? server.requests.length > 0 : sent('session.update').length > 0,
    )
    clock.advance(5000)
    await until('the end', () => of('ended').length > 0)
    expect(of('ended')[0]!.error).toMatchObject({ code: 'timeout', retryable: true })
  })

  it('when the connection is cut, once, and nothing comes after it', async () => {
    const { stream, events, of, ready } = open()
    await ready()
    server.drop()
    await until('the end', () => of('ended').length > 0)
    stream.push(frame(0))
    stream.respond()
    stream.cancel()
    await new Promise(resolve => setImmediate(resolve))
    expect(events.map(event => event.type)).toEqual(['ready', 'ended'])
    expect(of('ended')[0]!.error).toMatchObject({ code: 'unavailable', retryable: true })
  })

  it('when it sends what cannot be read again and again, not at the first', async () => {
    const { of, ready } = open()
    await ready()
    server.send('{"type":"response.do')
    server.send({ type: 'a.new.event', payload: 1 })
    server.send({ type: 'response.created' })
    server.send('[]')
    await server.sync()
    expect(of('ended')).toEqual([])
    server.send('null')
    server.send({ type: 'response.output_audio.delta', response_id: 'r', item_id: 'i', delta: 'no base64!' })
    await until('the end', () => of('ended').length > 0)
    expect(of('ended')[0]!.error).toMatchObject({ code: 'bad_answer' })
  })

  it('by error events only when they say so', async () => {
    const { of, ready } = open()
    await ready()
    server.fail({ type: 'server_error', code: 'internal' })
    server.fail({ type: 'invalid_request_error', code: 'item_truncate_invalid_item_id' })
    await server.sync()
    expect(of('ended')).toEqual([])
  })
})
