/**
 * Protocol between engines and the speech process, over loopback TCP: length (4 bytes), length of the head (2 bytes),
 * head as JSON, then 16-bit PCM. Engines send requests, the process answers with the same `id`.
 */
import { z } from 'zod'

export const MAX_TEXT = 4000

export const SpeechRequest = z.discriminatedUnion('type', [
  /** Opens a VAD session for one call; `vad.sound` messages with this id feed it. */
  z.object({ type: z.literal('vad.open'), id: z.int(), sample_rate: z.int() }),
  /** `at_ms` null: no answer is sent. `fresh`: discard the session's state, since too much audio was skipped before. */
  z.object({ type: z.literal('vad.sound'), id: z.int(), at_ms: z.number().nullable(), fresh: z.boolean() }),
  z.object({ type: z.literal('vad.close'), id: z.int() }),
  /** `line` names the call, among which the process takes turns. */
  z.object({ type: z.literal('stt'), id: z.int(), line: z.int(), sample_rate: z.int(), language: z.string() }),
  z.object({
    type: z.literal('tts'),
    id: z.int(),
    text: z.string().max(MAX_TEXT),
    voice: z.string().nullable(),
    language: z.string(),
  }),
  z.object({ type: z.literal('cancel'), id: z.int() }),
])
export type SpeechRequest = z.infer<typeof SpeechRequest>

export const SpeechAnswer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello'), stt_languages: z.array(z.string()), tts_languages: z.array(z.string()) }),
  z.object({
    type: z.literal('voice'),
    id: z.int(),
    at_ms: z.number(),
    window_ms: z.number(),
    probability: z.number(),
  }),
  z.object({ type: z.literal('text'), id: z.int(), text: z.string() }),
  z.object({ type: z.literal('sound'), id: z.int(), sample_rate: z.int() }),
  z.object({ type: z.literal('done'), id: z.int() }),
  z.object({ type: z.literal('failed'), id: z.int(), reason: z.enum(['busy', 'language', 'internal']) }),
])
export type SpeechAnswer = z.infer<typeof SpeechAnswer>

const MAX_FRAME = 8 * 1024 * 1024

export function encodeFrame(head: SpeechRequest | SpeechAnswer, pcm: Int16Array = new Int16Array(0)): Buffer {
  const json = Buffer.from(JSON.stringify(head))
  const frame = Buffer.allocUnsafe(6 + json.length + pcm.length * 2)
  frame.writeUInt32BE(frame.length - 4, 0)
  frame.writeUInt16BE(json.length, 4)
  json.copy(frame, 6)
  Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength).copy(frame, 6 + json.length)
  return frame
}

/** Assembles a byte stream into frames. Throws on an invalid frame. */
export function createDecoder<T extends z.ZodType>(
  schema: T,
): (data: Buffer) => { head: z.infer<T>; pcm: Int16Array }[] {
  let pending: Buffer[] = []
  let size = 0
  return data => {
    pending.push(data)
    size += data.length
    const frames: { head: z.infer<T>; pcm: Int16Array }[] = []
    if (size < 6) return frames
    let buffer = Buffer.concat(pending)
    for (;;) {
      if (buffer.length < 6) break
      const length = buffer.readUInt32BE(0)
      if (length > MAX_FRAME) throw new Error('speech frame too long')
      if (buffer.length < 4 + length) break
      const bodyAt = 6 + buffer.readUInt16BE(4)
      const head = schema.parse(JSON.parse(buffer.toString('utf8', 6, bodyAt)))
      const bytes = buffer.subarray(bodyAt, 4 + length)
      const pcm = new Int16Array(bytes.length >> 1)
      for (let i = 0; i < pcm.length; i++) pcm[i] = bytes.readInt16LE(2 * i)
      frames.push({ head, pcm })
      buffer = buffer.subarray(4 + length)
    }
    pending = [buffer]
    size = buffer.length
    return frames
  }
}
