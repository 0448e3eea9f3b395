/** Creates sessions: a URL and a token. No money is held and no engine is involved until a client joins. */

import type { Db } from '../../platform/db/connect.ts'
import { wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { textsOf, textVars } from '../call-setup/plan.ts'
import { passWeb } from '../gates/service.ts'
import { type LiveKit, LiveKitFailed, MAX_IN_ROOM, type RealtimeDeps } from './livekit.ts'
import { newCaller, newTalkRoom } from './names.ts'
import type { SessionInput } from './schema.ts'
import { insertSession } from './sql.ts'

const EXPIRES_IN_SECONDS = 3600

export async function createSession(
  deps: RealtimeDeps,
  ownerId: string,
  input: SessionInput,
  save: (db: Db, answer: unknown) => Promise<void> = async () => {},
): Promise<{ url: string; token: string; expires_in: number }> {
  const { project_id, task, contact } = input
  const vars = textVars(input.vars)
  const texts = textsOf(task, vars)
  if (contact?.name !== undefined) texts['/contact/name'] = contact.name
  await passWeb(deps, ownerId, { project_id, texts })
  const livekit = await liveKitOf(deps)
  await assertRoom(deps)
  const at = wallDate(deps)
  const seat = { room: newTalkRoom(livekit), identity: newCaller() }
  const token = await livekit.token({
    ...seat,
    ttlSeconds: EXPIRES_IN_SECONDS,
    publish: 'all',
    data: true,
    maxParticipants: MAX_IN_ROOM,
  })
  const answer = { url: livekit.publicUrl, token, expires_in: EXPIRES_IN_SECONDS }
  await deps.sql.begin(async tx => {
    await insertSession(tx, ownerId, {
      id: uuidv7(at.getTime()),
      project_id,
      ...seat,
      task: task ?? null,
      vars,
      contact_name: contact?.name ?? null,
      contact_phone: contact?.phone ?? null,
      created_at: at,
      expires_at: new Date(at.getTime() + EXPIRES_IN_SECONDS * 1000),
    })
    await save(tx, answer)
  })
  return answer
}

/** Throws when LiveKit is not configured or does not respond. */
export async function liveKitOf({ livekit }: Pick<RealtimeDeps, 'livekit'>): Promise<LiveKit> {
  if (!livekit) throw new Problem('realtime_unavailable', { detail: 'No LiveKit server is configured.' })
  if (!(await livekit.healthy())) throw new Problem('realtime_unavailable', { retryAfterSeconds: 5 })
  return livekit
}

/** Maps failures of LiveKit after a good health check. */
export async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (cause) {
    if (!(cause instanceof LiveKitFailed)) throw cause
    throw new Problem('realtime_unavailable', { retryAfterSeconds: 5, cause })
  }
}

async function assertRoom(deps: RealtimeDeps): Promise<void> {
  if ((await deps.bus.engines()).some(({ calls, capacity, rooms }) => rooms && calls < capacity)) return
  throw new Problem('no_capacity', { retryAfterSeconds: 5 })
}
