/** Where the time before an answer went, as lines on one scale. Pure. */
import type { TurnLatency } from './timeline.ts'

export const parts = ['endpointing_ms', 'stt_ms', 'llm_first_token_ms', 'tts_first_byte_ms'] as const
export type Part = (typeof parts)[number]

/** Longer than this a caller wonders whether anybody is there. */
export const DEAD_AIR_MS = 2000

export interface Line {
  part: Part
  from_ms: number
  to_ms: number
}

/**
 * Only lengths are measured. The wait for the caller's end comes first, and what the voice and the model took comes last,
 * up to the first sound; recognition came before the model. What was begun early overlaps with the wait.
 */
export function linesOf(latency: TurnLatency): Line[] {
  const { total_ms, endpointing_ms, stt_ms, llm_first_token_ms, tts_first_byte_ms } = latency
  const voice = total_ms - tts_first_byte_ms
  const model = voice - llm_first_token_ms
  // A filler, and a model that hears for itself, tell of no model's first word: recognition then ended with the wait.
  const read = llm_first_token_ms > 0 ? model : endpointing_ms
  const within = (ms: number) => Math.max(0, Math.min(ms, total_ms))
  const line = (part: Part, from: number, to: number) => ({ part, from_ms: within(from), to_ms: within(to) })
  return [
    line('endpointing_ms', 0, endpointing_ms),
    line('stt_ms', read - stt_ms, read),
    line('llm_first_token_ms', model, voice),
    line('tts_first_byte_ms', voice, total_ms),
  ].filter(({ from_ms, to_ms }) => to_ms > from_ms)
}
