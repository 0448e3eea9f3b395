/** A scenario file: an agent, what its tools answer, what the caller does, and what must come of it. */
import { LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { defaultSettings, ProjectSettings } from '../../control/agents/projects/schema.ts'
import { EndedReason } from '../../media/contract/messages.ts'

const Words = z.union([z.string().min(1), z.array(z.string().min(1))]).transform(words => [words].flat())
const Ms = z.int().min(0).max(600_000)

const speech = {
  say: z.string().min(1).max(4000).describe('`…` is a pause of `pause_ms`'),
  file: z
    .string()
    .regex(/\.(?:wav|ul)$/, 'must be a WAVE file or one of bare µ-law (.ul)')
    .optional()
    .describe('Audio only: a recording of these words, beside the scenario; without one a voice is synthesised'),
  pause_ms: z.int().min(0).max(10_000).default(700).describe('Audio only'),
}
export const Speech = z.strictObject(speech)
export type Speech = z.output<typeof Speech>

/** The caller waits for the agent's silence before each, but for `barge_in`. */
export const CallerStep = z.union([
  Speech.describe('Says this when the agent has finished'),
  z
    .strictObject({
      barge_in: z.strictObject({
        after_ms: Ms,
        ...speech,
        stops: z.boolean().default(true).describe('False for an "uh-huh" or a cough: the agent should go on'),
      }),
    })
    .describe("Talks over the agent's next turn, so long after it began"),
  z.strictObject({ press: z.string().regex(/^[0-9*#A-D]{1,64}$/) }).describe('Presses keys'),
  z.strictObject({ silence_ms: Ms }).describe('Says nothing for so long'),
  z.strictObject({ hang_up: z.literal(true) }),
])
export type CallerStep = z.output<typeof CallerStep>

const Persona = z
  .strictObject({
    persona: z.string().min(1).max(8000).describe('Who the caller is and what they want; a text model plays them'),
    model: z.strictObject({
      base_url: z.url(),
      model: z.string().min(1),
      api_key_env: z.string().nullable().default(null),
    }),
    max_turns: z.int().min(1).max(50).default(12),
  })
  .describe('A caller played by a text model')

export const ToolAnswer = z.strictObject({
  status: z.int().min(100).max(599).default(200),
  body: z.unknown().default({}),
  delay_ms: Ms.default(0),
  fails: z.enum(['timeout', 'network']).optional().describe('Instead of an answer'),
})

export type ToolAnswer = z.output<typeof ToolAnswer>

const Expectations = z.strictObject({
  tools: z
    .array(
      z.strictObject({
        name: z.string(),
        arguments: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('Those named must be equal; `today+1` is the day after the call'),
        verdict: z.string().optional(),
        times: z.int().min(0).optional(),
      }),
    )
    .default([]),
  said: Words.default([]).describe('Each is found in what was heard of the agent; /…/ is a regular expression'),
  not_said: Words.default([]),
  understood: Words.default([]).describe('Each is found in what the agent understood of the caller'),
  ended: EndedReason.optional(),
  goal_reached: z.boolean().optional(),
  extracted: z.record(z.string(), z.unknown()).optional().describe('Those named must be equal'),
  latency_p95_ms: z.int().optional().describe('From the end of the caller’s words to the agent’s, at most'),
  barge_ins: z.int().min(0).optional().describe('So often the agent’s speech was cut'),
})
export type Expectations = z.output<typeof Expectations>

const agentKeys = ProjectSettings.shape
export const Scenario = z.strictObject({
  name: z.string().min(1).max(200),
  language: z.string().default('en'),
  mode: z.enum(['text', 'audio']).default('text'),
  agent: z.strictObject(agentKeys).partial().default({}).describe('As in a project'),
  vars: z.record(z.string(), z.string()).default({}),
  task: z.string().nullable().default(null),
  tools: z.record(z.string(), ToolAnswer).default({}).describe('What the tools of the agent answer, by name'),
  caller: z.union([z.array(CallerStep).min(1), Persona]),
  line: z
    .strictObject({
      codec: z.enum(['PCMU', 'PCMA']).default('PCMU'),
      loss: z.number().min(0).max(0.5).default(0).describe('Share of packets that never come'),
      jitter_ms: z
        .int()
        .min(0)
        .max(200)
        .default(0)
        .describe('Each packet is late by up to this; it may overtake others'),
      noise_dbfs: z
        .number()
        .min(-90)
        .max(-10)
        .nullable()
        .default(null)
        .describe('White noise under the caller’s voice'),
    })
    .prefault({})
    .describe('Audio only: what the network does to the caller’s sound'),
  today: z.iso.date().default('2026-11-21').describe('In text mode, the day of the call'),
  expect: Expectations.default(Expectations.parse({})),
})
export type Scenario = z.output<typeof Scenario>

export const settingsOf = ({ agent }: Scenario): ProjectSettings => ({ ...defaultSettings, ...(agent as object) })

export class ScenarioError extends Error {}

/** Throws a `ScenarioError` that names file, line and field. */
export function parseScenario(file: string, text: string): Scenario {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [broken] = document.errors
  if (broken) throw new ScenarioError(`${file}:${lines.linePos(broken.pos[0]).line}: ${broken.message.split('\n')[0]}`)
  const parsed = Scenario.safeParse(document.toJS())
  if (parsed.success) return parsed.data
  const issue = innermost(parsed.error.issues[0]!)
  const node =
    document.getIn(issue.path as (string | number)[], true) ??
    document.getIn(issue.path.slice(0, -1) as (string | number)[], true)
  const offset = (node as { range?: [number, number, number] } | undefined)?.range?.[0] ?? 0
  const where = issue.path.length > 0 ? `/${issue.path.map(String).join('/')}` : 'the scenario'
  throw new ScenarioError(`${file}:${lines.linePos(offset).line}: ${where}: ${issue.message}`)
}

/** Of several shapes that do not fit, what is wrong with the one that fits best. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue
  const best = issue.errors
    .filter(errors => errors.length > 0)
    .sort((a, b) => badKeys(a) - badKeys(b) || b[0]!.path.length - a[0]!.path.length)[0]
  return best ? innermost({ ...best[0]!, path: [...issue.path, ...best[0]!.path] }) : issue
}
const badKeys = (issues: z.core.$ZodIssue[]) => issues.filter(({ code }) => code === 'unrecognized_keys').length
