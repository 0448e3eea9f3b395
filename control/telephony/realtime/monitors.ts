/** Rooms of operators who monitor a call: closes them at the end of the call, and removes dismissed operators. */
import type { Deps } from '../../platform/deps.ts'
import { errorFields } from '../../platform/log.ts'
import { type LiveKit, LiveKitFailed } from './livekit.ts'
import { monitoredCall } from './names.ts'
import { selectOver } from './sql.ts'

/** Longer than any call. */
const KEPT_SECONDS = 3 * 3600

type Known = Pick<Deps, 'redis' | 'config'>

const keyOf = ({ config }: Known, callId: string) => `${config.redis_prefix}:dismissed:${callId}`

/** LiveKit admits everyone with a valid token, so dismissed operators must be remembered here. */
export async function dismiss(deps: Known, callId: string, identity: string): Promise<void> {
  const key = keyOf(deps, callId)
  await deps.redis.multi().sadd(key, identity).expire(key, KEPT_SECONDS).exec()
}

export async function readmit(deps: Known, callId: string, identity: string): Promise<void> {
  await deps.redis.srem(keyOf(deps, callId), identity)
}

/** Handles only rooms of our calls. When a call has ended, its monitor room is closed. */
export async function reconcileMonitors(deps: Deps, livekit: LiveKit, rooms: string[]): Promise<void> {
  const monitored = new Map<string, string>()
  for (const room of rooms) {
    const callId = monitoredCall(livekit, room)
    if (callId !== null) monitored.set(callId, room)
  }
  if (monitored.size === 0) return
  const over = new Set(await selectOver(deps.sql, [...monitored.keys()]))
  await Promise.all(
    [...monitored].map(async ([callId, room]) => {
      try {
        if (over.has(callId)) return await livekit.close(room)
        await showOutDismissed(deps, livekit, callId, room)
      } catch (error) {
        if (!(error instanceof LiveKitFailed)) throw error
        deps.log.warn({ error: errorFields(error.cause), call_id: callId }, 'reconciling a monitor room failed')
      }
    }),
  )
}

async function showOutDismissed(deps: Known, livekit: LiveKit, callId: string, room: string): Promise<void> {
  const dismissed = new Set(await deps.redis.smembers(keyOf(deps, callId)))
  if (dismissed.size === 0) return
  const there = (await livekit.participants(room)).filter(({ identity }) => dismissed.has(identity))
  await Promise.all(there.map(({ identity }) => livekit.remove(room, identity)))
}
