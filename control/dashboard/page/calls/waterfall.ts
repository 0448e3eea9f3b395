/** Splits the response latency into stages on one time scale. Pure. */
import type { TurnLatency } from './timeline.ts'

export const parts = ['endpointing_ms', 'stt_ms', 'llm_first_token_ms', 'tts_first_byte_ms'] as const
export type Part = (typeof parts)[number]

/** Threshold in ms above which a pause counts as dead air. */
export const DEAD_AIR_MS = 2000

export interface Line {
  part: Part
  from_ms: number
  to_ms: number
}

/**
 * Derives start times, because only durations are measured. End-pointing comes first; TTS and the language model end at
 * the first sound; STT ends when the language model starts. Stages that started early overlap with end-pointing.
 */
export function linesOf(latency: TurnLatency): Line[] {
  const { total_ms, endpointing_ms, stt_ms, llm_first_token_ms, tts_first_byte_ms } = latency
  const voice = total_ms - tts_first_byte_ms
  const model = voice - llm_first_token_ms
  // Fillers and speech-to-speech models report no first token; STT then ends together with end-pointing.
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
