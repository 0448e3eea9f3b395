/** Makes the call plan of an engine from project and call. Pure, except for the sealer. */
import {
  ABOUT_PLACEHOLDER,
  CallPlan,
  type LlmPlan,
  type PlanSecrets,
  type TextLlmPlan,
} from '../../../media/contract/plan.ts'
import type { Sealer } from '../../../media/contract/seal.ts'
import { markInline, newBoundary } from '../../../media/shared/untrusted.ts'
import type { ProjectSettings, TextLlm } from '../../agents/projects/schema.ts'
import { fillSecrets, llmKeyName, toolPlan, vendorKeyNames } from '../../agents/projects/tool-plan.ts'
import { transferBlocked } from '../../agents/projects/transfers.ts'
import { secondsFor } from '../../billing/money.ts'
import type { DialingLimits } from '../../platform/phone.ts'
import type { CallRow } from './sql.ts'
import { tariffOfCall } from './tariff.ts'

/** Twice the longest text. A short template can repeat a long value thousands of times. */
const FILLED_MAX = 64_000

/**
 * Fills in one pass: a value is not filled again. A missing var is empty. Text beyond `FILLED_MAX` characters is cut
 * off, for moderation and for the agent alike.
 */
export const fillVars = (text: string, vars: Readonly<Record<string, string>>): string =>
  fill(text, vars, (_, value) => value)

/**
 * Fills a text that a model reads: each value is marked as untrusted, whoever supplied it. Marks do not count as
 * characters, so none is cut off.
 */
export const fillMarked = (text: string, vars: Readonly<Record<string, string>>, boundary: string): string =>
  fill(text, vars, (name, value) => markInline(boundary, name, value))

function fill(
  text: string,
  vars: Readonly<Record<string, string>>,
  show: (name: string, value: string) => string,
): string {
  let filled = ''
  let room = FILLED_MAX
  let from = 0
  const take = (part: string) => {
    const taken = part.slice(0, room)
    room -= taken.length
    return taken
  }
  for (const match of text.matchAll(/\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g)) {
    const name = match[1]!
    filled += take(text.slice(from, match.index)) + show(name, take(Object.hasOwn(vars, name) ? vars[name]! : ''))
    from = match.index + match[0].length
    if (room === 0) break
  }
  return filled + take(text.slice(from))
}

/** Numbers and booleans are read out as they are written. */
export const textVars = (vars: Readonly<Record<string, string | number | boolean>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(vars).map(([name, value]) => [name, String(value)]))

/** Texts that the agent gets for one call, by JSON Pointer into the request body, for moderation. */
export function textsOf(task: string | undefined, vars: Readonly<Record<string, string>>): Record<string, string> {
  const texts = Object.fromEntries(Object.entries(vars).map(([name, value]) => [`/vars/${name}`, value]))
  return task === undefined ? texts : { ...texts, '/task': fillVars(task, vars) }
}

function textLlmPlan(llm: TextLlm): TextLlmPlan {
  const { provider, model } = llm
  return provider === 'openai_compatible' ? { provider, base_url: llm.base_url, model } : { provider, model }
}

function llmPlan({ llm }: ProjectSettings): LlmPlan {
  if (llm.provider === 'scripted') return { provider: 'scripted' }
  if (llm.provider === 'openai_realtime') return { provider: llm.provider, model: llm.model, voice: llm.voice }
  return textLlmPlan(llm)
}

/** The name of a secret is public; its value is sealed under that name. */
function providerPlans({ llm_fallback, speech_to_text, text_to_speech }: ProjectSettings) {
  return {
    llm_fallback: llm_fallback.map(llm => ({ llm: textLlmPlan(llm), key: llm.api_key_secret })),
    stt: speech_to_text.map(({ api_key_secret: key, ...rest }) => ({ ...rest, key })),
    tts: text_to_speech.map(({ api_key_secret: key, ...rest }) => ({ ...rest, key })),
  }
}

