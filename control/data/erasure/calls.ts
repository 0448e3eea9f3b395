/**
 * Deletes the personal data of calls: recordings, words, and the other party. Money records stay without personal data.
 */
import PQueue from 'p-queue'
import { recordingKey } from '../../../media/contract/recordings.ts'
import type { Tx } from '../../platform/db/connect.ts'
import type { Deps } from '../../platform/deps.ts'

/** Replaces an erased phone number. */
export const ERASED = 'erased'
const DELETED_AT_ONCE = 8

export async function deleteRecordings(
  { blobs }: Pick<Deps, 'blobs'>,
  calls: readonly { recording: { key: string } | null }[],
): Promise<void> {
  const queue = new PQueue({ concurrency: DELETED_AT_ONCE })
  await queue.addAll(calls.flatMap(({ recording }) => (recording ? [() => blobs.delete(recording.key)] : [])))
}

/** Call after the files are deleted. */
export async function forgetRecordings(tx: Tx, ownerId: string, ids: readonly string[]): Promise<void> {
  await tx`
    update calls set recording = null
    where owner_id = ${ownerId} and id = any(${ids as string[]}) and recording is not null`
}

/** Deletes the transcript and everything derived from it. */
export async function forgetWords(tx: Tx, ownerId: string, ids: readonly string[]): Promise<void> {
  await tx`
    update calls set transcript = '[]', tool_calls = '[]', summary = null, extracted = null, extraction_problem = null,
      goal_evidence = null
    where owner_id = ${ownerId} and id = any(${ids as string[]})`
  await tx`
    delete from call_events using calls
    where calls.id = call_id and calls.owner_id = ${ownerId} and call_id = any(${ids as string[]})`
}

/** Deletes the other party. Our own number is not personal. */
export async function forgetPhones(tx: Tx, ownerId: string, ids: readonly string[]): Promise<void> {
  await tx`
    update calls set contact_id = null, task = null, vars = '{}', media = null,
      from_phone = case when direction = 'out' or from_phone = 'web' then from_phone else ${ERASED} end,
      to_phone = case when direction = 'out' then ${ERASED} else to_phone end
    where owner_id = ${ownerId} and id = any(${ids as string[]})`
  await tx`delete from call_traces where owner_id = ${ownerId} and call_id = any(${ids as string[]})`
  await tx`
    update realtime_sessions set contact_name = null, contact_phone = null, task = null, vars = '{}'
    where owner_id = ${ownerId} and call_id = any(${ids as string[]})`
}

/**
 * Erases all personal data of calls that have ended and are locked. Later events from engines about them are ignored.
 */
export async function eraseCalls(
  deps: Pick<Deps, 'blobs'>,
  tx: Tx,
  ownerId: string,
  ids: readonly string[],
  at: Date,
): Promise<void> {
  // By key and not by row: a recording may be stored whose event has not arrived yet.
  await deleteRecordings(
    deps,
    ids.map(id => ({ recording: { key: recordingKey(ownerId, id) } })),
  )
  await forgetRecordings(tx, ownerId, ids)
  await forgetWords(tx, ownerId, ids)
  await forgetPhones(tx, ownerId, ids)
  await tx`update calls set erased_at = ${at} where owner_id = ${ownerId} and id = any(${ids as string[]})`
}
