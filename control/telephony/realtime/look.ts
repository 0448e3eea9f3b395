/**
 * Looks into rooms and does what is due there (`decide.ts`). Whoever thinks that something changed calls for a look: a
 * webhook, the end of a call, and a sweep, which alone would do. A look may come twice and in two processes: what it
 * starts is decided under a lock, and showing out who has gone does nothing.
 */

import { wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import { errorFields } from '../../platform/log.ts'
import { type Dialogue, type Look, stepOf, type Told, toldOf } from './decide.ts'
import { type LiveKit, LiveKitFailed, type Participant, type RealtimeDeps } from './livekit.ts'
import { lookAtMonitors } from './monitors.ts'
import { agentOf, isAgent, isTalkRoom } from './names.ts'
import { closeDialogue, type SeenSession, selectByRooms, updateCallerSince } from './sql.ts'
import { startDialogue } from './start.ts'

/** Since when (monotonic) an agent has been missing in a room, in which call. */
type Missing = Map<string, { callId: string | null; since: number }>

/** Looks once. Of a missing agent one look proves nothing. */
export async function reconcile(deps: RealtimeDeps, room: string): Promise<void> {
  const { livekit } = deps
  if (!livekit) return
  if (!isTalkRoom(livekit, room)) return lookAtMonitors(deps, livekit, [room])
  const [session] = await selectByRooms(deps.sql, [room])
  if (session) await lookInto(deps, livekit, session, new Map())
}

/** Rooms that this process looks at just now, and whether there were news meanwhile. */
const looking = new WeakMap<object, Map<string, { again: boolean }>>()

/**
 * Nobody waits for it. Of all that comes while a room is looked at, one more look tells. While LiveKit is away, sweeps do
 * the same.
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
  inBackground(deps, 'look at a room failed', looked())
}

const AT_ONCE = 16

/** Sweeps over the rooms that are open. What it costs follows them, not the sessions that nobody uses. */
export function createRoomSweep(deps: RealtimeDeps): { sweep(): Promise<void> } {
  const missing: Missing = new Map()
  /** Rooms of which LiveKit could not tell; others are none the worse for it. */
  const dark = new Set<string>()
  let away = false
  const look = async (livekit: LiveKit, session: SeenSession) => {
    const { id, room } = session
    try {
      await lookInto(deps, livekit, session, missing)
      dark.delete(room)
    } catch (error) {
      if (error instanceof LiveKitFailed) missing.delete(room) // while we do not see, nothing is evidence
      if (error instanceof LiveKitFailed && dark.has(room)) return
      if (error instanceof LiveKitFailed) dark.add(room)
      deps.log.error({ error: errorFields(error), session_id: id }, 'look at a room failed')
    }
  }
  const sweep = async (livekit: LiveKit) => {
    const rooms = await livekit.rooms()
    if (away) deps.log.info({}, 'livekit is back')
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
    await lookAtMonitors(deps, livekit, rooms)
  }
  return {
    async sweep() {
      if (!deps.livekit) return
      try {
        await sweep(deps.livekit)
      } catch (error) {
        if (!(error instanceof LiveKitFailed)) throw error
        missing.clear() // while we do not see, nothing is evidence
        if (!away) deps.log.warn({ error: errorFields(error.cause) }, 'livekit is away')
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
  const step = stepOf(lookOf(deps, session, seen), deps.config.engine_gone_ms)
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
      return showOut(livekit, session, caller, toldOf(session.closed_reason ?? 'internal_error'))
    case 'refuse':
      return showOut(livekit, session, caller, { 'parley.problem': 'session_expired' })
    case 'give_up':
      return giveUp(deps, livekit, session, caller)
  }
}

/**
 * Into a dialogue that goes on: when it ends, it has been for this join, too. One that nobody answers has not, nor one
 * whose agent is not there: it may have ended before, and we hear of that late.
 */
async function noteReturn(deps: RealtimeDeps, session: SeenSession, caller: Participant | undefined): Promise<void> {
  const { call_id, closed_at, caller_since } = session
  if (!caller || call_id === null || closed_at !== null || caller_since === null || !isAnswered(session)) return
  if (caller.joinedAt > caller_since.getTime()) await updateCallerSince(deps.sql, call_id, new Date(caller.joinedAt))
}

interface Seen {
  caller: Participant | undefined
  agentIsThere: boolean
  /** Monotonic. */
  since: number | null
}

function lookOf(deps: Pick<RealtimeDeps, 'clock'>, session: SeenSession, { caller, agentIsThere, since }: Seen): Look {
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
    stepOf(lookOf(deps, current, seen), deps.config.engine_gone_ms) === 'start'
  try {
    await startDialogue(deps, livekit, session, new Date(seen.caller!.joinedAt), isStillDue)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    // Who was faster may have taken the last of the money, or the last place: for this very dialogue.
    const [current] = await selectByRooms(deps.sql, [session.room])
    if (!current || !isStillDue(current)) return
    await showOut(livekit, session, seen.caller, { 'parley.problem': error.code })
  }
}

/** The engine vanished. Its call is closed as ever, by leases or its next start; if it lives after all, it hears of it. */
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
  deps.log.warn({ call_id }, 'the agent of a dialogue vanished from its room')
  await deps.bus.command({ type: 'call.hangup', call_id, reason: 'connection_lost' })
  await showOut(livekit, session, caller, toldOf('engine_lost'))
}

/** Tells the caller why, then ends the room: to come back begins anew. */
async function showOut(
  livekit: LiveKit,
  { room, identity }: SeenSession,
  caller: Participant | undefined,
  told: Told,
): Promise<void> {
  // LiveKit shows out by identity: who has come with the same token since we looked is not meant, and is looked at anew.
  const current = (await livekit.participants(room)).find(one => one.identity === identity)
  if (current?.joinedAt !== caller?.joinedAt) return
  if (!(await livekit.tell(room, identity, told))) return // gone by itself, or another process was faster
  await livekit.remove(room, identity)
  await livekit.close(room)
}
