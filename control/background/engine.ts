/**
 * Control's side of the communication with engines: processes their events, answers their queries, cleans up after
 * them.
 */
import type { Claimant, RequestHandlers } from '../../media/bus/control-bus.ts'
import type { BusEvent, CallEvent, EngineEvent } from '../../media/contract/messages.ts'
import { traced } from '../../media/shared/tracing.ts'
import { sweepAuditEntries } from '../access/audit/service.ts'
import { deleteExpired } from '../access/sessions/sql.ts'
import type { KnowledgeDeps } from '../knowledge/parts.ts'
import { answerSearch } from '../knowledge/search.ts'
import type { MeteredDeps } from '../metrics/meters.ts'
import { noteAnswered } from '../outreach/campaigns/results-of-calls.ts'
import { wallDate } from '../platform/deps.ts'
import { forgetOldKeys } from '../platform/http/idempotency.ts'
import { rethrowBare } from '../platform/log.ts'
import type { CallDeps } from '../telephony/call-setup/ended.ts'
import type { CallStatus } from '../telephony/call-setup/schema.ts'
import {
  type CallRow,
  deleteOldEvents,
  insertEvent,
  type LiveChange,
  lockCall,
  selectHeld,
  selectOfEarlierBoots,
  selectOverdue,
  selectUnreported,
  updateBridgeClosed,
  updateLive,
} from '../telephony/call-setup/sql.ts'
import { admitCall, extendCall } from '../telephony/calls/admit.ts'
import { bridgeCall } from '../telephony/calls/bridge.ts'
import { finish, finishLost, finishUnanswered } from '../telephony/calls/finish.ts'
import { noteRecording } from '../telephony/calls/recording.ts'
import type { RealtimeDeps } from '../telephony/realtime/livekit.ts'
import { reconcileSoon } from '../telephony/realtime/reconcile.ts'
import { closeDialogue, deleteOldSessions } from '../telephony/realtime/sql.ts'
import { deleteOldTraces } from '../telephony/trace/sql.ts'
import { noteTrunkStatus } from '../telephony/trunks/service.ts'
import { deleteOldDeliveries } from '../webhooks/sql.ts'

/** Dependencies of the bus handlers and of the sweeps. */
export interface EngineDeps extends CallDeps, MeteredDeps, RealtimeDeps, KnowledgeDeps {}

export function askHandlers(deps: EngineDeps): RequestHandlers {
  return {
    'call.admit': async request => {
      const options = { kind: 'server', parent: request.traceparent } as const
      const answer = await traced(deps.tracing, 'call.admit', options, async span => {
        const admission = await admitCall(deps, request)
        span.set({ 'parley.result': admission.admitted ? 'admitted' : admission.refusal })
        return admission
      }).catch(rethrowBare)
      return deps.meters?.admission(answer) ?? answer
    },
    'call.extend': request => extendCall(deps, request).catch(rethrowBare),
    'knowledge.search': request => answerSearch(deps, request).catch(rethrowBare),
    'call.bridge': async request => {
      const answer = await bridgeCall(deps, request).catch(rethrowBare)
      deps.meters?.bridges.add({ result: answer.granted ? 'granted' : 'refused' })
      return answer
    },
  }
}

export async function handleEvent(deps: EngineDeps, event: BusEvent): Promise<void> {
  switch (event.type) {
    case 'engine.started':
      return closeEarlierBoots(deps, event)
    case 'engine.stopping':
      return
    case 'trunk.status':
      return noteTrunkStatus(deps, event)
    case 'recording.ready':
      return noteRecording(deps, event)
    default:
      return handleCallEvent(deps, event)
  }
}

