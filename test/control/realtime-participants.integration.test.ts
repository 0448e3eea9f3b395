/** Participants of a LiveKit room who reload, return, are removed or stay too long, and a LiveKit that fails. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { AccessToken } from 'livekit-server-sdk'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backgroundDone } from '../../control/platform/jobs/background.ts'
import { extendCall } from '../../control/telephony/calls/admit.ts'
import { finish, finishUnanswered } from '../../control/telephony/calls/finish.ts'
import { createLiveKit, type LiveKit, LiveKitFailed } from '../../control/telephony/realtime/livekit.ts'
import { createRoomSweep, reconcileSoon } from '../../control/telephony/realtime/reconcile.ts'
import { createTenant, nextPhone, request, type Tenant } from '../support/control.ts'
import { livekitBinary, roomOf } from '../support/livekit.ts'
import { record } from '../support/records.ts'
import type { RoomPeer } from '../support/room-peer.ts'
import { until } from '../support/world.ts'
import { createRig, type FakeEngine, moneyOf, PREFIX, type Rig, startEngine } from './realtime-rig.ts'

let rig: Rig
let engine: FakeEngine
let sweep: () => Promise<void>

const callsOf = (tenant: Tenant) =>
  rig.deps.sql<{ id: string; status: string; ended_reason: string | null }[]>`
    select id, status, ended_reason from calls where owner_id = ${tenant.ownerId} order by created_at`
const toldTo = (peer: RoomPeer) =>
  Object.assign({}, ...peer.attributes.filter(({ from }) => from === peer.identity).map(({ changed }) => changed))

/** Sweeps until the session of this token has so many calls. */
const sweepUntilCalls = (tenant: Tenant, calls: number) =>
  until(async () => {
    await sweep()
    return (await callsOf(tenant)).length === calls
  }, `call ${calls}`)

const present = (room: string, identity: string) =>
  until(async () => (await rig.deps.livekit!.participants(room)).some(one => one.identity === identity), identity)

/** The real one, but for these. */
function twist(part: (real: LiveKit) => Partial<LiveKit>): void {
  const real = rig.deps.livekit!
  rig.deps.livekit = { ...real, ...part(real) }
}

