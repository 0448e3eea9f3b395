/** Merges the transcript and the tool calls of a call in chronological order. Pure. */
import type { Schemas } from '../api/types.ts'

type CallDetail = Schemas['CallDetail']

export type Turn = CallDetail['transcript'][number]
export type ToolCall = CallDetail['tool_calls'][number]
export type TurnLatency = CallDetail['latency']['turns'][number]

export type Entry = { id: string; started_ms: number } & (
  | { kind: 'turn'; turn: Turn }
  | { kind: 'tool'; tool: ToolCall }
)

/** Tool calls also appear as transcript turns; the tool call carries more detail, so the turn is dropped. */
export function timelineOf({ transcript, tool_calls }: Pick<CallDetail, 'transcript' | 'tool_calls'>): Entry[] {
  const turns: Entry[] = transcript.flatMap((turn, index) =>
    turn.role === 'tool' ? [] : [{ id: `turn ${index}`, kind: 'turn', turn, started_ms: turn.started_ms }],
  )
  const tools: Entry[] = tool_calls.map((tool, index) => {
    return { id: `tool ${index}`, kind: 'tool', tool, started_ms: tool.started_ms }
  })
  return [...turns, ...tools].sort((one, other) => one.started_ms - other.started_ms)
}

/** Returns the index of the entry at a playback position: the last one that has started, or -1. */
export const entryAt = (entries: readonly Entry[], ms: number): number =>
  entries.findLastIndex(({ kind, started_ms }) => kind === 'turn' && started_ms <= ms)

/** Splits the generated text into the part that was played and the rest; null if the played text is not a prefix. */
export function heardIn(text: string, heard: string): { heard: string; rest: string } | null {
  let at = 0
  for (const letter of heard) {
    if (/\s/.test(letter)) continue
    while (at < text.length && /\s/.test(text[at]!)) at++
    if (!text.startsWith(letter, at)) return null
    at += letter.length
  }
  return { heard: text.slice(0, at), rest: text.slice(at) }
}

/** Tolerated difference in ms between the pause in the transcript and the latency measured on the wire. */
const CLOSE_MS = 250

/**
 * Matches each measured response with its agent turn: the first turn after the previous match whose pause after the
 * caller's turn equals the measured latency. Null if the transcript has no such turn.
 */
export function answersOf(transcript: readonly Turn[], measured: readonly TurnLatency[]): (Turn | null)[] {
  const answers: { turn: Turn; waited: number }[] = []
  let callerEnd: number | null = null
  for (const turn of transcript) {
    if (turn.role === 'caller') callerEnd = Math.max(callerEnd ?? 0, turn.ended_ms)
    if (turn.role !== 'agent' || callerEnd === null) continue
    answers.push({ turn, waited: turn.started_ms - callerEnd })
  }
  let next = 0
  return measured.map(({ total_ms }) => {
    const found = answers.findIndex(({ waited }, at) => at >= next && Math.abs(waited - total_ms) <= CLOSE_MS)
    if (found < 0) return null
    next = found + 1
    return answers[found]!.turn
  })
}
