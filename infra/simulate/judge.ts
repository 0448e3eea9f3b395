/** Compares a call with its scenario's expectations, and writes the JUnit report. Pure. */
import type { EndedReason, ToolCall, Turn } from '../../media/contract/messages.ts'
import type { Expectations } from './scenario.ts'

export interface SimulationResult {
  turns: Turn[]
  tools: ToolCall[]
  ended: EndedReason
  p95Ms: number | null
  goalReached: boolean
  extracted: Record<string, unknown> | null
  bargeIns: number
}

export interface Result {
  name: string
  file: string
  mode: 'text' | 'audio'
  /** Wall-clock duration of the run, not of the call. */
  seconds: number
  outcome: SimulationResult | null
  /** Failed expectations in words; empty on success. */
  failures: string[]
}

/** `today` is the day of the call, as `2026-11-21`. */
export function judge(expect: Expectations, outcome: SimulationResult, today: string): string[] {
  const of = (role: Turn['role']) =>
    outcome.turns
      .filter(turn => turn.role === role)
      .map(turn => turn.heard_text)
      .join('\n')
  const [agent, caller] = [of('agent'), of('caller')]
  const failures: string[] = []
  const wants = (ok: boolean, text: string) => {
    if (!ok) failures.push(text)
  }
  for (const words of expect.said) wants(found(words, agent), `agent did not say: ${words}`)
  for (const words of expect.not_said) wants(!found(words, agent), `agent said: ${words}`)
  for (const words of expect.understood) wants(found(words, caller), `agent did not understand: ${words}`)
  for (const tool of expect.tools) failures.push(...judgeTool(tool, outcome.tools, today))
  const { ended, goal_reached, extracted, latency_p95_ms: p95, barge_ins } = expect
  wants(ended === undefined || ended === outcome.ended, `ended with ${outcome.ended}, expected ${ended}`)
  wants(
    goal_reached === undefined || goal_reached === outcome.goalReached,
    `goal_reached is ${outcome.goalReached}, expected ${goal_reached}`,
  )
  wants(
    barge_ins === undefined || barge_ins === outcome.bargeIns,
    `${outcome.bargeIns} barge-ins, expected ${barge_ins}`,
  )
  for (const [name, value] of Object.entries(extracted ?? {}))
    wants(equal(outcome.extracted?.[name], value), `extracted ${name} is ${JSON.stringify(outcome.extracted?.[name])}`)
  if (p95 !== undefined) {
    wants(
      outcome.p95Ms !== null && outcome.p95Ms <= p95,
      `p95 latency is ${outcome.p95Ms ?? 'unknown'} ms, expected at most ${p95} ms`,
    )
  }
  return failures
}

function judgeTool(want: Expectations['tools'][number], calls: readonly ToolCall[], today: string): string[] {
  const named = calls.filter(call => call.name === want.name)
  const fits = named.filter(
    call =>
      (want.status === undefined || call.status === want.status) &&
      Object.entries(want.arguments ?? {}).every(([name, value]) => equal(call.arguments[name], dated(value, today))),
  )
  if (want.times === undefined ? fits.length > 0 : fits.length === want.times) return []
  const seen = named.map(call => `${JSON.stringify(call.arguments)} ${call.status}`).join('; ') || 'none'
  return [`${want.name} was not called as expected; actual calls: ${seen}`]
}

const DAY_MS = 86_400_000

function dated(value: unknown, today: string): unknown {
  const days = typeof value === 'string' ? /^today(?:\+(\d{1,3}))?$/.exec(value) : null
  if (!days) return value
  return new Date(Date.parse(`${today}T12:00:00Z`) + Number(days[1] ?? 0) * DAY_MS).toISOString().slice(0, 10)
}

const equal = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

function found(words: string, text: string): boolean {
  const pattern = /^\/(.+)\/([a-z]*)$/s.exec(words)
  if (pattern) return new RegExp(pattern[1]!, pattern[2]).test(text)
  return text.toLowerCase().includes(words.toLowerCase())
}

const xml = (text: string) =>
  text.replace(/[<>&"']/g, letter => `&#${letter.charCodeAt(0)};`).replace(/[^\t\n\r\x20-\uFFFF]/g, '')

/** The format that CI servers read. */
export function junit(results: readonly Result[]): string {
  const failed = results.filter(result => result.failures.length > 0).length
  const cases = results.map(({ name, file, mode, seconds, failures, outcome }) => {
    const head = `    <testcase name="${xml(name)}" classname="${xml(`${mode}.${file}`)}" time="${seconds.toFixed(3)}">`
    const fault =
      failures.length > 0 ? `\n      <failure message="${xml(failures[0]!)}">${xml(failures.join('\n'))}</failure>` : ''
    const said = outcome ? `\n      <system-out>${xml(transcript(outcome))}</system-out>` : ''
    return `${head}${fault}${said}\n    </testcase>`
  })
  const total = results.reduce((sum, result) => sum + result.seconds, 0).toFixed(3)
  const counts = `tests="${results.length}" failures="${failed}" errors="0" time="${total}"`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${counts}>\n  <testsuite name="parley simulate" ${counts}>\n${cases.join('\n')}\n  </testsuite>\n</testsuites>\n`
}

export const transcript = ({ turns }: Pick<SimulationResult, 'turns'>) =>
  turns
    .map(({ role, text, heard_text, interrupted }) =>
      role === 'tool' ? `[${text}]` : `${role}: ${heard_text || `(${text})`}${interrupted ? ' —' : ''}`,
    )
    .join('\n')
