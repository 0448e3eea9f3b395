/** Dialogues without a webhook, with two control processes, with an engine or a LiveKit that vanishes. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { handleEvent } from '../../control/background/engine.ts'
import { eraseAccount } from '../../control/data/accounts/operator.ts'
import { createRoomSweep, reconcile } from '../../control/telephony/realtime/reconcile.ts'
import { createControlBus } from '../../media/bus/control-bus.ts'
import { createTenant, type Tenant } from '../support/control.ts'
import { livekitBinary } from '../support/livekit.ts'
import type { RoomPeer } from '../support/room-peer.ts'
import { recordingLog, until } from '../support/world.ts'
import { createRig, type FakeEngine, moneyOf, type Rig, startEngine } from './realtime-rig.ts'

let rig: Rig
let engine: FakeEngine

const setUp = async (options: Parameters<typeof createRig>[0] = {}) => {
  rig = await createRig(options)
  engine = await startEngine(rig)
}
const callsOf = (tenant: Tenant) =>
  rig.deps.sql<{ id: string; status: string; ended_reason: string | null }[]>`
    select id, status, ended_reason from calls where owner_id = ${tenant.ownerId} order by created_at`
const toldTo = (peer: RoomPeer) =>
  Object.assign({}, ...peer.attributes.filter(({ from }) => from === peer.identity).map(({ changed }) => changed))

/** A second process with the same tables and streams and no shared memory. */
function otherProcess(name: string) {
  const { redis, sealer, config } = rig.deps
  const log = recordingLog()
  const bus = createControlBus({ redis, sealer, consumer: name, log, prefix: config.redis_prefix })
  return { ...rig.deps, bus, log }
}

