/**
 * Measures silence in an ended call. Pure.
 *
 * A sound is an audible entry of the transcript: of the caller, of the agent including fillers, or of an operator who
 * replaces the agent; each lasts from its first to its last audible frame. A silence lies between two sounds, or
 * between the last one and the end. The time before the first sound, when it is not known yet who answered, does not
 * count.
 *
 * Dead air is a silence in the agent's turn: the caller spoke last, or a tool was running. It lasts from the previous
 * sound to the next one of anybody (or to the end), if that is more than `DEAD_MS`; shorter ones are latency and count
 * in `parley_voice_to_voice_seconds`. A silence does not count as the agent's when an operator ends it, or during a
 * transfer, which sounds like ringing and music.
 *
 * Calls answered by a machine have none: the agent waits for a tone there. While the far end has us on hold, it counts
 * as silent.
 */
import type { CallRecord, ToolCall, Turn } from '../../media/contract/messages.ts'
import type { OwnTool } from '../../media/contract/own-tools.ts'

/** A person waits this long for an answer without doubting that one will come. */
export const DEAD_MS = 2000

const GIVEN_AWAY: OwnTool = 'transfer_call'

export interface Quiet {
  /** Milliseconds of each silence. */
  deadAir: number[]
  /** Share of the talk time in which nobody spoke, from the first sound on; null when it cannot be measured. */
  share: number | null
}

type Spoken = Pick<CallRecord, 'answered_by' | 'ended_reason' | 'talked_ms' | 'transcript' | 'tool_calls'>

interface Silence {
  startMs: number
  endMs: number
  /** Role that spoke last. */
  after: Turn['role']
  /** Role that spoke next; null when the call ended. */
  before: Turn['role'] | null
}

export function quietOf(record: Spoken): Quiet {
  const { answered_by, ended_reason, talked_ms, transcript, tool_calls } = record
  const sounds = transcript.filter(turn => turn.role !== 'tool').sort((one, other) => one.started_ms - other.started_ms)
  const [first] = sounds
  if (!first || answered_by === 'machine' || answered_by === 'screening') return { deadAir: [], share: null }
  const silences = silencesOf(sounds, talked_ms)
  const given = tool_calls.filter(({ name }) => name === GIVEN_AWAY)
  const away = ended_reason === 'transferred'
  const dead = silences.filter(
    silence =>
      isAgents(silence, tool_calls) &&
      !given.some(call => overlap(silence, call)) &&
      !(away && silence.before === null) &&
      silence.endMs - silence.startMs > DEAD_MS,
  )
  const heardMs = talked_ms - first.started_ms
  const quietMs = silences.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0)
  return {
    deadAir: dead.map(({ startMs, endMs }) => endMs - startMs),
    share: given.length > 0 || away || heardMs <= 0 ? null : quietMs / heardMs,
  }
}

/** Sounds may overlap: the one that ends last counts as the last speaker. */
function silencesOf(sounds: readonly Turn[], talkedMs: number): Silence[] {
  const silences: Silence[] = []
  let last = sounds[0]!
  for (const next of sounds.slice(1)) {
    if (next.started_ms > last.ended_ms) {
      silences.push({ startMs: last.ended_ms, endMs: next.started_ms, after: last.role, before: next.role })
    }
    if (next.ended_ms >= last.ended_ms) last = next
  }
  if (talkedMs > last.ended_ms) {
    silences.push({ startMs: last.ended_ms, endMs: talkedMs, after: last.role, before: null })
  }
  return silences
}

function isAgents(silence: Silence, tools: readonly ToolCall[]): boolean {
  if (silence.before === 'operator') return false
  return silence.after === 'caller' || tools.some(call => overlap(silence, call))
}

const overlap = ({ startMs, endMs }: Silence, { started_ms, ms }: Pick<ToolCall, 'started_ms' | 'ms'>): boolean =>
  started_ms < endMs && started_ms + ms > startMs
