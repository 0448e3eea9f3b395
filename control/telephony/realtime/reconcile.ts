/**
 * Reconciles rooms: checks who is there and runs the next step (`decide.ts`). Any hint of a change triggers it: a
 * webhook, the end of a call, and a sweep, which alone would be enough. Two processes may reconcile the same room: a
 * start is decided under a lock, and removing a participant twice does nothing.
 */

import { wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import { errorFields } from '../../platform/log.ts'
import { type ClientNotice, type Dialogue, noticeOf, type RoomState, stepOf } from './decide.ts'
import { type LiveKit, LiveKitFailed, type Participant, type RealtimeDeps } from './livekit.ts'
import { reconcileMonitors } from './monitors.ts'
import { agentOf, isAgent, isTalkRoom } from './names.ts'
import { closeDialogue, type SeenSession, selectByRooms, updateCallerSince } from './sql.ts'
import { startDialogue } from './start.ts'

/** Since when (monotonic ms) an agent has been missing in a room, and in which call. */
type Missing = Map<string, { callId: string | null; since: number }>

/** Reconciles once. A single check does not prove that an agent is missing. */
export async function reconcile(deps: RealtimeDeps, room: string): Promise<void> {
  const { livekit } = deps
  if (!livekit) return
  if (!isTalkRoom(livekit, room)) return reconcileMonitors(deps, livekit, [room])
  const [session] = await selectByRooms(deps.sql, [room])
  if (session) await lookInto(deps, livekit, session, new Map())
}

/** Rooms that this process is reconciling, and whether there was another hint meanwhile. */
const looking = new WeakMap<object, Map<string, { again: boolean }>>()

/**
 * Runs in the background. All hints that arrive while a room is reconciled cause only one more run. While LiveKit is
 * unreachable, sweeps do the work.
 */
export function reconcileSoon(deps: RealtimeDeps, room: string | undefined): void {
  if (room === undefined) return
  const rooms = looking.get(deps) ?? new Map<string, { again: boolean }>()
  looking.set(deps, rooms)
  const current = rooms.get(room)
  if (current) {
    current.again = true
    return
  }
  const look = { again: true }
  rooms.set(room, look)
  const looked = async () => {
    try {
      while (look.again) {
        look.again = false
        await reconcile(deps, room)
      }
    } catch (error) {
      if (!(error instanceof LiveKitFailed)) throw error
    } finally {
      rooms.delete(room)
    }
  }
  inBackground(deps, 'reconciling a room failed', looked())
}

const AT_ONCE = 16

/** Sweeps over the open rooms. The cost depends on them and not on unused sessions. */
export function createRoomSweep(deps: RealtimeDeps): { sweep(): Promise<void> } {
  const missing: Missing = new Map()
  /** Rooms that LiveKit could not report on; they do not affect the others. */
  const dark = new Set<string>()
  let away = false
  const look = async (livekit: LiveKit, session: SeenSession) => {
    const { id, room } = session
    try {
      await lookInto(deps, livekit, session, missing)
      dark.delete(room)
    } catch (error) {
      if (error instanceof LiveKitFailed) missing.delete(room) // without data there is no evidence
      if (error instanceof LiveKitFailed && dark.has(room)) return
      if (error instanceof LiveKitFailed) dark.add(room)
      deps.log.error({ error: errorFields(error), session_id: id }, 'reconciling a room failed')
    }
  }
  const sweep = async (livekit: LiveKit) => {
    const rooms = await livekit.rooms()
    if (away) deps.log.info({}, 'LiveKit is reachable again')
    away = false
    const open = new Set(rooms)
    for (const known of [missing, dark]) for (const room of known.keys()) if (!open.has(room)) known.delete(room)
    const sessions = await selectByRooms(
      deps.sql,
      rooms.filter(room => isTalkRoom(livekit, room)),
    )
    for (let from = 0; from < sessions.length; from += AT_ONCE) {
      await Promise.all(sessions.slice(from, from + AT_ONCE).map(session => look(livekit, session)))
    }
    await reconcileMonitors(deps, livekit, rooms)
  }
  return {
    async sweep() {
      if (!deps.livekit) return
      try {
        await sweep(deps.livekit)
      } catch (error) {
        if (!(error instanceof LiveKitFailed)) throw error
        missing.clear() // without data there is no evidence
        if (!away) deps.log.warn({ error: errorFields(error.cause) }, 'LiveKit is unreachable')
        away = true
      }
    },
  }
}

async function lookInto(deps: RealtimeDeps, livekit: LiveKit, session: SeenSession, missing: Missing): Promise<void> {
  const { room, identity, call_id } = session
  const people = (await livekit.participants(room)).filter(one => one.active)
  const caller = people.find(one => one.identity === identity)
  const noted = missing.get(room)
  const since = noted?.callId === call_id ? noted.since : null
  const seen = { caller, agentIsThere: people.some(one => isAgent(one.identity)), since }
  const step = stepOf(roomStateOf(deps, session, seen), deps.config.engine_gone_ms)
  if (step === 'watch') missing.set(room, { callId: call_id, since: since ?? deps.clock.now() })
  else missing.delete(room)
  if (people.some(one => call_id !== null && one.identity === agentOf(call_id))) await noteReturn(deps, session, caller)
  switch (step) {
    case 'nothing':
    case 'watch':
      return
    case 'start':
      return start(deps, livekit, session, seen)
    case 'end':
      return removeParticipant(livekit, session, caller, noticeOf(session.closed_reason ?? 'internal_error'))
    case 'refuse':
      return removeParticipant(livekit, session, caller, { 'parley.problem': 'session_expired' })
    case 'give_up':
      return giveUp(deps, livekit, session, caller)
  }
}

/**
 * Records a rejoin of an ongoing dialogue: the dialogue then covers this join too. Not for an unanswered dialogue, nor
 * for one without its agent: it may have ended before, and the event arrives late.
 */
async function noteReturn(deps: RealtimeDeps, session: SeenSession, caller: Participant | undefined): Promise<void> {
  const { call_id, closed_at, caller_since } = session
  if (!caller || call_id === null || closed_at !== null || caller_since === null || !isAnswered(session)) return
  if (caller.joinedAt > caller_since.getTime()) await updateCallerSince(deps.sql, call_id, new Date(caller.joinedAt))
}

interface Seen {
  caller: Participant | undefined
  agentIsThere: boolean
  /** Monotonic ms. */
  since: number | null
}

function roomStateOf(
  deps: Pick<RealtimeDeps, 'clock'>,
  session: SeenSession,
  { caller, agentIsThere, since }: Seen,
): RoomState {
  const now = deps.clock.wall()
  return {
    now,
    callerSince: caller?.joinedAt ?? null,
    agentIsThere,
    expiresAt: session.expires_at.getTime(),
    dialogue: dialogueOf(session),
    agentMissingSince: since === null ? null : now - (deps.clock.now() - since),
  }
}

function dialogueOf(session: SeenSession): Dialogue | null {
  const { call_id, call_deadline_at, closed_at, caller_since } = session
  if (call_id === null) return null
  return {
    answered: isAnswered(session),
    deadline: call_deadline_at?.getTime() ?? 0,
    closedAt: closed_at?.getTime() ?? null,
    callerSince: caller_since?.getTime() ?? null,
  }
}

const isAnswered = ({ call_status, call_answered_at }: SeenSession) =>
  call_status === 'in_progress' || call_answered_at !== null

async function start(deps: RealtimeDeps, livekit: LiveKit, session: SeenSession, seen: Seen): Promise<void> {
  const isStillDue = (current: SeenSession) =>
    stepOf(roomStateOf(deps, current, seen), deps.config.engine_gone_ms) === 'start'
  try {
    await startDialogue(deps, livekit, session, new Date(seen.caller!.joinedAt), isStillDue)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    // A faster process may have used the last money or slot, for this very dialogue.
    const [current] = await selectByRooms(deps.sql, [session.room])
    if (!current || !isStillDue(current)) return
    await removeParticipant(livekit, session, seen.caller, { 'parley.problem': error.code })
  }
}

/**
 * The engine has vanished. Its call is ended as usual, by its lease or the engine's next start; if the engine is alive
 * after all, it gets the hang-up.
 */
async function giveUp(
  deps: RealtimeDeps,
  livekit: LiveKit,
  session: SeenSession,
  caller: Participant | undefined,
): Promise<void> {
  const { call_id } = session
  if (call_id === null) return
  const room = await closeDialogue(deps.sql, call_id, wallDate(deps), 'engine_lost')
  if (room === undefined) return // another process was faster
  deps.log.warn({ call_id }, 'agent has vanished from its room')
  await deps.bus.command({ type: 'call.hangup', call_id, reason: 'connection_lost' })
  await removeParticipant(livekit, session, caller, noticeOf('engine_lost'))
}

/** Reports the reason to the caller, then closes the room: a rejoin starts a new dialogue. */
async function removeParticipant(
  livekit: LiveKit,
  { room, identity }: SeenSession,
  caller: Participant | undefined,
  notice: ClientNotice,
): Promise<void> {
  // LiveKit removes by identity: a participant who has joined with the same token since the check is not meant, and is
  // reconciled again.
  const current = (await livekit.participants(room)).find(one => one.identity === identity)
  if (current?.joinedAt !== caller?.joinedAt) return
  if (!(await livekit.setAttributes(room, identity, notice))) return // already gone, or another process was faster
  await livekit.remove(room, identity)
  await livekit.close(room)
}
