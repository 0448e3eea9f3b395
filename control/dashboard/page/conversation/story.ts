/** Builds the lines of a live transcript. Pure. */
import type { Schemas } from '../api/types.ts'

type Detail = Schemas['CallDetail']
export type Turn = Detail['transcript'][number]
export type ToolCall = Detail['tool_calls'][number]
export type Latency = Detail['latency']['turns'][number]

/** The full text of a segment so far; a later one with the same ID replaces it. */
export interface Said {
  id: string
  role: 'caller' | 'agent'
  text: string
  final: boolean
}

export interface SpokenLine {
  kind: 'spoken'
  id: string
  role: 'caller' | 'agent' | 'operator' | 'whisper'
  text: string
  final: boolean
  interrupted: boolean
  /** Response latency before this line. */
  latency: Latency | null
}

export interface ToolLine {
  kind: 'tool'
  id: string
  name: string
  /** Null while the tool is running. */
  done: ToolCall | null
}

export type Line = SpokenLine | ToolLine

const spoken = (line: Pick<SpokenLine, 'id' | 'role' | 'text'> & Partial<SpokenLine>): SpokenLine => ({
  kind: 'spoken',
  final: true,
  interrupted: false,
  latency: null,
  ...line,
})

const nextId = (lines: readonly Line[], kind: string) =>
  `${kind} ${lines.filter(({ id }) => id.startsWith(`${kind} `)).length}`

/** Applies a caption. A late stream does not overwrite final text; a segment that turns out to be empty is removed. */
export function withSaid(lines: readonly Line[], { id, role, text, final }: Said): readonly Line[] {
  const before = lines.find((line): line is SpokenLine => line.kind === 'spoken' && line.id === id)
  if (text.trim() === '') return final ? lines.filter(line => line !== before) : lines
  if (!before) return [...lines, spoken({ id, role, text, final })]
  if (before.final && !final) return lines
  return lines.map(line => (line === before ? { ...before, text, final } : line))
}

/** Adds a turn from the call's events. */
export function withTurn(lines: readonly Line[], turn: Turn, latency: Latency | null): readonly Line[] {
  if (turn.role === 'tool' || turn.heard_text.trim() === '') return lines
  const { role, heard_text: text, interrupted } = turn
  return [...lines, spoken({ id: nextId(lines, role), role, text, interrupted, latency })]
}

/** Adds the response latency to the caption line of this turn. */
export function withLatency(lines: readonly Line[], turn: Turn, latency: Latency | null): readonly Line[] {
  if (turn.role !== 'agent' || latency === null) return lines
  const index = lines.findLastIndex(
    line => line.kind === 'spoken' && line.role === 'agent' && sameWords(turn.heard_text, line.text),
  )
  return lines.map((line, at) => (at === index && line.kind === 'spoken' ? { ...line, latency } : line))
}

/** The caption may still be incomplete. */
const sameWords = (whole: string, shown: string) => whole.trim().startsWith(shown.trim())

export function withWhisper(lines: readonly Line[], text: string): readonly Line[] {
  return [...lines, spoken({ id: nextId(lines, 'whisper'), role: 'whisper', text })]
}

/** `nth` counts the tools of the call from 1. Events may be delivered again. */
export function withToolStarted(lines: readonly Line[], name: string, nth: number): readonly Line[] {
  const id = `tool ${nth}`
  return lines.some(line => line.id === id) ? lines : [...lines, { kind: 'tool', id, name, done: null }]
}

export function withToolFinished(lines: readonly Line[], tool: ToolCall): readonly Line[] {
  const isDone = (line: Line) =>
    line.kind === 'tool' && line.name === tool.name && line.done?.started_ms === tool.started_ms
  if (lines.some(isDone)) return lines
  const index = lines.findIndex(line => line.kind === 'tool' && line.name === tool.name && line.done === null)
  if (index < 0) return [...lines, { kind: 'tool', id: nextId(lines, 'tool'), name: tool.name, done: tool }]
  return lines.map((line, at) => (at === index && line.kind === 'tool' ? { ...line, done: tool } : line))
}
