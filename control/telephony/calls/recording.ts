/** The sound of a call, as the engine has stored it: whole, or the part that a player asks for (RFC 9110 §14). */

import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RecordingReadyEvent } from '../../../media/contract/messages.ts'
import type { Deps } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { lockCall, selectCall, updateRecording } from '../call-setup/sql.ts'

/** Of an account or a call that was erased meanwhile, or has never been, and beyond its retention, nothing is kept. */
export async function noteRecording(deps: Pick<Deps, 'sql' | 'blobs'>, event: RecordingReadyEvent): Promise<void> {
  const { owner_id, call_id, recording } = event
  const kept = await deps.sql.begin(async tx => {
    // First the lock: whoever forgets this call has then either not come yet, or is seen to have passed.
    await lockCall(tx, call_id)
    return updateRecording(tx, owner_id, call_id, recording)
  })
  if (!kept) await deps.blobs.delete(recording.key)
}

export async function sendRecording(
  deps: Pick<Deps, 'sql' | 'blobs'>,
  ownerId: string,
  callId: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const call = await selectCall(deps.sql, ownerId, callId)
  if (!call) throw notFound()
  if (!call.recording) throw new Problem('no_recording')
  const { key, bytes } = call.recording
  const tag = `"${callId}-${bytes}"`
  const { range, 'if-range': condition } = request.headers
  const wanted = condition === undefined || condition === tag ? readRange(range, bytes) : null
  if (wanted === 'beyond') {
    reply.header('Content-Range', `bytes */${bytes}`)
    throw new Problem('range_not_satisfiable')
  }
  // A HEAD is answered without the store: its headers are all in the row.
  const body = request.method === 'HEAD' ? Readable.from([]) : await deps.blobs.read(key, wanted ?? undefined)
  if (!body) throw new Problem('no_recording')
  reply.headers({
    'Content-Type': 'audio/wav',
    'Content-Disposition': `inline; filename="${callId}.wav"`,
    'Accept-Ranges': 'bytes',
    ETag: tag,
    'Content-Length': wanted ? wanted.end - wanted.start + 1 : bytes,
  })
  if (wanted) reply.code(206).header('Content-Range', `bytes ${wanted.start}-${wanted.end}/${bytes}`)
  return reply.send(body)
}

interface ByteRange {
  start: number
  /** The last byte. */
  end: number
}

/** Null: all of it. What we do not understand, and more than one range, is answered whole, as the RFC allows. */
export function readRange(header: string | undefined, size: number): ByteRange | 'beyond' | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'beyond' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < start) return null
  return start >= size ? 'beyond' : { start, end }
}