function planSecrets(settings: ProjectSettings, secrets: ReadonlyMap<string, string>): PlanSecrets | null {
  const tool_headers: PlanSecrets['tool_headers'] = {}
  for (const tool of settings.tools) {
    const headers = Object.entries(tool.headers).map(([name, value]) => [name, fillSecrets(value, secrets)] as const)
    if (headers.length > 0) tool_headers[tool.name] = Object.fromEntries(headers)
  }
  const keyName = llmKeyName(settings)
  const llm_api_key = keyName === null ? null : (secrets.get(keyName) ?? null)
  const vendor_keys: PlanSecrets['vendor_keys'] = {}
  for (const name of vendorKeyNames(settings)) {
    const value = secrets.get(name)
    if (value !== undefined) vendor_keys[name] = value
  }
  const hidden = { tool_headers, llm_api_key, vendor_keys }
  return llm_api_key === null && [tool_headers, vendor_keys].every(keys => Object.keys(keys).length === 0)
    ? null
    : hidden
}

/** Checked again, because blocked destinations may have changed. The engine fills `{{about}}`. */
const transferPlans = (
  { transfers }: ProjectSettings,
  vars: Readonly<Record<string, string>>,
  dialingLimits: DialingLimits,
) =>
  transfers
    .filter(({ to }) => transferBlocked(to, dialingLimits) === null)
    .map(({ announce, ...rest }) => ({
      ...rest,
      announce: announce === null ? null : fillVars(announce, { ...vars, about: ABOUT_PLACEHOLDER }).trim() || null,
    }))

export interface PlanInput {
  call: Pick<
    CallRow,
    | 'id'
    | 'owner_id'
    | 'project_id'
    | 'direction'
    | 'from_phone'
    | 'to_phone'
    | 'trunk_id'
    | 'task'
    | 'vars'
    | 'price'
    | 'factor_percent'
    | 'max_cost'
  >
  language: string
  settings: ProjectSettings
  secrets: ReadonlyMap<string, string>
  paidSeconds: number
  /** Destinations that are blocked. */
  dialingLimits: DialingLimits
  contact?: CallPlan['contact']
  room?: CallPlan['room']
  /** True when the agent has knowledge to search. */
  knowledge?: boolean
  /** The softphone to call; null for a phone number. */
  softphone_id?: string | null
  /** Trace context of the offer's span. */
  traceparent?: string | null
}

/** The project's limit, or less when the maximum cost pays for less. */
function maxCallSeconds(call: PlanInput['call'], settings: ProjectSettings): number {
  const most = settings.max_call_seconds
  return call.max_cost === null ? most : secondsFor(tariffOfCall(call), call.max_cost, most)
}

export function makePlan(
  sealer: Sealer,
  {
    call,
    language,
    settings,
    secrets,
    paidSeconds,
    dialingLimits,
    contact = null,
    room = null,
    knowledge = false,
    softphone_id = null,
    traceparent = null,
  }: PlanInput,
): CallPlan {
  const boundary = newBoundary()
  const spoken = (text: string | null) => (text === null ? null : fillVars(text, call.vars))
  const read = (text: string | null) => (text === null ? null : fillMarked(text, call.vars, boundary))
  const hidden = planSecrets(settings, secrets)
  return CallPlan.parse({
    v: 1,
    call_id: call.id,
    owner_id: call.owner_id,
    project_id: call.project_id,
    direction: call.direction,
    from: call.from_phone,
    to: call.to_phone,
    trunk_id: call.direction === 'out' ? call.trunk_id : null,
    softphone_id,
    room,
    ring_timeout_ms: settings.ring_timeout_seconds * 1000,
    max_call_ms: maxCallSeconds(call, settings) * 1000,
    paid_ms: paidSeconds * 1000,
    language,
    voice: settings.voice,
    llm: llmPlan(settings),
    ...providerPlans(settings),
    disclosure: spoken(settings.disclosure),
    greeting: spoken(settings.greeting),
    boundary,
    prompt: fillMarked(settings.prompt, call.vars, boundary),
    task: read(call.task),
    vars: call.vars,
    tools: settings.tools.map(toolPlan),
    transfers: transferPlans(settings, call.vars, dialingLimits),
    knowledge,
    timezone: settings.timezone,
    contact,
    goal: read(settings.goal),
    extraction: settings.extraction,
    voicemail:
      settings.voicemail.action === 'leave_message'
        ? { action: 'leave_message', text: fillVars(settings.voicemail.text, call.vars) || settings.voicemail.text }
        : settings.voicemail,
    recording: settings.recording,
    recording_notice: settings.recording ? spoken(settings.recording_notice) : null,
    sealed: hidden ? sealer.seal(hidden, call.id) : null,
    traceparent,
  } satisfies CallPlan)
}
