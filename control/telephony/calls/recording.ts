/** Serves the recording that the engine has stored, as a whole or by range (RFC 9110 §14). */

import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RecordingReadyEvent } from '../../../media/contract/messages.ts'
import type { Deps } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { lockCall, selectCall, updateRecording } from '../call-setup/sql.ts'

/** Deletes the recording of a call or account that was erased or never existed, or whose retention has passed. */
export async function noteRecording(deps: Pick<Deps, 'sql' | 'blobs'>, event: RecordingReadyEvent): Promise<void> {
  const { owner_id, call_id, recording } = event
  const kept = await deps.sql.begin(async tx => {
    // Lock first: an erasure of this call then either has not started, or is visible.
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
  // A HEAD needs no access to the store: its headers are in the row.
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
  /** Last byte, inclusive. */
  end: number
}

/** Null means the whole recording: unsupported and multiple ranges are ignored, as the RFC allows. */
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