describe.skipIf(livekitBinary === null)('with explicit reconciliation', () => {
  beforeEach(async () => {
    rig = await createRig({ sweeps: false, config: { engine_gone_ms: 400 } })
    engine = await startEngine(rig)
    const rooms = createRoomSweep(rig.deps)
    sweep = () => rooms.sweep()
  })
  afterEach(async () => {
    await engine?.stop()
    await rig?.close()
  })

  test('reconciles other rooms when LiveKit fails for one', async () => {
    const tenant = await createTenant(rig)
    const ill = await rig.session(tenant)
    await rig.join(ill)
    await sweepUntilCalls(tenant, 1)
    await engine.answer(await engine.next())
    twist(real => ({
      async participants(room) {
        if (room === roomOf(ill.token)) throw new LiveKitFailed('participants', new Error('deadline exceeded'))
        return real.participants(room)
      },
    }))
    // More than are looked at at once, so that some come after it in any order.
    const others = await Promise.all(Array.from({ length: 20 }, () => rig.session(tenant)))
    await Promise.all(others.map(session => rig.join(session)))
    await sweep()
    await sweep()
    expect(await callsOf(tenant)).toHaveLength(21)
    // And an engine that vanishes is still noticed.
    const [plan] = engine.plans
    const dialogue = await engine.answer(plan!)
    const { name, caller } = plan!.room!
    await rig.deps.sql`update calls set status = 'in_progress' where id = ${plan!.call_id}`
    await dialogue.peer.leave()
    await until(async () => (await rig.deps.livekit!.participants(name)).length === 1, 'the engine to go')
    await sweep()
    await pause(rig.deps.config.engine_gone_ms)
    await sweep()
    expect((await rig.deps.livekit!.participants(name)).map(({ identity }) => identity)).not.toContain(caller)
  })

  test('removes a caller who stays after the end, without billing again', async () => {
    twist(real => ({
      participants: async room =>
        (await real.participants(room)).map(one => ({ ...one, joinedAt: one.joinedAt + 30_000 })),
    }))
    const tenant = await createTenant(rig)
    const peer = await rig.join(await rig.session(tenant))
    await sweepUntilCalls(tenant, 1)
    const { plan_of, peer: agent } = await answered(tenant)
    await agent.leave()
    await closed(plan_of.call_id, 'agent_hangup')
    await sweep()
    expect(await callsOf(tenant)).toHaveLength(1)
    await peer.ended()
    expect(toldTo(peer)).toEqual({ 'parley.ended': 'agent_hangup' })
  })

  test('starts a new session for a reload while the engine ends the old one', async () => {
    const tenant = await createTenant(rig)
    const session = await rig.session(tenant)
    const first = await rig.join(session)
    await sweepUntilCalls(tenant, 1)
    await first.leave()
    const again = await rig.join(session)
    await present(roomOf(session.token), again.identity)
    await sweep() // sees the new participant; the engine reports none
    const plan = await engine.next()
    await finishUnanswered(rig.deps, plan.call_id, 'canceled', 'caller_canceled')
    await sweepUntilCalls(tenant, 2)
    expect([again.endedBy(), toldTo(again)]).toEqual([null, {}])
    // A participant who has not joined anew is removed. Otherwise calls would restart endlessly when the engines use
    // another LiveKit server.
    await finishUnanswered(rig.deps, (await engine.next()).call_id, 'canceled', 'caller_canceled')
    await again.ended()
    expect(await callsOf(tenant)).toHaveLength(2)
  })

  test('starts a new session for a caller who rejoins after the end, even with late events', async () => {
    const tenant = await createTenant(rig)
    const session = await rig.session(tenant)
    const room = roomOf(session.token)
    const first = await rig.join(session)
    await sweepUntilCalls(tenant, 1)
    const { plan_of, peer: agent } = await answered(tenant)
    await first.leave()
    const closedAt = new Date(rig.deps.clock.wall())
    await agent.leave()
    await until(async () => (await rig.deps.livekit!.participants(room)).length === 0, 'both to have left')
    const again = await rig.join(session)
    await present(room, again.identity)
    await sweep()
    await closed(plan_of.call_id, 'caller_hangup', closedAt)
    await sweepUntilCalls(tenant, 2)
    expect([again.endedBy(), toldTo(again)]).toEqual([null, {}])
  })

  test('starts a new session for a caller who rejoins before the removal', async () => {
    const tenant = await createTenant(rig)
    const session = await rig.session(tenant)
    const room = roomOf(session.token)
    const first = await rig.join(session)
    await sweepUntilCalls(tenant, 1)
    const { plan_of, peer: agent } = await answered(tenant)
    await agent.leave()
    await closed(plan_of.call_id, 'agent_hangup')
    const seen = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    let looks = 0
    twist(real => ({
      async participants(name) {
        const people = await real.participants(name)
        if (looks++ > 0) return people
        seen.resolve()
        await held.promise
        return people
      },
    }))
    const swept = sweep()
    await seen.promise
    await first.leave()
    const again = await rig.join(session)
    await until(
      async () =>
        (await rig.deps.livekit!.participants(room)).some(one => one.identity === again.identity && one.active),
      'the second one',
    )
    held.resolve()
    await swept
    await sweepUntilCalls(tenant, 2)
    expect([again.endedBy(), toldTo(again)]).toEqual([null, {}])
  })

  test('extends a session at half the price while the balance lasts', async () => {
    const tenant = await createTenant(rig)
    await rig.deps.sql`update balances set available = 60000 where owner_id = ${tenant.ownerId}`
    await rig.join(await rig.session(tenant))
    await sweepUntilCalls(tenant, 1)
    const { call_id, owner_id, paid_ms } = await engine.next()
    const extend = () => extendCall(rig.deps, { call_id, owner_id, talked_ms: 30_000 })
    expect([paid_ms, await extend(), await extend(), await extend()]).toEqual([
      60_000,
      { paid_ms: 120_000 },
      { paid_ms: 144_000 }, // 6.0000 at 2.5000 a minute
      { paid_ms: 144_000 },
    ])
    expect(await moneyOf(rig, tenant)).toMatchObject({ available: '0', held: '60000', sum: '0' })
    await finish(rig.deps, call_id, record({ talked_ms: 100_100, ended_reason: 'caller_hangup' }))
    // 101 seconds: 4.20833… of 6.0000.
    expect(await moneyOf(rig, tenant)).toMatchObject({ available: '17917', held: '0', open_holds: 0, sum: '0' })
  })

  test('ignores rooms of other installations', async () => {
    const room = `${PREFIX}monitor-0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01`
    const stranger = await rig.join({
      url: rig.livekit.url,
      token: await rig.livekit.token({ room, identity: 'operator-of-theirs' }),
    })
    await sweep()
    expect([stranger.endedBy(), await rig.deps.livekit!.rooms()]).toEqual([null, [room]])
  })

  test('coalesces hundreds of webhooks, without missing the last', async () => {
    const looks: string[] = []
    let free = () => {}
    const held = new Promise<void>(resolve => (free = resolve))
    twist(real => ({
      async participants(room) {
        looks.push(room)
        if (looks.length === 1) await held
        return real.participants(room)
      },
    }))
    const tenant = await createTenant(rig)
    const session = await rig.session(tenant)
    const room = roomOf(session.token)
    reconcileSoon(rig.deps, room)
    await until(() => looks.length === 1, 'the first look')
    await rig.join(session)
    const { apiKey, apiSecret } = rig.livekit
    const payload = JSON.stringify({ event: 'participant_joined', room: { name: room } })
    const token = new AccessToken(apiKey, apiSecret)
    token.sha256 = createHash('sha256').update(payload).digest('base64')
    const headers = { 'content-type': 'application/webhook+json', authorization: await token.toJwt() }
    const send = () => request(rig.app, { method: 'POST', url: '/livekit/webhook', headers, payload })
    const answers = await Promise.all(Array.from({ length: 300 }, send))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    free()
    await engine.next()
    await backgroundDone(rig.deps)
    expect(looks).toEqual([room, room])
  })

  async function answered(tenant: Tenant) {
    const plan_of = await engine.next()
    const dialogue = await engine.answer(plan_of)
    await rig.deps.sql`update calls set status = 'in_progress' where owner_id = ${tenant.ownerId}`
    return { ...dialogue, plan_of }
  }
  /** As the event `call.closing` does it. */
  const closed = (callId: string, reason: string, at = new Date(rig.deps.clock.wall())) =>
    rig.deps.sql`update realtime_sessions set closed_at = ${at}, closed_reason = ${reason} where call_id = ${callId}`
})

