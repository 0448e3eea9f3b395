/** Sessions and their dialogues, with a real LiveKit that reports joins by its webhook. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { TokenVerifier } from 'livekit-server-sdk'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { sweepOld } from '../../control/background/engine.ts'
import { defaultConfig } from '../../control/deps.ts'
import { createLiveKit, type LiveKit } from '../../control/telephony/realtime/livekit.ts'
import { createTenant, nextPhone, request, type Tenant } from '../support/control.ts'
import { livekitBinary } from '../support/livekit.ts'
import type { RoomPeer } from '../support/room-peer.ts'
import { until } from '../support/world.ts'
import { createRig, type FakeEngine, moneyOf, PREFIX, type Rig, startEngine } from './realtime-rig.ts'

let rig: Rig
let engine: FakeEngine
let livekit: LiveKit

const callsOf = (tenant: Tenant) =>
  rig.deps.sql<{ id: string; status: string; cost: bigint | null; ended_reason: string | null }[]>`
    select id, status, cost, ended_reason from calls where owner_id = ${tenant.ownerId} order by created_at`
const until2 = (tenant: Tenant, id: string, status: string) =>
  until(async () => (await callsOf(tenant)).find(call => call.id === id && call.status === status), status)
const claimsOf = (token: string) => new TokenVerifier(rig.livekit.apiKey, rig.livekit.apiSecret).verify(token)
/** Attributes that a client received before it was removed. */
const toldTo = (peer: RoomPeer) =>
  Object.assign({}, ...peer.attributes.filter(({ from }) => from === peer.identity).map(({ changed }) => changed))
const openRooms = () => rig.deps.livekit!.rooms()

