import { z } from 'zod'
import { ToolCall } from '../../../media/contract/messages.ts'
import { isOwnTool, OWN_TOOLS } from '../../../media/contract/own-tools.ts'
import { BROWSER } from '../../../media/contract/plan.ts'
import { deleted } from '../../platform/http/shapes.ts'
import { Phone } from '../../platform/phone.ts'
import { Timezone } from '../../platform/timezone.ts'

const SECONDS_MAX_CALL = 7200
const TEXT_MAX = 32_000

const JsonObject = z.record(z.string(), z.unknown())
/** Only schemas of objects: a tool takes named arguments, and an extraction returns named fields. */
const ObjectSchema = JsonObject.refine(schema => schema['type'] === 'object', {
  error: 'must be a JSON Schema with "type": "object"',
})
  .refine(schema => JSON.stringify(schema).length <= TEXT_MAX, { error: 'is too large' })
  .meta({ properties: { type: { const: 'object' } }, required: ['type'] })

/** Allows `{param}` in path and query only: the customer chooses the host of a tool, never the caller. */
const isToolUrl = (text: string) => {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  const origin = /^[^/]*\/\/[^/?#]*/.exec(text)?.[0] ?? ''
  return /^https?:$/.test(protocol) && username === '' && password === '' && !/[{}]/.test(origin)
}

export const FillerStage = z.strictObject({ after_ms: z.int().min(0).max(30_000), text: z.string().min(1).max(500) })

export const Tool = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/)
      .meta({ not: { enum: [...OWN_TOOLS] } }),
    description: z.string().max(2000).default(''),
    method: z.enum(['GET', 'POST']),
    url: z
      .string()
      .max(2048)
      .refine(isToolUrl, { error: 'must be an http(s) URL with {param} after the host only' })
      .meta({ format: 'http-url-template', description: 'http(s) URL; `{param}` may stand after the host' }),
    parameters: ObjectSchema.default({ type: 'object', properties: {} }),
    filler: z
      .union([z.string().min(1).max(500), z.array(FillerStage).max(5)])
      .nullable()
      .default(null)
      .describe(
        'What the agent says while the tool runs: one phrase, or stages by the time the tool has taken. Null: a built-in phrase; an empty list: nothing',
      ),
    headers: z
      .record(
        z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/),
        z
          .string()
          .max(4096)
          .regex(/^[^\r\n]*$/),
      )
      .default({})
      .describe('`{{secret:NAME}}` in a value is filled from your secrets when the call is placed'),
    timeout_ms: z.int().min(1000).max(30_000).default(10_000),
  })
  .meta({ id: 'Tool' })
export type Tool = z.output<typeof Tool>

const modelName = z.string().min(1).max(200)
const apiKeySecret = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/)
  .describe('Name of the secret that holds the API key. Without this secret, the provider is skipped')

const textLlms = [
  z.strictObject({
    provider: z.literal('openai_compatible'),
    base_url: z.url({ protocol: /^https?$/ }),
    model: modelName,
    api_key_secret: z.string().max(64).nullable().default(null).describe('Name of the secret that holds the API key'),
  }),
  z.strictObject({ provider: z.literal('anthropic'), model: modelName, api_key_secret: apiKeySecret }),
  z.strictObject({ provider: z.literal('google'), model: modelName, api_key_secret: apiKeySecret }),
] as const
export const TextLlm = z.discriminatedUnion('provider', textLlms)
export type TextLlm = z.output<typeof TextLlm>

export const LlmSettings = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('scripted') }),
  ...textLlms,
  z
    .strictObject({
      provider: z.literal('openai_realtime'),
      model: modelName,
      voice: z.string().min(1).max(200).nullable().default(null),
      api_key_secret: apiKeySecret,
    })
    .describe('A speech-to-speech model: no separate STT and TTS'),
])

