/**
 * How long nobody spoke, of a call that has ended. Pure.
 *
 * Sound is what the transcript says was heard: of the caller, of the agent with its fillers, of an operator in its place; each
 * from its first to its last audible frame. A silence lies between two sounds, or between the last one and the end; what is
 * before the first sound, where it is not known yet who answered, is none.
 *
 * Dead air is a silence in which it is the agent's turn: the caller spoke last, or a tool was running in it. It lasts from the
 * last sound before it to the next one of anybody (or the end), when that is more than `DEAD_MS`: what is below is latency,
 * and counted as `parley_voice_to_voice_seconds`. A silence is not the agent's when an operator ends it, or when its caller was
 * being given to somebody else, which is heard as ringing and music.
 *
 * Calls that a machine answered have none: what is waited for there is a tone. While the far end keeps us on hold, it is silent
 * for us.
 */
import type { CallRecord, ToolCall, Turn } from '../../media/contract/messages.ts'
import type { OwnTool } from '../../media/contract/own-tools.ts'

/** A person waits so long for an answer without doubting that there is one. */
export const DEAD_MS = 2000

const GIVEN_AWAY: OwnTool = 'transfer_call'

export interface Quiet {
  /** Milliseconds of each. */
  deadAir: number[]
  /** Share of the talked time in which nobody spoke, from the first sound on; null: it cannot be told. */
  share: number | null
}

type Spoken = Pick<CallRecord, 'answered_by' | 'ended_reason' | 'talked_ms' | 'transcript' | 'tool_calls'>

interface Silence {
  startMs: number
  endMs: number
  /** Who spoke last. */
  after: Turn['role']
  /** Who spoke next; null: the call ended. */
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

/** Sounds may overlap: whoever is heard to the end spoke last. */
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
