/** Access for operators to a live call: they meet its engine in a separate LiveKit room, which the engine joins. */
import { randomUUID } from 'node:crypto'
import type { MonitorMode } from '../../../media/contract/messages.ts'
import type { RoomPlan } from '../../../media/contract/plan.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { selectCall } from '../call-setup/sql.ts'
import type { LiveKit, RealtimeDeps, Rights } from '../realtime/livekit.ts'
import { dismiss, readmit } from '../realtime/monitors.ts'
import { agentOf, monitorRoom, operatorOf } from '../realtime/names.ts'
import { liveKitOf, orUnavailable } from '../realtime/service.ts'
import { selectOver } from '../realtime/sql.ts'
import type { MonitorInput } from './schema.ts'

const EXPIRES_IN_SECONDS = 600
/** Longer than any call. */
const ENGINE_SEAT_SECONDS = 3 * 3600
const MAX_OPERATORS = 10

/** LiveKit enforces that a listener cannot be heard, whatever the client tries. */
const rights: Record<MonitorMode, Rights> = {
  listen: { publish: 'nothing', data: false },
  whisper: { publish: 'microphone', data: true },
  takeover: { publish: 'microphone', data: true },
}

export async function monitorCall(deps: RealtimeDeps, ownerId: string, callId: string, input: MonitorInput) {
  await assertTalking(deps, ownerId, callId)
  const livekit = await liveKitOf(deps)
  const { mode, monitor_id = randomUUID() } = input
  const name = monitorRoom(livekit, callId)
  const identity = operatorOf(monitor_id)
  await readmit(deps, callId, identity)
  // An operator who is already in the room gets the rights of the mode before the engine relies on them.
  await orUnavailable(livekit.permit(name, identity, rights[mode]))
  const room = await engineSeat(deps, livekit, callId, name)
  const delivered = await deps.bus.command({ type: 'call.monitor', call_id: callId, monitor_id, mode, room, identity })
  if (!delivered) throw await notDelivered(deps, ownerId, callId)
  const token = await livekit.token({
    room: name,
    identity,
    ttlSeconds: EXPIRES_IN_SECONDS,
    ...rights[mode],
    maxParticipants: MAX_OPERATORS,
  })
  return { monitor_id, mode, url: livekit.publicUrl, token, expires_in: EXPIRES_IN_SECONDS }
}

export async function unmonitorCall(
  deps: RealtimeDeps,
  ownerId: string,
  callId: string,
  monitorId: string,
): Promise<void> {
  await assertTalking(deps, ownerId, callId)
  const identity = operatorOf(monitorId)
  await dismiss(deps, callId, identity)
  // The engine first: an operator who has taken over must be muted even when LiveKit does not respond.
  const delivered = await deps.bus.command({ type: 'call.unmonitor', call_id: callId, monitor_id: monitorId })
  if (!delivered) throw await notDelivered(deps, ownerId, callId)
  const livekit = await liveKitOf(deps)
  await orUnavailable(livekit.remove(monitorRoom(livekit, callId), identity))
}

async function assertTalking(deps: Pick<RealtimeDeps, 'sql'>, ownerId: string, callId: string): Promise<void> {
  const call = await selectCall(deps.sql, ownerId, callId)
  if (!call) throw notFound()
  if (call.ended_at) throw new Problem('call_ended')
  if (call.status !== 'in_progress') throw new Problem('call_not_answered')
  if ((await selectOver(deps.sql, [callId])).length > 0) throw new Problem('call_ended')
}

/** The call may have ended in the meantime. */
async function notDelivered(deps: RealtimeDeps, ownerId: string, callId: string): Promise<Problem> {
  const call = await selectCall(deps.sql, ownerId, callId)
  return call?.ended_at ? new Problem('call_ended') : new Problem('engine_unavailable', { retryAfterSeconds: 2 })
}

async function engineSeat(deps: RealtimeDeps, livekit: LiveKit, callId: string, name: string): Promise<RoomPlan> {
  const token = await livekit.token({
    room: name,
    identity: agentOf(callId),
    ttlSeconds: ENGINE_SEAT_SECONDS,
    agent: true,
    publish: 'all',
    data: true,
    maxParticipants: MAX_OPERATORS,
  })
  return { url: livekit.url, name, sealed: deps.sealer.seal({ token }, callId) }
}