const vendorModel = { model: modelName.nullable().default(null).describe("Null: the provider's default") }
export const SpeechToText = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('deepgram'), ...vendorModel, api_key_secret: apiKeySecret }),
  z.strictObject({ provider: z.literal('yandex_speechkit'), api_key_secret: apiKeySecret }),
])
export type SpeechToText = z.output<typeof SpeechToText>

const vendorVoice = {
  voice: z
    .string()
    .min(1)
    .max(200)
    .describe("The provider's name of the voice. The project's `voice` applies to the built-in TTS only"),
}
export const TextToSpeech = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('elevenlabs'), ...vendorVoice, ...vendorModel, api_key_secret: apiKeySecret }),
  z.strictObject({ provider: z.literal('cartesia'), ...vendorVoice, ...vendorModel, api_key_secret: apiKeySecret }),
  z.strictObject({ provider: z.literal('openai'), ...vendorVoice, ...vendorModel, api_key_secret: apiKeySecret }),
  z.strictObject({ provider: z.literal('yandex_speechkit'), ...vendorVoice, api_key_secret: apiKeySecret }),
])
export type TextToSpeech = z.output<typeof TextToSpeech>

const MOST_PROVIDERS = 3

export const Voicemail = z.discriminatedUnion('action', [
  z
    .strictObject({ action: z.literal('ignore') })
    .describe('Skip voicemail detection: the agent speaks first, whoever answers'),
  z.strictObject({ action: z.literal('hangup') }),
  z.strictObject({ action: z.literal('leave_message'), text: z.string().min(1).max(2000) }),
])

/** Allows no headers (`?`), which would become headers of our request. */
const SipAddress = z
  .string()
  .max(255)
  .regex(
    /^sips?:[A-Za-z0-9\-_.!~*'()&=+$,;/%]{1,128}@(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?(?:;[A-Za-z0-9\-_.!~*'()=+$%]{1,64}){0,8}$/,
    'must be sip:user@host',
  )
  .meta({ description: 'SIP or SIPS URI' })

export const Transfer = z
  .strictObject({
    name: z.string().max(100).regex(/\S/, 'must not be blank').describe('Name that the agent uses'),
    to: z
      .union([z.literal(BROWSER), Phone, SipAddress])
      .describe(
        "A phone number or SIP address, called over the call's trunk; or `browser`: the `transfer.waiting` event asks for an operator, who takes over with `monitor_call`",
      ),
    description: z.string().max(2000).default('').describe('When the agent should transfer here'),
    announce: z
      .string()
      .max(1000)
      .regex(/\S/, 'must not be blank')
      .nullable()
      .default(null)
      .describe(
        'Spoken to the person who answers, before the parties are connected. `{{var}}` is filled from the vars of the call, and `{{about}}` by the agent with who is calling and why. Null: connect at once',
      ),
  })
  .meta({ id: 'Transfer' })

const text = z.string().max(TEXT_MAX)
const settings = {
  prompt: text.describe('`{{var}}` is filled from the vars of a call'),
  greeting: text.nullable(),
  disclosure: text.nullable().describe('Tells the caller that the agent is an AI. Spoken first when set'),
  voice: z.string().max(200).nullable(),
  llm: LlmSettings,
  llm_fallback: z
    .array(TextLlm)
    .max(MOST_PROVIDERS)
    .describe('Fallback order of text models when `llm` fails. The scripted model is always added as the last one'),
  speech_to_text: z
    .array(SpeechToText)
    .max(MOST_PROVIDERS)
    .describe('Fallback order within a turn. The built-in STT is always added as the last one'),
  text_to_speech: z
    .array(TextToSpeech)
    .max(MOST_PROVIDERS)
    .describe('Fallback order within a turn. The built-in TTS is always added as the last one'),
  goal: text.nullable().describe('When the call counts as successful'),
  extraction: ObjectSchema.nullable().describe('JSON Schema of the data to extract from each call'),
  tools: z
    .array(Tool)
    .max(32)
    .refine(tools => new Set(tools.map(tool => tool.name)).size === tools.length, { error: 'names must differ' }),
  transfers: z
    .array(Transfer)
    .max(10)
    .refine(all => new Set(all.map(one => one.name)).size === all.length, { error: 'names must differ' })
    .describe('Destinations that the agent may transfer a call to'),
  max_call_seconds: z.int().min(10).max(SECONDS_MAX_CALL),
  ring_timeout_seconds: z.int().min(5).max(180),
  voicemail: Voicemail,
  recording: z.boolean().describe('Record each call. Get the audio from `GET /calls/{call_id}/recording`'),
  recording_notice: text.nullable().describe('Spoken before anything else when calls are recorded'),
  remember: z.boolean().describe('Give the agent a summary of earlier calls with the same person'),
  timezone: Timezone,
  caller_id: Phone.nullable().describe(
    'Number shown to the callee; must be bound to the project. Null: one of the bound numbers, always the same for a contact',
  ),
}
export const ProjectSettings = z.object(settings)
export type ProjectSettings = z.output<typeof ProjectSettings>