describe.skipIf(livekitBinary === null)('without a webhook', () => {
  afterEach(async () => {
    await engine?.stop()
    await rig?.close()
  })

  describe('with the regular sweep', () => {
    beforeEach(() => setUp())

    test('finds joins within three seconds, and participants who stayed', async () => {
      const tenant = await createTenant(rig)
      const peer = await rig.join(await rig.session(tenant))
      const joined = performance.now()
      const dialogue = await engine.answer(await engine.next())
      expect(performance.now() - joined).toBeLessThan(3000)
      // The end is reported, but the check after it finds LiveKit down: the sweep still finds the caller.
      const { livekit } = rig.deps
      rig.deps.livekit = null
      await dialogue.closing('silence_timeout')
      await until(
        async () => (await rig.deps.sql`select 1 from realtime_sessions where closed_at is not null`).length > 0,
        'the end',
      )
      rig.deps.livekit = livekit ?? null
      await peer.ended()
      expect(toldTo(peer)).toEqual({ 'parley.ended': 'silence_timeout' })
    })
  })

  describe('with explicit reconciliation', () => {
    beforeEach(() => setUp({ sweeps: false, config: { engine_gone_ms: 400 } }))

    test('starts one session when two processes reconcile concurrently', async () => {
      const others = [rig.deps, otherProcess('control-2'), otherProcess('control-3')]
      // Exactly the price of one minute: the slower process finds no balance, and must not remove the caller.
      for (const [round, money] of [1_000_000, 25_000, 1_000_000, 25_000].entries()) {
        const tenant = await createTenant(rig)
        await rig.deps.sql`update balances set available = ${money} where owner_id = ${tenant.ownerId}`
        const session = await rig.session(tenant)
        const peer = await rig.join(session)
        await until(async () => (await rig.deps.livekit!.rooms()).length > round, 'the room')
        const [row] = await rig.deps.sql<{ room: string }[]>`
          select room from realtime_sessions where owner_id = ${tenant.ownerId}`
        await until(async () => {
          await Promise.all([...others, ...others].map(deps => reconcile(deps, row!.room)))
          return (await callsOf(tenant)).length > 0
        }, 'the call')
        await Promise.all(others.map(deps => reconcile(deps, row!.room)))
        expect(await callsOf(tenant)).toHaveLength(1)
        const left = { available: String(money - 25_000), held: '25000', open_holds: 1 }
        expect(await moneyOf(rig, tenant)).toMatchObject(left)
        const dialogue = await engine.answer(await engine.next())
        await Promise.all(others.map(deps => reconcile(deps, row!.room)))
        expect([engine.plans.length, peer.endedBy(), toldTo(peer)]).toEqual([0, null, {}])
        await dialogue.peer.leave()
      }
    })

    test('notifies the caller after two sweeps when the engine is gone, and allows a new session', async () => {
      const tenant = await createTenant(rig)
      const session = await rig.session(tenant)
      const peer = await rig.join(session)
      const watch = createRoomSweep(rig.deps)
      const next = async () => {
        const plan = engine.next()
        await until(async () => {
          await watch.sweep()
          return (await callsOf(tenant)).some(call => call.status === 'queued')
        }, 'the call')
        return engine.answer(await plan)
      }
      const dialogue = await next()
      const { plan } = dialogue
      await told(plan, 'call.started')
      await watch.sweep()
      expect(peer.endedBy()).toBeNull()

      await dialogue.peer.leave()
      await until(async () => (await rig.deps.livekit!.participants(plan.room!.name)).length === 1, 'the engine to go')
      await watch.sweep()
      await watch.sweep()
      expect(peer.endedBy()).toBeNull() // too early
      await pause(rig.deps.config.engine_gone_ms)
      await watch.sweep()
      await peer.ended()
      expect(toldTo(peer)).toEqual({ 'parley.ended': 'engine_lost' })
      // Its call is ended when its lease expires; until then its minute stays on hold.
      expect(await callsOf(tenant)).toMatchObject([{ status: 'in_progress' }])

      const again = await rig.join(session)
      const second = await next()
      expect(second.plan.call_id).not.toBe(plan.call_id)
      // It gets the command to hang up, in case it is still running.
      const hangup = { type: 'call.hangup', call_id: plan.call_id, reason: 'connection_lost' }
      await until(() => engine.commands.length > 0, 'the command')
      expect(engine.commands).toEqual([hangup])
      await told(second.plan, 'call.started')
      // The successor of the lost engine reports its start.
      await handleEvent(rig.deps, { v: 1, type: 'engine.started', engine: 'engine-1', boot: 'later', at: Date.now() })
      await until(async () => (await callsOf(tenant)).every(call => call.ended_reason === 'engine_lost'), 'the end')
      expect(await moneyOf(rig, tenant)).toMatchObject({ held: '0', open_holds: 0, sum: '0' })
      await again.ended()
      expect(toldTo(again)).toEqual({ 'parley.ended': 'engine_lost' })
    })

    test('tolerates a short absence of the agent', async () => {
      const tenant = await createTenant(rig)
      const peer = await rig.join(await rig.session(tenant))
      const watch = createRoomSweep(rig.deps)
      await until(async () => {
        await watch.sweep()
        return (await callsOf(tenant)).length > 0
      }, 'the call')
      const { plan, peer: agent } = await engine.answer(await engine.next())
      await told(plan, 'call.started')
      await agent.leave()
      await until(async () => (await rig.deps.livekit!.participants(plan.room!.name)).length === 1, 'the engine to go')
      await watch.sweep()
      const back = await engine.answer(plan)
      await watch.sweep()
      await back.peer.leave()
      await pause(rig.deps.config.engine_gone_ms)
      await watch.sweep() // the first look of a new absence
      expect([peer.endedBy(), toldTo(peer)]).toEqual([null, {}])
    })

    test('logs an unavailable LiveKit once, and changes nothing', async () => {
      const tenant = await createTenant(rig)
      await rig.session(tenant)
      const watch = createRoomSweep(rig.deps)
      await watch.sweep()
      await rig.livekit.kill()
      for (let i = 0; i < 3; i++) await watch.sweep()
      const lines = () => rig.deps.log.lines.filter(({ message }) => message.startsWith('LiveKit is'))
      expect(lines().map(({ level, message }) => [level, message])).toEqual([['warn', 'LiveKit is unreachable']])
      expect(JSON.stringify(rig.deps.log.lines)).not.toContain(rig.livekit.apiSecret)
      await rig.livekit.restart()
      await watch.sweep()
      expect(lines().map(({ message }) => message)).toEqual(['LiveKit is unreachable', 'LiveKit is reachable again'])
      const session = await rig.session(tenant, { task: 'Be brief' })
      await rig.join(session)
      await until(async () => {
        await watch.sweep()
        return (await callsOf(tenant)).length > 0
      }, 'the call')
    })

    test('erases sessions with the account, and admits no later join', async () => {
      const tenant = await createTenant(rig)
      const session = await rig.session(tenant, { contact: { name: 'Ann' }, vars: { name: 'Ann' } })
      const { clock } = rig.deps
      // It waits until no process believes the account's keys any more.
      const atOnce = { ...clock, after: (_: number, run: () => void) => clock.after(0, run) }
      await eraseAccount({ ...rig.deps, clock: atOnce }, tenant.ownerId)
      expect(await rig.deps.sql`select 1 from realtime_sessions`).toHaveLength(0)
      const peer = await rig.join(session)
      await createRoomSweep(rig.deps).sweep()
      expect([peer.endedBy(), await callsOf(tenant)]).toEqual([null, []])
    })
  })
})

/** Without the loops of control: one event of the bus, handled as they would. */
async function told({ call_id, owner_id }: { call_id: string; owner_id: string }, type: 'call.started') {
  const head = { v: 1, at: Date.now(), call_id, owner_id, seq: 2 } as const
  await handleEvent(rig.deps, { ...head, type, engine: 'engine-1', boot: 'first' })
}
