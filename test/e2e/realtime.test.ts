/** Realtime sessions against the whole product and a real LiveKit: what a customer's client sees, hears and pays. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { RoomServiceClient } from 'livekit-server-sdk'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { decodeWav } from '../../media/audio/wav.ts'
import { livekitBinary } from '../support/livekit.ts'
import { expectSettled, expectWebhook, LETTER_ERRORS } from '../support/stack-checks.ts'
import type { Detail, Owner } from '../support/stack-owner.ts'
import {
  callsOf,
  joinSession,
  newestEnded,
  openSession,
  type RoomStack,
  startRoomStack,
  wide,
} from '../support/stack-rooms.ts'
import { letterErrors } from '../support/stack-speech.ts'
import { json } from '../support/stack-world.ts'
import { until } from '../support/world.ts'

const GREETING = 'Hello, this is the night porter. How can I help you?'
let stack: RoomStack
let rooms: RoomServiceClient
beforeAll(async () => {
  if (!livekitBinary) return
  stack = await startRoomStack()
  rooms = new RoomServiceClient(stack.livekit.url.replace('ws', 'http'), stack.livekit.apiKey, stack.livekit.apiSecret)
  stack.world.on('/hook', (_, response) => response.writeHead(204).end())
  stack.world.on('/weather', (_, response) => setTimeout(() => json(response, { weather: 'It is sunny.' }), 1500))
}, 300_000)
afterAll(() => stack?.stop())

const weather = () => ({
  name: 'look_up_weather',
  description: 'Tells the weather in a city',
  method: 'GET' as const,
  url: `${stack.world.url}/weather`,
  parameters: { type: 'object', properties: {}, required: [] },
  filler: 'One moment, I am looking outside.',
})

const newOwner = (more: Parameters<RoomStack['owner']>[0]['project'] = {}): Promise<Owner> =>
  stack.owner({
    trunk: { port: 5999 },
    webhook: `${stack.world.url}/hook`,
    project: { greeting: GREETING, ...more },
  })

/** 5.0000 a minute, half of it for the web, half up to four places. */
const expectWebCost = ({ billed_seconds, cost }: Detail) => {
  expect(billed_seconds).toBeGreaterThan(0)
  expect(cost!.amount).toBe((Math.round((25_000 * billed_seconds!) / 60) / 10_000).toFixed(4))
}
const openRooms = async () => (await rooms.listRooms()).map(room => room.name)
const noRooms = () => until(async () => (await openRooms()).length === 0, 'the rooms to be gone', 45_000)

describe.skipIf(!livekitBinary)('a realtime session', () => {
  it('that nobody joins costs and holds nothing', async () => {
    const owner = await newOwner()
    const answer = await owner.rest('POST', '/realtime/session', { project_id: owner.projectId })
    expect(answer.status).toBe(201)
    expect(Object.keys(answer.body).sort()).toEqual(['expires_in', 'token', 'url'])
    expect(answer.body).toMatchObject({ url: stack.livekit.url, expires_in: 3600 })
    expect(await callsOf(owner)).toEqual([])
    expect((await owner.rest('GET', '/balance')).body).toMatchObject({
      balance: { amount: '100.0000' },
      held: { amount: '0.0000' },
    })
    expect(await openRooms()).toEqual([])
  })

  it('is a spoken dialogue with tool, filler, transcript, recording, webhook and half the price', {
    timeout: 120_000,
  }, async () => {
    const owner = await newOwner({ tools: [weather()], recording: true })
    const session = await openSession(owner)
    const caller = await joinSession(session)
    await caller.firstSoundMs()
    await caller.wait(() => caller.words('agent').length === 1, 'the greeting in words', 20_000)
    expect(caller.words('agent')[0]).toBe(GREETING)
    const states = () => caller.attributes.flatMap(({ changed }) => changed['lk.agent.state'] ?? [])
    await caller.wait(() => states().at(-1) === 'listening', 'the agent to listen')

    await caller.say(wide(await stack.speech.say('Can you tell me the weather?')))
    await caller.wait(() => caller.words('agent').some(text => text.includes('sunny')), 'the answer', 30_000)
    expect(letterErrors('Can you tell me the weather?', caller.words('caller')[0]!)).toBeLessThanOrEqual(LETTER_ERRORS)
    expect(caller.words('agent')[1]).toContain('One moment')
    await caller.wait(() => states().at(-1) === 'listening', 'the agent to listen again')
    expect(states()).toEqual(expect.arrayContaining(['listening', 'thinking', 'speaking']))
    await caller.leave()

    const call = await newestEnded(stack, owner, 1)
    expect(call).toMatchObject({ direction: 'web', status: 'completed', ended_reason: 'caller_hangup' })
    expect(call.transcript.map(turn => turn.role)).toEqual(['agent', 'caller', 'tool', 'agent', 'agent'])
    expect(call.tool_calls[0]).toMatchObject({ name: 'look_up_weather', status: 'ok' })
    expect(call.latency.turns).toHaveLength(1)
    expect(call.latency.p50_ms).toBeLessThan(2500)
    expectWebCost(call)
    await expectWebhook(stack, owner, call.id, 'call.completed')
    await expectSettled(stack, owner)
    const response = await owner.fetch(`/calls/${call.id}/recording`)
    const { channels, sampleRate, pcm } = decodeWav(Buffer.from(await response.arrayBuffer()))
    expect([channels, sampleRate]).toEqual([2, 16_000])
    expect(pcm.length / 2 / 16_000).toBeCloseTo(call.duration_seconds!, -0.5)
    await noRooms()
  })

  it('starts a new billed call at each join within the hour', { timeout: 180_000 }, async () => {
    const owner = await newOwner()
    const session = await openSession(owner)
    const first = await joinSession(session)
    await first.firstSoundMs()
    await first.leave()
    const closing = () => stack.parts.sql`
      select 1 from call_events join calls on id = call_id where owner_id = ${owner.id} and type = 'call.closing'`
    await until(async () => (await closing()).length === 1, 'the agent to leave', 10_000)
    // Its summary is still being made.
    const second = await joinSession(session)
    await second.firstSoundMs(first.agents())
    await second.leave()
    await newestEnded(stack, owner, 2)
    const calls = await callsOf(owner)
    for (const call of calls) expectWebCost(call)
    await expectSettled(stack, owner)
    await noRooms()
  })

  it('that the agent ends removes the client', { timeout: 180_000 }, async () => {
    const owner = await newOwner()
    const caller = await joinSession(await openSession(owner))
    await caller.firstSoundMs()
    await caller.wait(() => caller.words('agent').length === 1, 'the greeting', 20_000)
    await caller.room.localParticipant!.sendText('Thank you, goodbye.', { topic: 'lk.chat' })
    await caller.ended(30_000)
    expect(caller.attributes.at(-1)!.changed).toEqual({ 'parley.ended': 'agent_hangup' })
    expect(await newestEnded(stack, owner, 1)).toMatchObject({ status: 'completed', ended_reason: 'agent_hangup' })
    await expectSettled(stack, owner)
    await noRooms()
  })
})