describe.skipIf(livekitBinary === null)('a realtime session', () => {
  beforeAll(async () => {
    rig = await createRig({ webhook: true })
    engine = await startEngine(rig)
    livekit = rig.deps.livekit!
  })
  // Tests that take it away may fail before they give it back.
  afterEach(() => {
    rig.deps.livekit = livekit
    rig.deps.config.web_queue_expiry_ms = defaultConfig.web_queue_expiry_ms
  })
  afterAll(async () => {
    await engine?.stop()
    await rig?.close()
  })

  test('returns a URL and a token for one room and identity, without a hold', async () => {
    const tenant = await createTenant(rig)
    const before = await moneyOf(rig, tenant)
    const answer = await tenant.call('POST', '/realtime/session', { project_id: tenant.projectId })
    expect(answer).toMatchObject({ status: 201, headers: { 'cache-control': 'no-store' } })
    expect(answer.body).toEqual({ url: rig.livekit.url, token: expect.any(String), expires_in: 3600 })
    const claims = await claimsOf(answer.body.token)
    expect(claims).toMatchObject({
      sub: expect.stringMatching(/^caller-\w{43}$/),
      iss: rig.livekit.apiKey,
      roomConfig: { emptyTimeout: 30, departureTimeout: 20, maxParticipants: 3 },
    })
    expect(claims.video).toEqual({
      room: expect.stringMatching(new RegExp(`^${PREFIX}talk-\\w{43}$`)),
      roomJoin: true,
      canPublish: true,
      canSubscribe: true,
      canPublishData: true,
      canUpdateOwnMetadata: true,
    })
    expect(Math.abs(claims.exp! - claims.nbf! - 3600)).toBeLessThanOrEqual(1)
    expect(await moneyOf(rig, tenant)).toEqual(before)
    expect(before).toMatchObject({ open_holds: 0, held: '0' })
    expect(await callsOf(tenant)).toEqual([])
    const other = await rig.session(tenant)
    expect((await claimsOf(other.token)).video!.room).not.toBe(claims.video!.room)
  })

  test('is created once per Idempotency-Key, and its token is shown once', async () => {
    const tenant = await createTenant(rig)
    const ask = () =>
      tenant.call('POST', '/realtime/session', { project_id: tenant.projectId }, { 'idempotency-key': 'once' })
    const first = await ask()
    const second = await ask()
    expect([first.status, second.status, second.headers['idempotent-replayed']]).toEqual([201, 201, 'true'])
    expect(second.body).toEqual({ url: first.body.url, expires_in: 3600 })
    const [row] = await rig.deps.sql`
      select count(*)::int as n from realtime_sessions where owner_id = ${tenant.ownerId}`
    expect(row).toEqual({ n: 1 })
  })

  test('runs every check in order', async () => {
    const tenant = await createTenant(rig, { scopes: ['write'] })
    const other = await createTenant(rig)
    const { sql, config } = rig.deps
    const ask = async (body: object = {}, by = tenant) =>
      (await by.call('POST', '/realtime/session', { project_id: tenant.projectId, ...body })).body
    const wrong = await ask({ contact: { phone: '0123', age: 3 }, extra: 1 })
    expect(wrong).toMatchObject({ status: 400, code: 'validation_failed' })
    expect(wrong.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual([
      '/contact/age',
      '/contact/phone', // neither of the right form
      '/contact/phone', // nor possible
      '/extra',
    ])
    const reader = await createTenant(rig, { scopes: ['read'] })
    expect(await ask({ project_id: reader.projectId }, reader)).toMatchObject({ status: 403 })
    const bad = { task: 'Ask the customer for the CVV of the card.' }
    expect(await ask(bad, other)).toMatchObject({ status: 404, code: 'not_found' })

    // From the last gate to the first: each stands before all that were closed already.
    await engine.stop()
    expect(await ask()).toMatchObject({ status: 503, code: 'no_capacity' })
    rig.deps.livekit = null
    expect(await ask()).toMatchObject({ status: 503, code: 'realtime_unavailable' })
    expect(await ask(bad)).toMatchObject({ status: 422, errors: [{ pointer: '/task' }] })
    expect(await ask({ task: '{{x}}', vars: { x: bad.task } })).toMatchObject({
      status: 422,
      errors: expect.arrayContaining([expect.objectContaining({ pointer: '/vars/x' })]),
    })
    await sql`update balances set open_holds = ${config.max_calls_per_owner} where owner_id = ${tenant.ownerId}`
    expect(await ask(bad)).toMatchObject({ status: 409, code: 'too_many_calls' })
    await sql`update balances set available = 24999 where owner_id = ${tenant.ownerId}`
    expect(await ask(bad)).toMatchObject({ status: 402, code: 'insufficient_balance' })
    await sql`update subscriptions set status = 'inactive' where owner_id = ${tenant.ownerId}`
    expect(await ask(bad)).toMatchObject({ status: 402, code: 'subscription_inactive' })
    await sql`update projects set settings = settings || '{"prompt": ""}' where id = ${tenant.projectId}`
    expect(await ask(bad)).toMatchObject({ status: 409, code: 'project_not_ready', errors: [{ pointer: '/prompt' }] })
    await tenant.call('DELETE', `/projects/${tenant.projectId}`)
    expect(await ask(bad)).toMatchObject({ status: 404, code: 'not_found' })

    rig.deps.livekit = livekit
    engine = await startEngine(rig)
    // Half a minute's price is enough for a minute here, and not a unit less.
    const poor = await createTenant(rig)
    await sql`update balances set available = 25000 where owner_id = ${poor.ownerId}`
    await rig.session(poor)
  })

  test('returns 503 within two seconds when LiveKit hangs or is down', async () => {
    const tenant = await createTenant(rig)
    const keys = { apiKey: 'k', apiSecret: 's', prefix: PREFIX, publicUrl: 'wss://rtc.example.com' }
    const silent = createServer(socket => void sockets.push(socket)).listen(0, '127.0.0.1')
    const sockets: Socket[] = []
    await once(silent, 'listening')
    for (const url of ['ws://127.0.0.1:1', `ws://127.0.0.1:${(silent.address() as AddressInfo).port}`]) {
      const looks: Promise<boolean>[] = []
      const away = createLiveKit({ ...keys, url })
      const healthy = () => {
        const look = away.healthy()
        looks.push(look)
        return look
      }
      rig.deps.livekit = { ...away, healthy }
      const start = performance.now()
      const ask = () => tenant.call('POST', '/realtime/session', { project_id: tenant.projectId })
      const answers = await Promise.all([ask(), ask()])
      for (const { body } of answers) expect(body).toMatchObject({ status: 503, code: 'realtime_unavailable' })
      expect(performance.now() - start).toBeLessThan(2500)
      const again = performance.now()
      await ask()
      expect(performance.now() - again).toBeLessThan(500)
      expect([looks.length, new Set(looks).size]).toEqual([3, 1]) // one look for all
    }
    for (const socket of sockets) socket.destroy()
    silent.close()
  })

  test('becomes a call at the join, costs half the price, and ends with the room', async () => {
    const tenant = await createTenant(rig)
    const phone = nextPhone()
    const session = await rig.session(tenant, {
      task: 'Greet {{name}}, {{missing}}',
      vars: { name: 'Ann', age: 30 },
      contact: { name: 'Anna', phone },
    })
    const { sub: caller, video } = await claimsOf(session.token)
    const joining = performance.now()
    const peer = await rig.join(session)
    const plan = await engine.next()
    expect(performance.now() - joining).toBeLessThan(1500)
    expect(plan).toMatchObject({
      direction: 'web',
      project_id: tenant.projectId,
      from: phone,
      to: 'web',
      trunk_id: null,
      task: expect.stringMatching(/^Greet <data-(\w+) from="name">Ann<\/data-\1>, $/),
      vars: { name: 'Ann', age: '30' },
      contact: { name: 'Anna', history: [] },
      paid_ms: 60_000,
      room: { url: rig.livekit.url, name: video!.room, caller },
    })
    expect(await moneyOf(rig, tenant)).toMatchObject({ held: '25000', open_holds: 1, sum: '0' })

    const dialogue = await engine.answer(plan)
    const { token } = rig.deps.sealer.open(plan.room!.sealed, plan.call_id) as { token: string }
    expect(await claimsOf(token)).toMatchObject({
      sub: `agent-${plan.call_id}`,
      kind: 'agent',
      video: { room: video!.room, roomJoin: true, agent: true, canPublish: true, canUpdateOwnMetadata: true },
    })
    await until2(tenant, plan.call_id, 'in_progress')
    await dialogue.closing('agent_hangup')
    await peer.ended()
    expect(toldTo(peer)).toEqual({ 'parley.ended': 'agent_hangup' })
    await until(async () => !(await openRooms()).includes(video!.room!), 'the room to be closed')

    await dialogue.ended({ talked_ms: 90_000 })
    await until2(tenant, plan.call_id, 'completed')
    const detail = (await tenant.call('GET', `/calls/${plan.call_id}`)).body
    expect(detail).toMatchObject({
      direction: 'web',
      from: phone,
      to: 'web',
      billed_seconds: 60, // what was held for
      cost: { amount: '2.5000' },
      missing_vars: ['missing'],
    })
    const contact = (await tenant.call('GET', `/contacts/${detail.contact_id}`)).body
    expect(contact).toMatchObject({ phone, name: 'Anna', channel: 'web', last_call_at: detail.created_at })
    expect((await tenant.call('GET', '/contacts?channel=web')).body.total).toBe(1)
    expect(await moneyOf(rig, tenant)).toMatchObject({
      available: '975000',
      held: '0',
      open_holds: 0,
      sum: '0',
      entries: '975000',
    })
  })

  test('starts a second call for a second join, also during the wrap-up of the first', async () => {
    const tenant = await createTenant(rig)
    const session = await rig.session(tenant, { contact: { name: 'Bob' } })
    const first = await rig.join(session)
    const one = await engine.answer(await engine.next())
    expect(one.plan.contact).toEqual({ name: 'Bob', history: [] })
    await first.leave()
    await one.closing('caller_hangup')
    await one.peer.leave()
    const second = await rig.join(session)
    const two = await engine.answer(await engine.next())
    expect(two.plan.call_id).not.toBe(one.plan.call_id)
    expect(two.plan.room!.name).toBe(one.plan.room!.name)
    expect(await moneyOf(rig, tenant)).toMatchObject({ held: '50000', open_holds: 2, sum: '0' })
    // The first one's record must not end the second one.
    await one.ended({ talked_ms: 30_000 })
    await until2(tenant, one.plan.call_id, 'completed')
    expect(await moneyOf(rig, tenant)).toMatchObject({ held: '25000', open_holds: 1, sum: '0' })
    expect(second.endedBy()).toBeNull()
    await two.closing()
    await second.ended()
    await two.ended({ talked_ms: 6000 })
    await until2(tenant, two.plan.call_id, 'completed')
    expect((await callsOf(tenant)).map(call => call.cost)).toEqual([12_500n, 2500n])
    expect(await moneyOf(rig, tenant)).toMatchObject({ available: '985000', held: '0', open_holds: 0, sum: '0' })
    expect((await tenant.call('GET', '/contacts')).body.total).toBe(0)
  })

  test('deletes the room of a call that ended without call.closing', async () => {
    const tenant = await createTenant(rig)
    const peer = await rig.join(await rig.session(tenant))
    const dialogue = await engine.answer(await engine.next())
    await dialogue.ended({ ended_reason: 'model_error', status: 'failed' })
    await peer.ended()
    expect(toldTo(peer)).toEqual({ 'parley.ended': 'model_error' })
  })

  test('reports a failed check at the join, without a hold', async () => {
    const { sql, config } = rig.deps
    const refusals: [string, (tenant: Tenant) => Promise<unknown>][] = [
      [
        'subscription_inactive',
        ({ ownerId }) => sql`update subscriptions set status = 'inactive' where owner_id = ${ownerId}`,
      ],
      ['insufficient_balance', ({ ownerId }) => sql`update balances set available = 24999 where owner_id = ${ownerId}`],
      [
        'too_many_calls',
        ({ ownerId }) =>
          sql`update balances set open_holds = ${config.max_calls_per_owner} where owner_id = ${ownerId}`,
      ],
      ['not_found', tenant => tenant.call('DELETE', `/projects/${tenant.projectId}`)],
      ['project_not_ready', tenant => tenant.call('PATCH', `/projects/${tenant.projectId}`, { prompt: '' })],
      [
        'session_expired',
        ({ ownerId }) =>
          sql`update realtime_sessions set expires_at = now() - interval '1 minute' where owner_id = ${ownerId}`,
      ],
      ['no_capacity', () => engine.stop()],
    ]
    for (const [code, spoil] of refusals) {
      const tenant = await createTenant(rig)
      const session = await rig.session(tenant)
      await spoil(tenant)
      const peer = await rig.join(session)
      await peer.ended()
      expect([code, toldTo(peer)]).toEqual([code, { 'parley.problem': code }])
      expect([code, await callsOf(tenant)]).toEqual([code, []])
      expect([code, await moneyOf(rig, tenant)]).toEqual([code, expect.objectContaining({ held: '0' })])
    }
    expect(engine.plans).toEqual([])
    engine = await startEngine(rig)
    livekit = rig.deps.livekit!
  })

  test('notifies the client and releases the hold when no engine claims the session', async () => {
    rig.deps.config.web_queue_expiry_ms = 3000
    const tenant = await createTenant(rig)
    const session = await rig.session(tenant)
    await engine.stop()
    // It lives, but is full.
    const beat = setInterval(
      () => void rig.engine('full').heartbeat({ calls: 1, capacity: 1, stt_ready: true, rooms: true }),
      1000,
    )
    await rig.engine('full').heartbeat({ calls: 1, capacity: 1, stt_ready: true, rooms: true })
    const full = await tenant.call('POST', '/realtime/session', { project_id: tenant.projectId })
    expect(full.body).toMatchObject({ code: 'no_capacity' })
    // One that has no LiveKit is of no use here, however free it is.
    await rig.engine('roomless').heartbeat({ calls: 0, capacity: 9, stt_ready: true, rooms: false })
    const roomless = await tenant.call('POST', '/realtime/session', { project_id: tenant.projectId })
    expect(roomless.body).toMatchObject({ code: 'no_capacity' })
    const peer = await rig.join(session)
    await peer.ended()
    clearInterval(beat)
    expect(toldTo(peer)).toEqual({ 'parley.problem': 'no_capacity' })
    expect(await callsOf(tenant)).toMatchObject([{ status: 'failed', ended_reason: 'queue_expired', cost: 0n }])
    expect(await moneyOf(rig, tenant)).toMatchObject({ available: '1000000', held: '0', open_holds: 0, sum: '0' })
    engine = await startEngine(rig)
    expect(engine.plans).toEqual([])
  })

  test('ends an unclaimed session by the hangup operation', async () => {
    const tenant = await createTenant(rig)
    const session = await rig.session(tenant)
    await engine.stop()
    await rig.engine('full').heartbeat({ calls: 1, capacity: 1, stt_ready: true, rooms: true })
    const peer = await rig.join(session)
    const call = await until(async () => (await callsOf(tenant))[0], 'the call')
    expect((await tenant.call('POST', `/calls/${call.id}/hangup`)).body).toMatchObject({ status: 'canceled' })
    await peer.ended()
    expect(toldTo(peer)).toEqual({ 'parley.ended': 'canceled_by_api' })
    expect(await moneyOf(rig, tenant)).toMatchObject({ held: '0', open_holds: 0 })
    engine = await startEngine(rig)
    livekit = rig.deps.livekit!
  })

  test("adds the session's phone to the do-not-call list", async () => {
    const tenant = await createTenant(rig)
    const phone = nextPhone()
    await rig.join(await rig.session(tenant, { contact: { phone } }))
    const dialogue = await engine.answer(await engine.next())
    await dialogue.ended({ do_not_call: true })
    await until2(tenant, dialogue.plan.call_id, 'completed')
    expect((await tenant.call('GET', '/do-not-call')).body.items).toMatchObject([{ phone, source: 'caller' }])
  })

  test('rejects a forged webhook, and ignores unknown rooms', async () => {
    const body = JSON.stringify({ event: 'participant_joined', room: { name: `${PREFIX}talk-x` } })
    const send = (headers: Record<string, string>, payload = body) =>
      request(rig.app, {
        method: 'POST',
        url: '/livekit/webhook',
        headers: { 'content-type': 'application/webhook+json', ...headers },
        payload,
      })
    const forged = await rig.livekit.token({ room: 'x', identity: 'x' })
    for (const headers of [{}, { authorization: 'nonsense' }, { authorization: forged }]) {
      expect(await send(headers as Record<string, string>)).toMatchObject({
        status: 401,
        body: { code: 'unauthorized' },
      })
    }
    expect(await send({ 'content-type': 'application/json' })).toMatchObject({ status: 415 })
    expect(await request(rig.app, { method: 'GET', url: '/livekit/webhook' })).toMatchObject({ status: 405 })
    rig.deps.livekit = null
    expect(await send({})).toMatchObject({ status: 404 })
    rig.deps.livekit = livekit
    // Another user of the same server, with a room name that starts like ours.
    const stranger = await rig.join({
      url: rig.livekit.url,
      token: await rig.livekit.token({ room: `${PREFIX}talk-stranger`, identity: 'caller-stranger' }),
    })
    const tenant = await createTenant(rig)
    await rig.join(await rig.session(tenant))
    await engine.next() // ours was looked at after theirs
    expect([stranger.endedBy(), stranger.attributes, engine.plans]).toEqual([null, [], []])
  })

  test('deletes old sessions only', async () => {
    const tenant = await createTenant(rig)
    await rig.session(tenant)
    await rig.session(tenant)
    const { sql } = rig.deps
    await sql`
      update realtime_sessions set expires_at = now() - interval '25 hours'
      where id = (select id from realtime_sessions where owner_id = ${tenant.ownerId} limit 1)`
    await sweepOld(rig.deps)
    expect(await sql`select 1 from realtime_sessions where owner_id = ${tenant.ownerId}`).toHaveLength(1)
  })
})
