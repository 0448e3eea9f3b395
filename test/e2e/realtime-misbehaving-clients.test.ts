/** WebRTC clients that reload, leave, stay silent or join twice: their cost, and what the logs hold about them. */
import { setTimeout as pause } from 'node:timers/promises'
import { RoomServiceClient } from 'livekit-server-sdk'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { livekitBinary } from '../support/livekit.ts'
import { joinRoom } from '../support/room-peer.ts'
import { expectSettled } from '../support/stack-checks.ts'
import type { Owner } from '../support/stack-owner.ts'
import {
  callsOf,
  joinSession,
  newestEnded,
  openSession,
  type RoomStack,
  startRoomStack,
  type WebCaller,
} from '../support/stack-rooms.ts'
import { until } from '../support/world.ts'

const GREETING = 'Hello, this is the night porter.'
const PHONE = '+14155550123'
const PRIVATE = 'Xylophone zebra forty-two'
let stack: RoomStack
const tokens: string[] = []

beforeAll(async () => {
  if (livekitBinary) stack = await startRoomStack()
}, 300_000)
afterAll(() => stack?.stop())

const newOwner = (more: Partial<Parameters<RoomStack['owner']>[0]> = {}): Promise<Owner> =>
  stack.owner({ trunk: { port: 5999 }, project: { greeting: GREETING }, ...more })
const open = async (owner: Owner, more = {}) => {
  const session = await openSession(owner, more)
  tokens.push(session.token)
  return session
}
const type = (caller: WebCaller, text: string) =>
  caller.room.localParticipant!.sendText(text, { topic: 'lk.chat' }).catch(() => {}) // shown out meanwhile
const told = (caller: Pick<WebCaller, 'attributes' | 'identity'>) =>
  Object.assign({}, ...caller.attributes.filter(({ from }) => from === caller.identity).map(({ changed }) => changed))
const live = async (owner: Owner) => {
  const rows = await stack.parts.sql`select 1 from calls where owner_id = ${owner.id} and ended_at is null`
  return rows.length
}
const allEnded = (owner: Owner) => until(async () => (await live(owner)) === 0, 'the end of all calls', 30_000)
const costOf = (seconds: number) => (Math.round((25_000 * seconds) / 60) / 10_000).toFixed(4)

