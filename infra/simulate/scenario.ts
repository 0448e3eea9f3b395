/** The format of a scenario file: an agent, its tools' answers, the caller's steps, and the expected outcome. */
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
    .regex(/\.(?:wav|ul)$/, 'must be a WAV file or raw µ-law (.ul)')
    .optional()
    .describe('Audio only: a recording of these words, next to the scenario file. Synthesised when left out'),
  pause_ms: z.int().min(0).max(10_000).default(700).describe('Audio only. Length of each `…` in milliseconds'),
}
export const Speech = z.strictObject(speech)
export type Speech = z.output<typeof Speech>

/** Before each step except `barge_in`, the caller waits until the agent is silent. */
export const CallerStep = z.union([
  Speech.describe('Say this when the agent has finished'),
  z
    .strictObject({
      barge_in: z.strictObject({
        after_ms: Ms,
        ...speech,
        stops: z
          .boolean()
          .default(true)
          .describe('False for an "uh-huh" or a cough, during which the agent should continue'),
      }),
    })
    .describe('Interrupt the agent’s next turn, `after_ms` milliseconds after it begins'),
  z.strictObject({ press: z.string().regex(/^[0-9*#A-D]{1,64}$/) }).describe('Press keys'),
  z.strictObject({ silence_ms: Ms }).describe('Stay silent for this many milliseconds'),
  z.strictObject({ hang_up: z.literal(true) }),
])
export type CallerStep = z.output<typeof CallerStep>

const Persona = z
  .strictObject({
    persona: z
      .string()
      .min(1)
      .max(8000)
      .describe('Who the caller is and what they want. A text model plays the caller'),
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
  fails: z.enum(['timeout', 'network']).optional().describe('Fail in place of an answer'),
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
          .describe('Arguments that must be equal; others are ignored. `today+1` is the day after the call'),
        status: z.string().optional(),
        times: z.int().min(0).optional(),
      }),
    )
    .default([]),
  said: Words.default([]).describe(
    'Texts that the agent must have said, as far as it was heard; /…/ is a regular expression',
  ),
  not_said: Words.default([]),
  understood: Words.default([]).describe('Texts that the agent must have understood'),
  ended: EndedReason.optional(),
  goal_reached: z.boolean().optional(),
  extracted: z.record(z.string(), z.unknown()).optional().describe('Fields that must be equal; others are ignored'),
  latency_p95_ms: z.int().optional().describe('Maximum p95 of voice-to-voice latency in milliseconds'),
  barge_ins: z.int().min(0).optional().describe('Number of times the agent was interrupted'),
})
export type Expectations = z.output<typeof Expectations>

const agentKeys = ProjectSettings.shape
export const Scenario = z.strictObject({
  name: z.string().min(1).max(200),
  language: z.string().default('en'),
  mode: z.enum(['text', 'audio']).default('text'),
  agent: z.strictObject(agentKeys).partial().default({}).describe('Project settings of the agent'),
  vars: z.record(z.string(), z.string()).default({}),
  task: z.string().nullable().default(null),
  tools: z.record(z.string(), ToolAnswer).default({}).describe('Answers of the agent’s tools, by tool name'),
  caller: z.union([z.array(CallerStep).min(1), Persona]),
  line: z
    .strictObject({
      codec: z.enum(['PCMU', 'PCMA']).default('PCMU'),
      loss: z.number().min(0).max(0.5).default(0).describe('Fraction of packets lost'),
      jitter_ms: z
        .int()
        .min(0)
        .max(200)
        .default(0)
        .describe('Maximum delay of each packet in milliseconds; packets may be reordered'),
      noise_dbfs: z
        .number()
        .min(-90)
        .max(-10)
        .nullable()
        .default(null)
        .describe('Level of white noise added to the caller’s audio, in dBFS'),
    })
    .prefault({})
    .describe('Audio only: simulated network conditions of the caller'),
  today: z.iso.date().default('2026-11-21').describe('The date of the call in text mode'),
  expect: Expectations.default(Expectations.parse({})),
})
export type Scenario = z.output<typeof Scenario>

export const settingsOf = ({ agent }: Scenario): ProjectSettings => ({ ...defaultSettings, ...(agent as object) })

export class ScenarioError extends Error {}

/** Parses a scenario. Throws a `ScenarioError` that names file, line and field. */
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

/** For a union that matches nothing, returns the error of the closest variant. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue
  const best = issue.errors
    .filter(errors => errors.length > 0)
    .sort((a, b) => badKeys(a) - badKeys(b) || b[0]!.path.length - a[0]!.path.length)[0]
  return best ? innermost({ ...best[0]!, path: [...issue.path, ...best[0]!.path] }) : issue
}
const badKeys = (issues: z.core.$ZodIssue[]) => issues.filter(({ code }) => code === 'unrecognized_keys').length
