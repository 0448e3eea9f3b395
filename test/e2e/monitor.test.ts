/**
 * An operator in a live phone call: listens, whispers to its agent, takes over, and hands it back. Real SIP on one
 * side, a real LiveKit room on the other.
 */
import { RoomServiceClient } from 'livekit-server-sdk'
import { afterAll, beforeAll, expect } from 'vitest'
import { concatPcm } from '../../media/audio/frames.ts'
import { createResampler } from '../../media/audio/resample.ts'
import { livekitBinary } from '../support/livekit.ts'
import { needs } from '../support/needs.ts'
import { joinRoom, ROOM_RATE, type RoomPeer } from '../support/room-peer.ts'
import { type Baresip, startBaresip } from '../support/stack-baresip.ts'
import { expectSettled, WORD_ERRORS } from '../support/stack-checks.ts'
import type { CallStream, Owner } from '../support/stack-owner.ts'
import { type RoomStack, startRoomStack, wide } from '../support/stack-rooms.ts'
import { RATE, wordErrors } from '../support/stack-speech.ts'
import { isLoud, soundOf, type Tap, tapRtp } from '../support/stack-wire.ts'
import { json } from '../support/stack-world.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('baresip', 'tcpdump')

const CALLEE = '+14155550177'
const ANSWER = 'The answer is in the library.'
let stack: RoomStack
let tap: Tap
let phone: Baresip
let owner: Owner
/** Requests to the text model, in order. */
const asked: string[] = []
beforeAll(async () => {
  if (!livekitBinary) return
  stack = await startRoomStack()
  tap = await tapRtp(stack)
  stack.world.on('/hook', (_, response) => response.writeHead(204).end())
  stack.world.on('/v1/chat/completions', ({ body }, response) => {
    const model = 'local'
    if (!(JSON.parse(body) as { stream?: boolean }).stream) {
      const content = JSON.stringify({ summary: 'They talked.', goal_reached: false, goal_evidence: null })
      const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
      json(response, { id: 'c', object: 'chat.completion', created: 1, model, choices })
      return
    }
    asked.push(body)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] }
    const wantsPerson = messages.at(-1)!.role === 'user' && /\bmanager\b/i.test(JSON.stringify(messages.at(-1)))
    const transfer = { name: 'transfer_call', arguments: '{"to":"manager"}' }
    const said = wantsPerson
      ? { role: 'assistant', tool_calls: [{ index: 0, id: 't1', type: 'function', function: transfer }] }
      : { role: 'assistant', content: ANSWER }
    for (const [delta, finish_reason] of [
      [said, null],
      [{}, wantsPerson ? 'tool_calls' : 'stop'],
    ]) {
      const choices = [{ index: 0, delta, finish_reason }]
      response.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model, choices })}\n\n`,
      )
    }
    response.end('data: [DONE]\n\n')
  })
  phone = await startBaresip(stack, CALLEE)
  owner = await stack.owner({
    trunk: { port: phone.port },
    webhook: `${stack.world.url}/hook`,
    secrets: { MODEL_KEY: 'sk-e2e' },
    project: {
      greeting: 'Hello, this is the night porter.',
      transfers: [{ name: 'manager', to: 'browser', description: 'Knows about prices' }],
      llm: {
        provider: 'openai_compatible',
        base_url: `${stack.world.url}/v1`,
        model: 'local',
        api_key_secret: 'MODEL_KEY',
      },
    },
  })
}, 300_000)
afterAll(() => stack?.stop())

const monitor = async (call: CallStream, body: object) => {
  const answer = await owner.rest('POST', `/calls/${call.id}/monitor`, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body as { monitor_id: string; mode: string; url: string; token: string; expires_in: number }
}

/** Transcribes the audio that a participant has received since a frame. */
async function wordsSince(peer: RoomPeer, from: number): Promise<string> {
  const pcm = concatPcm(peer.heard.slice(from).map(({ samples }) => samples))
  const heard = await stack.speech.read(createResampler(ROOM_RATE, RATE).push(pcm))
  return heard.map(({ text }) => text).join(' ')
}

const loudToPhone = () => tap.packets({ to: phone.isMedia }).filter(isLoud).length
/** Through a telephone and a room the recogniser takes more words for others; another sentence would be all wrong. */
const TWO_HOPS = 0.5
const expectWords = (wanted: string, heard: string, most = WORD_ERRORS) =>
  expect(wordErrors(wanted, heard), `wanted: ${wanted}\nheard: ${heard}`).toBeLessThanOrEqual(most)
const turnsOf = (call: CallStream, role: string) =>
  call.events.flatMap(event => (event.type === 'turn.finished' && event.turn.role === role ? [event.turn] : []))

describe.skipIf(!livekitBinary)('an operator', () => {
  it('listens, whispers, takes over and hands back', { timeout: 400_000 }, async () => {
    const [question, whisper, manager, opening, last] = await Promise.all(
      [
        'Who built the old lighthouse?',
        'Please tell him that we close at nine.',
        'Hello, this is the manager speaking.',
        'When do you open in the morning?',
        'Thank you for telling me.',
      ].map(text => stack.speech.say(text)),
    )
    const call = await owner.place(CALLEE)
    await phone.wait('CALL_INCOMING')
    expect((await owner.rest('POST', `/calls/${call.id}/monitor`, { mode: 'listen' })).status).toBe(409)
    await phone.command('accept')
    await call.agentSaid(1)

    // Listening: both sides are heard, and nothing of it is noticed.
    const seat = await monitor(call, { mode: 'listen' })
    const { monitor_id } = seat
    let operator = await joinRoom(seat.url, seat.token, { microphone: false })
    await call.wait('monitor.joined', event => event.monitor_id === monitor_id && event.mode === 'listen')
    await phone.speak(question!)
    await call.agentSaid(2)
    const heard = await wordsSince(operator, 0)
    expectWords(`Who built the old lighthouse? ${ANSWER}`, heard, TWO_HOPS)

    // Whisper: only the agent receives it.
    const whispering = await monitor(call, { mode: 'whisper', monitor_id })
    await call.wait('monitor.changed', event => event.mode === 'whisper')
    await operator.leave()
    await call.wait('monitor.left')
    operator = await joinRoom(whispering.url, whispering.token)
    await until(() => call.events.filter(({ type }) => type === 'monitor.joined').length === 2, 'the operator', 10_000)
    const before = loudToPhone()
    await operator.say(wide(whisper!))
    const whispered = await call.wait('monitor.whispered')
    expectWords('Please tell him that we close at nine.', whispered.text)
    expect(loudToPhone()).toBe(before)
    await phone.speak(last!)
    await call.agentSaid(3)
    expect(asked.at(-1)).toContain(whispered.text)

    // Taking over: the agent is silent, the operator is heard and written down, and so is the caller.
    await monitor(call, { mode: 'takeover', monitor_id })
    await call.wait('monitor.changed', event => event.mode === 'takeover')
    const asks = asked.length
    const from = tap.packets({ to: phone.isMedia }).length
    await operator.say(wide(manager!))
    await until(() => turnsOf(call, 'operator').length === 1, 'the words of the operator', 20_000)
    expectWords('Hello, this is the manager speaking.', turnsOf(call, 'operator')[0]!.text)
    const onWire = await stack.speech.read(soundOf(tap.packets({ to: phone.isMedia }).slice(from)))
    expectWords('Hello, this is the manager speaking.', onWire.map(({ text }) => text).join(' '), TWO_HOPS)
    const callers = turnsOf(call, 'caller').length
    const heardFrom = operator.heard.length
    await phone.speak(opening!)
    await until(() => turnsOf(call, 'caller').length === callers + 1, 'the words of the caller', 20_000)
    expectWords('When do you open in the morning?', await wordsSince(operator, heardFrom), TWO_HOPS)
    expect(asked.length).toBe(asks)

    // Handing back: the agent answers, and knows what was said.
    await monitor(call, { mode: 'listen', monitor_id })
    await until(() => call.events.findLast(({ type }) => type === 'monitor.changed'), 'the hand-back')
    await phone.speak(last!)
    await call.agentSaid(4)
    expect(asked.at(-1)).toContain(turnsOf(call, 'operator')[0]!.text)
    expect(asked.at(-1)).toContain(turnsOf(call, 'caller').at(-2)!.text)

    await phone.command('hangup')
    await call.ended()
    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
    expect(detail.transcript.map(turn => turn.role)).toEqual([
      ...['agent', 'caller', 'agent', 'caller', 'agent'],
      ...['operator', 'caller', 'caller', 'agent'],
    ])
    expect((await owner.rest('POST', `/calls/${call.id}/monitor`, { mode: 'listen' })).body.code).toBe('call_ended')
    await expectSettled(stack, owner)
    await operator.ended()
    const rooms = new RoomServiceClient(
      stack.livekit.url.replace('ws', 'http'),
      stack.livekit.apiKey,
      stack.livekit.apiSecret,
    )
    await until(async () => (await rooms.listRooms()).length === 0, 'the room to be gone', 45_000)
  })

  it('takes a caller whom the agent gives away', { timeout: 300_000 }, async () => {
    const [wish, manager] = await Promise.all(
      ['I want to speak to the manager.', 'Good evening, what can I do for you?'].map(text => stack.speech.say(text)),
    )
    const call = await owner.place(CALLEE)
    await phone.wait('CALL_INCOMING', 20_000, 2)
    await phone.command('accept')
    await call.agentSaid(1)
    await phone.speak(wish!)
    expect(await call.wait('transfer.waiting')).toMatchObject({ name: 'manager' })
    const seat = await monitor(call, { mode: 'takeover' })
    const operator = await joinRoom(seat.url, seat.token)
    expect(await call.wait('transfer.settled')).toMatchObject({ name: 'manager', accepted: true })
    await operator.say(wide(manager!))
    await until(() => turnsOf(call, 'operator').length === 1, 'the words of the operator', 20_000)
    const { tool_calls } = await owner.detail(call.id)
    expect(tool_calls).toMatchObject([{ name: 'transfer_call', status: 'ok', arguments: { to: 'manager' } }])
    await phone.command('hangup')
    await call.ended()
    await operator.ended()
    await expectSettled(stack, owner)
  })
})