async function closeEarlierBoots(deps: EngineDeps, { engine, boot, at }: EngineEvent): Promise<void> {
  // The last events of the earlier boot may be in the same batch, with the outcomes of its calls.
  await new Promise<void>(resolve => deps.clock.after(deps.config.engine_lost_grace_ms, resolve))
  // When this event is late, its boot may already have ended.
  const now = (await deps.bus.engines()).find(one => one.engine === engine)
  if (now && now.boot !== boot && now.since !== undefined && now.since > at) return
  const lost = await selectOfEarlierBoots(deps.sql, engine, boot)
  for (const { id, claimant } of await selectClaimed(deps)) {
    if (claimant !== 'control' && claimant.engine === engine && claimant.boot !== boot) lost.push(id)
  }
  for (const id of lost) await finishLost(deps, id)
  if (lost.length > 0) deps.log.warn({ engine, calls: lost.length }, 'calls of an earlier boot were ended')
}

/** Progress of a call. Events come in any order, and a status never goes back. */
const rank: Record<CallStatus, number> = {
  queued: 0,
  dialing: 1,
  ringing: 2,
  in_progress: 3,
  completed: 4,
  no_answer: 4,
  busy: 4,
  failed: 4,
  canceled: 4,
}

function changeOf(event: Exclude<CallEvent, { type: 'call.ended' }>): LiveChange {
  switch (event.type) {
    case 'call.dialing':
      return { status: 'dialing', engine: event.engine, boot: event.boot }
    case 'call.ringing':
      return { status: 'ringing' }
    case 'call.started':
      return { status: 'in_progress', engine: event.engine, boot: event.boot, answered_at: new Date(event.at) }
    case 'call.progress':
      return { status: 'in_progress', progress_ms: event.talked_ms }
    default:
      return {}
  }
}

async function handleCallEvent(deps: EngineDeps, event: CallEvent): Promise<void> {
  if (event.type === 'call.ended') {
    const { call_id, record, traceparent } = event
    if (await finish(deps, call_id, record, traceparent)) deps.meters?.calls.ended(record)
    return
  }
  // DTMF digits from a caller may be a PIN, so they are not stored; a client in a room may also send any number of
  // them.
  if (event.type === 'dtmf.received') return
  if (event.type === 'bridge.closed') return updateBridgeClosed(deps.sql, event.owner_id, event.call_id, event.attempt)
  const change = changeOf(event)
  let room: string | undefined
  let dialed = false
  await deps.sql.begin(async tx => {
    const call = await lockCall(tx, event.call_id)
    if (!call || call.ended_at || call.owner_id !== event.owner_id) return
    if (change.status && rank[change.status] <= rank[call.status]) delete change.status
    if (change.progress_ms !== undefined && change.progress_ms <= call.progress_ms) delete change.progress_ms
    if (change.answered_at && call.answered_at) delete change.answered_at
    await updateLive(tx, call, change)
    dialed = change.status === 'dialing'
    if (change.status === 'in_progress') await noteAnswered(tx, call)
    const stored = storedEvent(event)
    if (stored) await insertEvent(tx, call.id, stored)
    if (event.type === 'call.closing') room = await closeDialogue(tx, call.id, new Date(event.at), event.reason)
  })
  if (dialed) deps.meters?.calls.dialed.add()
  reconcileSoon(deps, room)
}

/** The row already has the progress. */
function storedEvent(event: Exclude<CallEvent, { type: 'call.ended' | 'dtmf.received' | 'bridge.closed' }>) {
  if (event.type === 'call.progress') return null
  const { v: _v, call_id: _call, owner_id: _owner, seq, at, type, ...data } = event
  return { seq, type, at: new Date(at), data }
}

// ---- Sweeps ----

/** Ends calls that no engine has claimed in time. A Lua script decides races with an engine that is claiming one. */
export async function sweepOverdue(deps: EngineDeps): Promise<void> {
  for (const { id, direction } of await selectOverdue(deps.sql, wallDate(deps))) {
    if (!(await deps.bus.withdraw(id))) continue // an engine has it; its lease decides from here
    await finishUnclaimed(deps, { id, direction })
  }
}