describe.skipIf(!livekitBinary)('a client', () => {
  it.concurrent('is limited to the paid minute, with a goodbye', {
    timeout: 120_000,
    skip: !inject('full'),
  }, async () => {
    const owner = await newOwner({ money: '2.5000' })
    const [first, second] = [await open(owner), await open(owner)]
    const caller = await joinSession(first)
    await caller.firstSoundMs()
    const refused = await joinRoom(second.url, second.token, { microphone: false })
    await refused.ended()
    expect(told(refused)).toEqual({ 'parley.problem': 'insufficient_balance' })
    const answer = await owner.rest('POST', '/realtime/session', { project_id: owner.projectId })
    expect([answer.status, answer.body.code]).toEqual([402, 'insufficient_balance'])
    while (caller.endedBy() === null) {
      await type(caller, 'What is the weather like?')
      await Promise.race([pause(5000), caller.ended(6000).catch(() => {})])
    }
    expect(told(caller)).toEqual({ 'parley.ended': 'balance_exhausted' })
    expect(caller.words('agent').at(-1)).toMatch(/our time is up/)
    const call = await newestEnded(stack, owner, 1)
    expect(call).toMatchObject({ status: 'completed', ended_reason: 'balance_exhausted' })
    expect(call.billed_seconds).toBeGreaterThan(45)
    expect(call.billed_seconds).toBeLessThanOrEqual(60)
    expect(call.cost!.amount).toBe(costOf(call.billed_seconds!))
    await expectSettled(stack, owner)
  })

  it.concurrent('without a microphone ends after silence prompts', {
    timeout: 120_000,
    skip: !inject('full'),
  }, async () => {
    const owner = await newOwner()
    const session = await open(owner)
    const caller = await joinRoom(session.url, session.token, { microphone: false })
    await caller.ended(90_000)
    expect(told(caller)).toEqual({ 'parley.ended': 'silence_timeout' })
    const call = await newestEnded(stack, owner, 1)
    expect(call.cost!.amount).toBe(costOf(call.billed_seconds!))
    await expectSettled(stack, owner)
  })

  // The engine waits three seconds for the one it was sent for.
  const reloadsMs = inject('full') ? [300, 2950, 3000, 3050, 3600] : [300, 3050]
  it.each(reloadsMs)('that reloads its page for %i ms reconnects to the agent', async ms => {
    const owner = await newOwner()
    const session = await open(owner)
    const first = await joinRoom(session.url, session.token, { microphone: false })
    await first.leave()
    await pause(ms)
    const again = await joinSession(session)
    await again.firstSoundMs()
    expect(told(again)).toEqual({})
    await again.leave()
    await allEnded(owner)
    const paid = (await callsOf(owner)).filter(call => call.billed_seconds! > 0)
    expect(paid).toHaveLength(1)
    await expectSettled(stack, owner)
  })

  it('that joins and leaves in a loop leaks nothing', { timeout: 300_000 }, async () => {
    const owner = await newOwner()
    const session = await open(owner)
    for (let i = 0; i < 12; i++) {
      const peer = await joinRoom(session.url, session.token, { microphone: false })
      if (i % 3 === 2) await pause(700)
      await peer.leave()
    }
    await allEnded(owner)
    await expectSettled(stack, owner)
    const { url, apiKey, apiSecret } = stack.livekit
    const rooms = new RoomServiceClient(url.replace('ws', 'http'), apiKey, apiSecret)
    // LiveKit keeps a room for `departureTimeout` after the last one left, or `emptyTimeout` when no join completed.
    await until(async () => (await rooms.listRooms()).length === 0, 'the rooms to be gone', 45_000)
    expect(await live(owner)).toBe(0)
  })

  it('has one session for one token in two browsers', { timeout: 180_000 }, async () => {
    const owner = await newOwner()
    const session = await open(owner)
    const one = await joinSession(session)
    await one.firstSoundMs()
    const two = await joinSession(session)
    await one.ended()
    await type(two, 'What is the weather like?')
    await two.firstSoundMs()
    expect(two.agents()).toEqual(one.agents())
    await two.leave()
    await newestEnded(stack, owner, 1)
    await expectSettled(stack, owner)
  })

  it('leaves no personal data or secrets in logs', { timeout: 180_000 }, async () => {
    const owner = await newOwner()
    const session = await open(owner, { task: PRIVATE, contact: { name: 'Zebulon', phone: PHONE } })
    const caller = await joinSession(session)
    await caller.wait(() => caller.words('agent').length === 1, 'the greeting', 20_000)
    await type(caller, PRIVATE)
    await caller.wait(() => caller.words('agent').length === 2, 'the answer', 20_000)
    await caller.leave()
    await newestEnded(stack, owner, 1)
    const processes = (['control', 'engine', 'speech'] as const).flatMap(name => stack.logged(name))
    const logs = `${JSON.stringify(processes)}\n${stack.livekit.logged()}`
    expect(logs).toContain('/v1/public/realtime/session') // they are the right ones
    const signatures = tokens.map(token => token.split('.')[2]!)
    const secret = [stack.livekit.apiSecret, ...signatures]
    const personal = [PRIVATE, 'Xylophone', 'Zebulon', PHONE.slice(1), GREETING, ...caller.words('agent')]
    expect([...secret, ...personal].filter(text => logs.includes(text))).toEqual([])
    expect(processes.filter(({ level }) => ['warn', 'error'].includes(String(level)) || Number(level) >= 40)).toEqual(
      [],
    )
  })
})
