/** Operators in a live call: the permissions of their tokens, and the events that others receive. */
import { TokenVerifier } from 'livekit-server-sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject } from '../../control/agents/projects/service.ts'
import type { StreamReader } from '../../media/bus/streams.ts'
import type { CallCommand } from '../../media/contract/messages.ts'
import { type CallPlan, RoomSecret } from '../../media/contract/plan.ts'
import { createTenant, nextPhone, type Tenant } from '../support/control.ts'
import { livekitBinary } from '../support/livekit.ts'
import { record } from '../support/records.ts'
import { until } from '../support/world.ts'
import { createRig, PREFIX, type Rig } from './realtime-rig.ts'

let rig: Rig
let engine: ReturnType<Rig['engine']>
const readers: StreamReader[] = []
const plans: CallPlan[] = []
const commands: CallCommand[] = []

const claimsOf = (token: string) => new TokenVerifier(rig.livekit.apiKey, rig.livekit.apiSecret).verify(token)

/** A telephone call that an engine has; answered, unless it is not to be. */
async function live(tenant: Tenant, { answered = true } = {}) {
  const { body } = await tenant.call('POST', '/calls', { project_id: tenant.projectId, phone: nextPhone() })
  const plan = await until(() => plans.find(one => one.call_id === body.id), 'the plan')
  const emit = engine.emitter(plan)
  await emit({ type: 'call.dialing', engine: engine.engine, boot: engine.boot })
  if (answered) await emit({ type: 'call.started', engine: engine.engine, boot: engine.boot })
  const status = answered ? 'in_progress' : 'dialing'
  await until(async () => (await tenant.call('GET', `/calls/${body.id}`)).body.status === status, status)
  return { id: String(body.id), emit, plan }
}
const monitor = (tenant: Tenant, id: string, body: object) => tenant.call('POST', `/calls/${id}/monitor`, body)
const commandFor = (id: string, type: CallCommand['type'], nth = 1) =>
  until(() => commands.filter(one => one.call_id === id && one.type === type)[nth - 1], type)

