/**
 * The inputs of a conversation in the order of their delivery: audio, VAD windows, answers of models and tools, timers,
 * keys. One JSON object per line. The log contains what people said; whoever writes one is responsible for it.
 */
import { z } from 'zod'
import { CallPlan } from '../contract/plan.ts'

export const LOG_VERSION = 1

const pcm = z.string()
/** Id of a request, also in its answers. Ids follow the order of the requests. */
const id = z.int()
const SpokenWords = z.array(z.object({ text: z.string(), startMs: z.number(), endMs: z.number() })).readonly()

export const LogHeader = z.object({
  v: z.literal(LOG_VERSION),
  plan: CallPlan,
  sampleRate: z.int(),
  /** Operations that the call offered its agent. */
  abilities: z.array(z.enum(['sendDtmf', 'transfer', 'searchKnowledge'])),
  /** Clock readings at the answer. */
  nowMs: z.number(),
  wallMs: z.number(),
})
export type LogHeader = z.infer<typeof LogHeader>

/** `at`: the clock reading that the conversation saw. */
export const LogEntry = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), at: z.number() }),
  z.object({ type: z.literal('push'), at: z.number(), pcm, atMs: z.number(), concealed: z.boolean() }),
  /** `joined`: in the same event loop turn as the entry before, as when a leg catches up. */
  z.object({ type: z.literal('pull'), at: z.number(), atMs: z.number(), joined: z.boolean() }),
  z.object({ type: z.literal('dtmf'), at: z.number(), digit: z.string() }),
  z.object({ type: z.literal('text'), at: z.number(), text: z.string() }),
  z.object({
    type: z.literal('voice'),
    at: z.number(),
    probability: z.number(),
    atMs: z.number(),
    windowMs: z.number(),
  }),
  z.object({ type: z.literal('timer'), at: z.number(), id }),
  /** A request of the conversation; it delivers nothing. */
  z.object({
    type: z.literal('ask'),
    at: z.number(),
    id,
    port: z.enum(['stt', 'tts', 'llm', 'fetch', 'keys', 'transfer', 'knowledge']),
    request: z.string(),
  }),
  /** One part of an answer: a chunk, an event, or the whole. */
  z.object({ type: z.literal('answer'), at: z.number(), id, value: z.unknown() }),
  z.object({ type: z.literal('done'), at: z.number(), id }),
  z.object({ type: z.literal('failed'), at: z.number(), id, code: z.string().nullable(), message: z.string() }),
  /** Operations of operators on the agent, named as in `AgentSession`. */
  z.object({ type: z.literal('stepAside'), at: z.number() }),
  z.object({ type: z.literal('stepIn'), at: z.number() }),
  z.object({
    type: z.literal('operatorSaid'),
    at: z.number(),
    text: z.string(),
    startMs: z.number(),
    endMs: z.number(),
  }),
  z.object({ type: z.literal('instruct'), at: z.number(), text: z.string() }),
  z.object({ type: z.literal('stop'), at: z.number() }),
])
export type LogEntry = z.infer<typeof LogEntry>

export interface CallLog {
  header: LogHeader
  entries: LogEntry[]
}

/** Throws an Error with the number of the invalid line. */
export function parseLog(text: string): CallLog {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  const read = (line: string, number: number): unknown => {
    try {
      return JSON.parse(line)
    } catch {
      throw new Error(`Line ${number} of the log is not valid JSON`)
    }
  }
  const header = LogHeader.safeParse(read(lines[0] ?? '', 1))
  if (!header.success) throw new Error(`Line 1 is not a valid log header: ${z.prettifyError(header.error)}`)
  const entries = lines.slice(1).map((line, i) => {
    const entry = LogEntry.safeParse(read(line, i + 2))
    if (!entry.success) throw new Error(`Line ${i + 2} of the log is invalid: ${z.prettifyError(entry.error)}`)
    return entry.data
  })
  return { header: header.data, entries }
}

export const pcmToText = (samples: Int16Array) =>
  Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength).toString('base64')

export function textToPcm(text: string): Int16Array {
  const bytes = Buffer.from(text, 'base64')
  const samples = new Int16Array(bytes.length >> 1)
  for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(2 * i)
  return samples
}

/** Codecs to and from JSON: audio and buffers as base64, other fields unchanged. */
const Chunk = z.object({ pcm, sampleRate: z.int(), words: SpokenWords.optional() })
export const chunkCodec = {
  write: (chunk: { pcm: Int16Array; sampleRate: number; words?: z.infer<typeof SpokenWords> }) => ({
    ...chunk,
    pcm: pcmToText(chunk.pcm),
  }),
  read: (value: unknown) => {
    const chunk = Chunk.parse(value)
    const { sampleRate, words } = chunk
    return { pcm: textToPcm(chunk.pcm), sampleRate, ...(words ? { words } : {}) }
  },
}

const Response = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  url: z.string(),
})
export const responseCodec = {
  write: (response: { status: number; headers: Record<string, string>; body: Buffer; url: string }) => ({
    ...response,
    body: response.body.toString('base64'),
  }),
  read: (value: unknown) => {
    const response = Response.parse(value)
    return { ...response, body: Buffer.from(response.body, 'base64') }
  },
}