const finishUnclaimed = (deps: EngineDeps, { id, direction }: Pick<CallRow, 'id' | 'direction'>) =>
  finishUnanswered(deps, id, 'failed', direction === 'in' ? 'engine_lost' : 'queue_expired')

/** Selects calls that were claimed but not reported: the claimant may have died before its first event. */
async function selectClaimed(
  deps: EngineDeps,
): Promise<{ id: string; direction: CallRow['direction']; claimant: Claimant }[]> {
  const untold = await selectUnreported(deps.sql)
  const claimantsOf = await deps.bus.claimantsOf(untold.map(call => call.id))
  return untold.flatMap(call => {
    const claimant = claimantsOf.get(call.id)
    return claimant ? [{ ...call, claimant }] : []
  })
}

const LEASE_BATCH = 50

/**
 * Ends calls whose engine has been silent for too long. Remembers since when a lease is missing; that is evidence only
 * while the sweeps run without a break, so an outage of Redis (or of this process) restarts the clock.
 */
export function createReaper(deps: EngineDeps): { sweep(): Promise<void> } {
  const missing = new Map<string, number>()
  const longestBreak = deps.config.reap_after_ms / 2
  let sweptAt = deps.clock.now()
  return {
    async sweep() {
      const held = await selectHeld(deps.sql)
      const alive = new Set<string>()
      /** Calls withdrawn by a control process that died before it ended them; they were never dialled. */
      const withdrawn = new Map<string, Pick<CallRow, 'id' | 'direction'>>()
      try {
        for (const { claimant, ...call } of await selectClaimed(deps)) {
          held.push(call.id)
          if (claimant === 'control') withdrawn.set(call.id, call)
        }
        for (let from = 0; from < held.length; from += LEASE_BATCH) {
          const batch = held.slice(from, from + LEASE_BATCH)
          const holders = await Promise.all(batch.map(id => deps.bus.holder(id)))
          for (const [index, holder] of holders.entries()) if (holder) alive.add(batch[index]!)
        }
      } catch (error) {
        missing.clear()
        throw error
      }
      const now = deps.clock.now()
      if (now - sweptAt > longestBreak) missing.clear()
      sweptAt = now
      const gone = new Set(held.filter(id => !alive.has(id)))
      for (const id of missing.keys()) if (!gone.has(id)) missing.delete(id)
      for (const id of gone) {
        const since = missing.get(id) ?? now
        missing.set(id, since)
        if (now - since < deps.config.reap_after_ms) continue
        const left = withdrawn.get(id)
        if (left) await finishUnclaimed(deps, left)
        else if (await finishLost(deps, id)) deps.log.warn({ call_id: id }, 'call without a live engine was ended')
        missing.delete(id)
      }
    },
  }
}

const DAY_MS = 24 * 3600 * 1000
const EVENTS_KEPT_MS = DAY_MS
const DELIVERIES_KEPT_MS = 30 * DAY_MS
const TRACES_KEPT_MS = 30 * DAY_MS
/** Kept beyond their expiry, because a dialogue may have started in the last minute. */
const SESSIONS_KEPT_MS = DAY_MS

export async function sweepOld(deps: EngineDeps): Promise<void> {
  await forgetOldKeys(deps)
  await sweepAuditEntries(deps)
  await deleteExpired(deps.sql, wallDate(deps))
  await deleteOldEvents(deps.sql, new Date(deps.clock.wall() - EVENTS_KEPT_MS))
  await deleteOldTraces(deps.sql, new Date(deps.clock.wall() - TRACES_KEPT_MS))
  const used = new Date(deps.clock.wall() - SESSIONS_KEPT_MS)
  await deleteOldSessions(deps.sql, { unused: wallDate(deps), used })
  await deleteOldDeliveries(deps.sql, new Date(deps.clock.wall() - DELIVERIES_KEPT_MS))
}
