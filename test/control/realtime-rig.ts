/**
 * A control plane with a real LiveKit, and an engine of which only the bus and the participant in the room are real.
 */
import { type Control, startControl } from '../../control/app.ts'
import type { ControlConfig } from '../../control/deps.ts'
import { createLiveKit } from '../../control/telephony/realtime/livekit.ts'
import type { CallCommand, CallRecord, EndedReason } from '../../media/contract/messages.ts'
import { type CallPlan, RoomSecret } from '../../media/contract/plan.ts'
import { createControl, type Tenant, type TestControl } from '../support/control.ts'
import { startTestLiveKit, type TestLiveKit } from '../support/livekit.ts'
import { record } from '../support/records.ts'
import { joinRoom, type RoomPeer } from '../support/room-peer.ts'
import { PATIENCE } from '../support/world.ts'

const BEAT_MS = 1000
export const PREFIX = 'test-'

export interface Rig extends TestControl {
  livekit: TestLiveKit
  /** Participants that have joined so far. */
  peers: ReadonlySet<RoomPeer>
  /** Joins the room of a session as a client. */
  join(session: { url: string; token: string }): Promise<RoomPeer>
  session(tenant: Tenant, body?: object): Promise<{ url: string; token: string; expires_in: number }>
}

/** `webhook`: LiveKit tells control of joins; else the sweep finds them. `sweeps`: all that control does by itself. */
export async function createRig(
  options: { webhook?: boolean; sweeps?: boolean; config?: Partial<ControlConfig> } = {},
): Promise<Rig> {
  const control = await createControl({ config: { ...options.config } })
  const address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  const livekit = await startTestLiveKit(options.webhook ? { webhookUrl: `${address}/livekit/webhook` } : {})
  const { url, apiKey, apiSecret } = livekit
  control.deps.livekit = createLiveKit({ url, publicUrl: url, apiKey, apiSecret, prefix: PREFIX })
  const running: Control | null = options.sweeps === false ? null : await startControl(control.deps)
  const peers = new Set<RoomPeer>()
  return {
    ...control,
    livekit,
    peers,
    async join(session) {
      const peer = await joinRoom(session.url, session.token, { microphone: false })
      peers.add(peer)
      return peer
    },
    async session(tenant, body = {}) {
      const answer = await tenant.call('POST', '/realtime/session', { project_id: tenant.projectId, ...body })
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      return answer.body
    },
    async close() {
      await Promise.all([...peers].map(peer => peer.leave().catch(() => {})))
      await running?.stop()
      await control.close()
      await livekit.stop()
    },
  }
}

export interface FakeEngine {
  /** Plans that it has received and no test has read. */
  plans: CallPlan[]
  commands: CallCommand[]
  /** The next of them, also one that is to come. */
  next(): Promise<CallPlan>
  /** Joins the room, and reports the start of the call. */
  answer(plan: CallPlan): Promise<Dialogue>
  stop(): Promise<void>
}

export interface Dialogue {
  plan: CallPlan
  peer: RoomPeer
  emit: ReturnType<ReturnType<TestControl['engine']>['emitter']>
  /** Nobody talks any more. */
  closing(reason?: EndedReason): Promise<void>
  ended(part?: Partial<CallRecord>): Promise<void>
}

export async function startEngine(rig: Rig, name = 'engine-1'): Promise<FakeEngine> {
  const bus = rig.engine(name)
  const state = { calls: 0, capacity: 10, stt_ready: true, rooms: true }
  await bus.heartbeat(state)
  const beat = setInterval(() => void bus.heartbeat(state), BEAT_MS)
  const plans: CallPlan[] = []
  const waiting = new Set<(plan: CallPlan) => void>()
  const reader = bus.onPlace(
    () => 10,
    plan => {
      const [first] = waiting
      if (first) first(plan)
      else plans.push(plan)
    },
  )
  const commands: CallCommand[] = []
  const listener = bus.onCommand(command => void commands.push(command))
  return {
    plans,
    commands,
    next: () => {
      const plan = plans.shift()
      return plan ? Promise.resolve(plan) : nextOf(waiting, rig)
    },
    async answer(plan) {
      const { token } = RoomSecret.parse(rig.deps.sealer.open(plan.room!.sealed, plan.call_id))
      const peer = await rig.join({ url: plan.room!.url, token })
      const emit = bus.emitter(plan)
      await emit({ type: 'call.dialing', engine: bus.engine, boot: bus.boot })
      await emit({ type: 'call.started', engine: bus.engine, boot: bus.boot })
      return {
        plan,
        peer,
        emit,
        closing: (reason = 'agent_hangup') => emit({ type: 'call.closing', reason }),
        ended: (part = {}) => emit({ type: 'call.ended', record: record({ ended_reason: 'agent_hangup', ...part }) }),
      }
    },
    async stop() {
      clearInterval(beat)
      await Promise.all([reader.stop(), listener.stop()])
      await rig.deps.redis.del(`${rig.deps.config.redis_prefix}:heartbeat:${name}`)
    },
  }
}

const NEXT_MS = 10_000

/** Has a time-out: an endless wait would hide the cause and claim the call of a later test. */
function nextOf(waiting: Set<(plan: CallPlan) => void>, { peers }: Rig): Promise<CallPlan> {
  return new Promise((resolve, reject) => {
    const take = (plan: CallPlan) => {
      clearTimeout(timer)
      waiting.delete(take)
      resolve(plan)
    }
    const timer = setTimeout(() => {
      waiting.delete(take)
      reject(new Error(`no call came to the engine; of the rooms: ${JSON.stringify([...peers].map(fateOf))}`))
    }, NEXT_MS * PATIENCE)
    waiting.add(take)
  })
}

const fateOf = ({ identity, attributes, endedBy }: RoomPeer) => ({
  identity: identity.slice(0, 12),
  ended: endedBy(),
  told: attributes.filter(({ from }) => from === identity).map(({ changed }) => changed),
})

/** Balance, holds and entries of an owner. */
export async function moneyOf(rig: Rig, tenant: Tenant) {
  const { sql } = rig.deps
  const [row] = await sql<{ available: string; held: string; open_holds: number; sum: string; entries: string }[]>`
    select available::text, held::text, open_holds,
      (select coalesce(sum(amount), 0)::text from ledger_entries where owner_id = ${tenant.ownerId}) as sum,
      (select coalesce(sum(amount), 0)::text from ledger_entries
       where owner_id = ${tenant.ownerId} and account = 'balance') as entries
    from balances where owner_id = ${tenant.ownerId}`
  return row!
}