export const defaultSettings: ProjectSettings = {
  prompt: '',
  greeting: null,
  disclosure: null,
  voice: null,
  llm: { provider: 'scripted' },
  llm_fallback: [],
  speech_to_text: [],
  text_to_speech: [],
  goal: null,
  extraction: null,
  tools: [],
  transfers: [],
  max_call_seconds: 600,
  ring_timeout_seconds: 45,
  voicemail: { action: 'hangup' },
  recording: false,
  recording_notice: null,
  remember: false,
  timezone: 'UTC',
  caller_id: null,
}

export const Language = z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a language code such as en or ru')

const naming = {
  name: z.string().trim().min(1).max(200),
  language: Language,
}

/**
 * Reserved names grow over time. A project that had such a tool before keeps it, and must rename it at the next change.
 */
const toolsToSave = settings.tools.superRefine((tools, context) => {
  for (const [i, { name }] of tools.entries()) {
    if (!isOwnTool(name)) continue
    const message = `must be none of ${OWN_TOOLS.join(', ')}`
    context.addIssue({ code: 'custom', path: [i, 'name'], message, input: name })
  }
})

export const ProjectPatch = z.strictObject({ ...naming, ...settings, tools: toolsToSave }).partial()
export type ProjectPatch = z.output<typeof ProjectPatch>
export const ProjectCreate = ProjectPatch.required({ name: true, language: true })
/** Services take the same input as the API; fields with a default may be omitted. */
export type ProjectInput = z.input<typeof ProjectCreate>

export const ProjectSummary = z
  .object({ id: z.uuid(), name: z.string(), language: z.string() })
  .meta({ id: 'ProjectSummary' })
export const ProjectList = z.object({ projects: z.array(ProjectSummary) })

export const ProjectView = z
  .object({
    id: z.uuid(),
    name: z.string(),
    language: z.string(),
    ...settings,
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'Project' })

export const ProjectPath = z.object({ project_id: z.uuid() })
export const ProjectDeleted = deleted

export const ToolPath = z.object({ project_id: z.uuid(), name: z.string() })
export const ToolTrial = z.strictObject({
  arguments: JsonObject.default({}).describe(
    "Arguments as the model would give them, validated against the tool's `parameters`",
  ),
})
export const ToolTrialView = z
  .object({
    request: z
      .object({
        method: z.enum(['GET', 'POST', 'HEAD']),
        url: z.string(),
        header_names: z.array(z.string()).describe('Values may be secrets and are not shown'),
        body: z.string().nullable(),
      })
      .nullable()
      .describe('Null when the arguments fail validation and nothing is sent'),
    status: ToolCall.shape.status,
    http_status: z.int().nullable(),
    ms: z.int(),
    result: z.string().describe('What the agent would get'),
  })
  .meta({ id: 'ToolTrial' })

export const SecretName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/)
export const SecretInput = z.strictObject({ name: SecretName, value: z.string().min(1).max(8192) })
export const SecretView = z.object({ name: z.string(), updated_at: z.string() }).meta({ id: 'Secret' })
export const SecretPath = z.object({ name: SecretName })