/** A few times a second: there are limits for customers. */
async function untilAnswer(owner: Owner, status: number): Promise<void> {
  for (let tries = 0; tries < 40; tries++) {
    const answer = await owner.rest('POST', '/realtime/session', { project_id: owner.projectId })
    if (answer.status === status) return
    await new Promise(resolve => setTimeout(resolve, 600))
  }
  throw new Error(`POST /realtime/session never answered ${status}`)
}

describe.skipIf(!livekitBinary)('kill -9', () => {
  it('of the engine: the client is notified, the call is charged, the next one works', {
    timeout: 180_000,
  }, async () => {
    const owner = await newOwner()
    const session = await openSession(owner)
    const caller = await joinSession(session)
    await caller.firstSoundMs()
    const [held] = await callsOf(owner)
    const engine = await stack.engineOf(held!.id)
    process.kill(engine.child.pid, 'SIGKILL')
    await caller.ended(30_000)
    expect(caller.attributes.at(-1)!.changed).toEqual({ 'parley.ended': 'engine_lost' })
    const call = await newestEnded(stack, owner, 1)
    expect(call).toMatchObject({ status: 'failed', ended_reason: 'engine_lost' })
    await expectSettled(stack, owner)
    await noRooms()
    await until(() => stack.told.includes(`${engine.title} is back.`), 'the engine', 30_000)
    const again = await joinSession(session)
    await again.firstSoundMs()
    await again.leave()
    expect(await newestEnded(stack, owner, 2)).toMatchObject({ status: 'completed' })
    await expectSettled(stack, owner)
  })

  it('of LiveKit: the call is closed and charged, and sessions work again later', {
    skip: !inject('full'),
    timeout: 120_000,
  }, async () => {
    const owner = await newOwner()
    const session = await openSession(owner)
    const caller = await joinSession(session)
    await caller.firstSoundMs()
    await stack.livekit.kill()
    const call = await newestEnded(stack, owner, 1, 60_000)
    expect(call).toMatchObject({ status: 'failed', ended_reason: 'connection_lost' })
    await expectSettled(stack, owner)
    await untilAnswer(owner, 503)
    await caller.leave() // otherwise it would reconnect and start a new session
    await stack.livekit.restart()
    await untilAnswer(owner, 201)
    const again = await joinSession(session)
    await again.firstSoundMs()
    await again.leave()
    expect(await newestEnded(stack, owner, 2)).toMatchObject({ status: 'completed' })
    await expectSettled(stack, owner)
  })

  it('of the client: the call ends after the timeout, and nothing is left', {
    skip: !inject('full'),
    timeout: 120_000,
  }, async () => {
    const owner = await newOwner()
    const { url, token } = await openSession(owner)
    const file = join(import.meta.dirname, '../media/room/caller-process.ts')
    const client = spawn(process.execPath, [file, url, token], { stdio: ['ignore', 'pipe', 'inherit'] })
    stack.keep(client)
    await once(client.stdout, 'data')
    const talking = async () => {
      const { sql } = stack.parts
      const [call] = await sql<{ progress_ms: number }[]>`
        select progress_ms from calls where owner_id = ${owner.id} and status = 'in_progress'`
      return call && call.progress_ms >= 5000
    }
    await until(talking, 'a dialogue of some seconds', 20_000)
    client.kill('SIGKILL')
    const killedMs = performance.now()
    const call = await newestEnded(stack, owner, 1, 60_000)
    expect(call).toMatchObject({ status: 'failed', ended_reason: 'connection_lost' })
    // LiveKit notices after some 20 s; the 15 s after that, for the client to come back in, are not paid.
    expect(call.duration_seconds! * 1000).toBeLessThan(5000 + performance.now() - killedMs - 10_000)
    expectWebCost(call)
    await expectSettled(stack, owner)
    await noRooms()
  })
})