describe.skipIf(livekitBinary === null)('following a call', () => {
  beforeAll(async () => {
    rig = await createRig({ config: { room_sweep_ms: 200 } })
    engine = rig.engine()
    readers.push(
      engine.onPlace(
        () => 20,
        plan => void plans.push(plan),
      ),
    )
    readers.push(engine.onCommand(command => void commands.push(command)))
  })
  afterAll(async () => {
    await Promise.all(readers.map(reader => reader.stop()))
    await rig?.close()
  })

  test('issues a token with the permissions of the mode, and notifies the engine', async () => {
    const tenant = await createTenant(rig)
    const { id } = await live(tenant)
    const room = `${PREFIX}monitor-${id}`
    const answer = await monitor(tenant, id, { mode: 'listen' })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      monitor_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      mode: 'listen',
      url: rig.livekit.url,
      token: expect.any(String),
      expires_in: 600,
    })
    const { monitor_id, token } = answer.body
    const identity = `operator-${monitor_id}`
    const listen = await claimsOf(token)
    expect(listen).toMatchObject({ sub: identity })
    expect(listen.video).toMatchObject({
      room,
      roomJoin: true,
      canSubscribe: true,
      canPublish: false,
      canPublishData: false,
    })
    expect(listen.video).not.toHaveProperty('roomAdmin')

    const command = await commandFor(id, 'call.monitor')
    expect(command).toMatchObject({ monitor_id, mode: 'listen', identity, room: { url: rig.livekit.url, name: room } })
    if (command.type !== 'call.monitor') throw new Error(command.type)
    const seat = RoomSecret.parse(rig.deps.sealer.open(command.room.sealed, id))
    expect(await claimsOf(seat.token)).toMatchObject({
      sub: `agent-${id}`,
      kind: 'agent',
      video: { room, canPublish: true },
    })

    for (const mode of ['whisper', 'takeover']) {
      const { body } = await monitor(tenant, id, { mode })
      expect(body.monitor_id).not.toBe(monitor_id)
      expect((await claimsOf(body.token)).video).toMatchObject({
        canPublish: true,
        canPublishSources: ['microphone'],
        canPublishData: true,
      })
    }
  })

  test('changes the mode and permissions of a connected operator in place', async () => {
    const tenant = await createTenant(rig)
    const { id } = await live(tenant)
    const room = `${PREFIX}monitor-${id}`
    const { body: first } = await monitor(tenant, id, { mode: 'listen' })
    const operator = await rig.join(first)
    const rights = () => operator.room.localParticipant!.info.permission
    expect(rights()).toMatchObject({ canPublish: false, canPublishData: false, canSubscribe: true })
    const { body: second } = await monitor(tenant, id, { mode: 'takeover', monitor_id: first.monitor_id })
    expect(second).toMatchObject({ monitor_id: first.monitor_id, mode: 'takeover' })
    expect((await claimsOf(second.token)).video).toMatchObject({ room, canPublishSources: ['microphone'] })
    expect(await commandFor(id, 'call.monitor', 2)).toMatchObject({ monitor_id: first.monitor_id, mode: 'takeover' })
    const allowed = async () => (await permissionsIn(room))[operator.identity]
    expect(await allowed()).toMatchObject({ canPublish: true, canPublishData: true, canSubscribe: true })
    await monitor(tenant, id, { mode: 'listen', monitor_id: first.monitor_id })
    expect(await allowed()).toMatchObject({ canPublish: false, canPublishData: false, canSubscribe: true })
    expect(operator.endedBy()).toBeNull()

    const gone = await tenant.call('DELETE', `/calls/${id}/monitor/${first.monitor_id}`)
    expect(gone).toMatchObject({ status: 200, body: { id: first.monitor_id, deleted: true } })
    await operator.ended()
    expect(await commandFor(id, 'call.unmonitor')).toEqual({
      type: 'call.unmonitor',
      call_id: id,
      monitor_id: first.monitor_id,
    })
    // Again, without an operator.
    expect((await tenant.call('DELETE', `/calls/${id}/monitor/${first.monitor_id}`)).status).toBe(200)
  })

  test('stores and streams monitor events; deletes the room at the end of the call', async () => {
    const tenant = await createTenant(rig)
    const { id, emit } = await live(tenant)
    const { body } = await monitor(tenant, id, { mode: 'whisper' })
    const operator = await rig.join(body)
    const { monitor_id } = body
    await emit({ type: 'monitor.joined', monitor_id, mode: 'whisper' })
    await emit({ type: 'monitor.whispered', monitor_id, text: 'Offer ten percent' })
    await emit({ type: 'transfer.waiting', name: 'Sales' })
    await emit({ type: 'transfer.settled', name: 'Sales', accepted: true })
    await emit({ type: 'monitor.changed', monitor_id, mode: 'takeover' })
    await emit({ type: 'monitor.left', monitor_id })
    expect(operator.endedBy()).toBeNull()
    await emit({ type: 'call.closing', reason: 'caller_hangup' })
    await operator.ended()
    expect((await rig.deps.livekit!.rooms()).filter(room => room.includes(id))).toEqual([])
    expect((await monitor(tenant, id, { mode: 'listen' })).body).toMatchObject({ status: 409, code: 'call_ended' })
    const events = await rig.deps.sql<{ type: string; data: object }[]>`
      select type, data from call_events where call_id = ${id} order by seq`
    expect(events.slice(2)).toMatchObject([
      { type: 'monitor.joined', data: { monitor_id, mode: 'whisper' } },
      { type: 'monitor.whispered', data: { text: 'Offer ten percent' } },
      { type: 'transfer.waiting', data: { name: 'Sales' } },
      { type: 'transfer.settled', data: { accepted: true } },
      { type: 'monitor.changed', data: { mode: 'takeover' } },
      { type: 'monitor.left', data: { monitor_id } },
      { type: 'call.closing', data: { reason: 'caller_hangup' } },
    ])
    await emit({ type: 'call.ended', record: record() })
    await until(async () => (await tenant.call('GET', `/calls/${id}`)).body.status === 'completed', 'the end')
    const stream = (await tenant.call('GET', `/calls/${id}/events`)).body
    expect([...stream.matchAll(/^event: (.*)$/gm)].map(([, type]) => type).slice(2)).toEqual([
      ...events.slice(2).map(event => event.type),
      'call.ended',
    ])
    // A participant who joins late with a valid token hears nothing.
    const late = await rig.join(body)
    await late.ended()
  })

  test('monitors only live answered calls of the owner', async () => {
    const tenant = await createTenant(rig)
    const other = await createTenant(rig)
    const id = '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01'
    const way = `/calls/${id}/monitor/${id}`
    const ringing = await live(tenant, { answered: false })
    const talking = await live(tenant)
    const ask = async (callId: string, by = tenant) => (await monitor(by, callId, { mode: 'listen' })).body
    expect(await ask(talking.id, other)).toMatchObject({ status: 404, code: 'not_found' })
    expect((await other.call('DELETE', way.replace(id, talking.id))).body).toMatchObject({ status: 404 })
    expect(await ask(id)).toMatchObject({ status: 404 })
    expect(await ask(ringing.id)).toMatchObject({ status: 409, code: 'call_not_answered' })
    expect((await tenant.call('DELETE', way.replace(id, ringing.id))).body).toMatchObject({ code: 'call_not_answered' })
    expect((await monitor(tenant, talking.id, { mode: 'shout' })).body).toMatchObject({ status: 400 })
    expect((await monitor(tenant, talking.id, { mode: 'listen', monitor_id: 'me' })).body).toMatchObject({
      status: 400,
    })
    const { livekit } = rig.deps
    rig.deps.livekit = null
    expect(await ask(talking.id)).toMatchObject({ status: 503, code: 'realtime_unavailable' })
    rig.deps.livekit = livekit ?? null
    await engine.dropLease(talking.id)
    expect(await ask(talking.id)).toMatchObject({ status: 503, code: 'engine_unavailable' })
    expect((await tenant.call('DELETE', way.replace(id, talking.id))).body).toMatchObject({
      code: 'engine_unavailable',
    })
    await rig.deps.livekit!.rooms()
    expect(commands.filter(one => one.call_id === talking.id)).toEqual([])
  })

  test('omits the token from an idempotent replay', async () => {
    const tenant = await createTenant(rig)
    const { id } = await live(tenant)
    const ask = () => tenant.call('POST', `/calls/${id}/monitor`, { mode: 'listen' }, { 'idempotency-key': 'one' })
    const first = await ask()
    const second = await ask()
    expect([second.status, second.headers['idempotent-replayed']]).toEqual([201, 'true'])
    expect(second.body).toEqual({ ...first.body, token: undefined })
  })

  test("sends the project's transfer targets in the plan", async () => {
    const tenant = await createTenant(rig)
    const sales = { name: 'Sales', to: 'browser', description: 'Who wants to buy' }
    const patch = (transfers: object[]) => tenant.call('PATCH', `/projects/${tenant.projectId}`, { transfers })
    expect((await patch([sales])).body).toMatchObject({ transfers: [sales] })
    expect((await patch([sales, { ...sales, description: '' }])).status).toBe(400)
    expect((await patch([{ ...sales, to: 'tel:sales' }])).status).toBe(400)
    expect((await patch(Array.from({ length: 11 }, (_, i) => ({ ...sales, name: `S${i}` })))).status).toBe(400)
    expect((await patch([{ ...sales, description: 'Ask the customer for the CVV of the card.' }])).body).toMatchObject({
      status: 422,
      errors: [{ pointer: '/transfers/0/description' }],
    })
    const { plan } = await live(tenant)
    expect(plan.transfers).toEqual([{ ...sales, announce: null }])
    // Projects of before have none.
    const old = await createProject(rig.deps, tenant.ownerId, { name: 'Old', language: 'en' })
    await rig.deps.sql`update projects set settings = settings - 'transfers' where id = ${old.id}`
    expect((await tenant.call('GET', `/projects/${old.id}`)).body.transfers).toEqual([])
  })
})

async function permissionsIn(room: string) {
  const { RoomServiceClient } = await import('livekit-server-sdk')
  const { url, apiKey, apiSecret } = rig.livekit
  const people = await new RoomServiceClient(url.replace('ws', 'http'), apiKey, apiSecret).listParticipants(room)
  return Object.fromEntries(people.map(({ identity, permission }) => [identity, permission]))
}