describe.skipIf(livekitBinary === null)('a removed operator', () => {
  afterEach(() => rig?.close())

  test.each([{ webhook: false }, { webhook: true }])('cannot rejoin with the old token %o', async ({ webhook }) => {
    rig = await createRig({ webhook, config: { room_sweep_ms: webhook ? 600_000 : 200 } })
    const tenant = await createTenant(rig)
    const bus = rig.engine()
    const reader = bus.onPlace(
      () => 1,
      plan => {
        const emit = bus.emitter(plan)
        void emit({ type: 'call.dialing', engine: bus.engine, boot: bus.boot })
        void emit({ type: 'call.started', engine: bus.engine, boot: bus.boot })
      },
    )
    const { body: call } = await tenant.call('POST', '/calls', { project_id: tenant.projectId, phone: nextPhone() })
    await until(async () => (await tenant.call('GET', `/calls/${call.id}`)).body.status === 'in_progress', 'the answer')
    const ask = (body: object) => tenant.call('POST', `/calls/${call.id}/monitor`, body)
    const { body: first } = await ask({ mode: 'takeover' })
    const { body: second } = await ask({ mode: 'listen' })
    const colleague = await rig.join(second)
    const operator = await rig.join(first)
    const gone = await tenant.call('DELETE', `/calls/${call.id}/monitor/${first.monitor_id}`)
    expect(gone.status).toBe(200)
    await operator.ended()
    for (let i = 0; i < 2; i++) {
      const again = await rig.join(first)
      await again.ended(3000)
    }
    expect(colleague.endedBy()).toBeNull()
    // Asked in once more, they may come.
    const { body: third } = await ask({ mode: 'listen', monitor_id: first.monitor_id })
    const back = await rig.join(third)
    await present(`${PREFIX}monitor-${call.id}`, back.identity)
    await pause(500)
    expect([back.endedBy(), colleague.endedBy()]).toEqual([null, null])
    await reader.stop()
  })
})

test('lets a removed caller keep the token', async () => {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', part => (body += part))
    request.on('end', () => {
      bodies.push(body)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  const keys = { apiKey: 'k', apiSecret: 'a secret that is long enough for anybody', prefix: PREFIX, publicUrl: url }
  const remote = createLiveKit({ ...keys, url })
  await remote.remove('room', 'caller-1')
  server.close()
  // Without a time all are revoked that were made until now, or will be within a minute.
  expect(bodies.map(body => JSON.parse(body))).toEqual([{ room: 'room', identity: 'caller-1', revokeTokenTs: '1' }])
})
