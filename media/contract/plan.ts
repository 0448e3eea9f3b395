/**
 * What control tells an engine about one call: a full snapshot, so that the engine never reads Postgres.
 * Both ends parse with these schemas; ids are UUIDv7, phones E.164, durations whole milliseconds.
 */
import { z } from 'zod'

export const CONTRACT_VERSION = 1

export const Direction = z.enum(['in', 'out', 'web'])
export type Direction = z.infer<typeof Direction>

/** One stage of a filler: spoken when the tool has been silent for `after_ms`. */
export const FillerStage = z.object({ after_ms: z.int().min(0).max(30_000), text: z.string().min(1) })
export type FillerStage = z.infer<typeof FillerStage>

/** A customer's HTTP tool. Header values are not here: they travel sealed (`PlanSecrets.tool_headers`). */
export const ToolPlan = z.object({
  name: z.string(),
  description: z.string(),
  method: z.enum(['GET', 'POST']),
  /** May contain `{param}`; such parameters are URL-encoded into it, the rest go to the query (GET) or JSON body (POST). */
  url: z.string(),
  /** JSON Schema of an object. */
  parameters: z.record(z.string(), z.unknown()),
  /** Null: the platform's own words. Empty: none at all. */
  filler: z.array(FillerStage).nullable(),
  timeout_ms: z.int().min(1000).max(30_000),
})
export type ToolPlan = z.infer<typeof ToolPlan>

const textLlms = [
  z.object({ provider: z.literal('openai_compatible'), base_url: z.url(), model: z.string().min(1) }),
  z.object({ provider: z.literal('anthropic'), model: z.string().min(1) }),
  z.object({ provider: z.literal('google'), model: z.string().min(1) }),
] as const
export const TextLlmPlan = z.discriminatedUnion('provider', textLlms)
export type TextLlmPlan = z.infer<typeof TextLlmPlan>

/** Who thinks. `scripted` needs no network; the API key of the others travels sealed. */
export const LlmPlan = z.discriminatedUnion('provider', [
  z.object({ provider: z.literal('scripted') }),
  ...textLlms,
  /** Hears and speaks itself; a text model is asked for the record of the call. */
  z.object({ provider: z.literal('openai_realtime'), model: z.string().min(1), voice: z.string().nullable() }),
])
export type LlmPlan = z.infer<typeof LlmPlan>

/** What its API key is called in `PlanSecrets.vendor_keys`. */
const vendorKey = { key: z.string().nullable() }
/** Null: the vendor's own default, as our adapter knows it. */
const vendorModel = { model: z.string().min(1).nullable() }

export const SttPlan = z.discriminatedUnion('provider', [
  z.object({ provider: z.literal('deepgram'), ...vendorModel, ...vendorKey }),
  z.object({ provider: z.literal('yandex_speechkit'), ...vendorKey }),
])
export type SttPlan = z.infer<typeof SttPlan>

export const TtsPlan = z.discriminatedUnion('provider', [
  z.object({ provider: z.literal('elevenlabs'), voice: z.string().min(1), ...vendorModel, ...vendorKey }),
  z.object({ provider: z.literal('cartesia'), voice: z.string().min(1), ...vendorModel, ...vendorKey }),
  z.object({ provider: z.literal('openai'), voice: z.string().min(1), ...vendorModel, ...vendorKey }),
  z.object({ provider: z.literal('yandex_speechkit'), voice: z.string().min(1), ...vendorKey }),
])
export type TtsPlan = z.infer<typeof TtsPlan>

/** `to` of a transfer to whoever takes the call over in a browser. */
export const BROWSER = 'browser'
/** In the `announce` of a target: what the agent wrote about the caller. */
export const ABOUT = '{{about}}'
/** Somebody the agent may give the call to: `to` is `browser`, a number in E.164, or a SIP URI. */
export const TransferTarget = z.object({
  name: z.string().min(1),
  to: z.string().min(1),
  description: z.string(),
  /** Said to who answers before the two are connected; null: they are connected at once. */
  announce: z.string().min(1).nullable().default(null),
})
export type TransferTarget = z.infer<typeof TransferTarget>

export const VoicemailPlan = z.discriminatedUnion('action', [
  /** Nobody is listened for: the agent speaks first, whoever answers. */
  z.object({ action: z.literal('ignore') }),
  z.object({ action: z.literal('hangup') }),
  z.object({ action: z.literal('leave_message'), text: z.string().min(1) }),
])

/** A LiveKit room, and the engine's seat in it. */
export const RoomPlan = z.object({
  /** As engines reach the server: `ws:` or `wss:`. */
  url: z.string(),
  name: z.string(),
  /** `RoomSecret`, sealed with the call's id as associated data. */
  sealed: z.string(),
})
export type RoomPlan = z.infer<typeof RoomPlan>
export const RoomSecret = z.object({ token: z.string() })

export const CallPlan = z.object({
  v: z.literal(CONTRACT_VERSION),
  call_id: z.uuid(),
  owner_id: z.uuid(),
  project_id: z.uuid(),
  direction: Direction,
  from: z.string(),
  to: z.string(),
  /** The line to dial over; null for web and for what came in. */
  trunk_id: z.uuid().nullable(),
  /** Of the softphone to ring; then there is no line. */
  softphone_id: z.uuid().nullable().default(null),
  /** Where a web call is held, and the participant identity of who talks there; null for calls over SIP. */
  room: RoomPlan.extend({ caller: z.string().min(1) })
    .nullable()
    .default(null),
  /** Epoch ms; from then on no INVITE may leave, whatever it had to wait for. */
  dial_by: z.int().optional(),
  ring_timeout_ms: z.int().positive(),
  max_call_ms: z.int().positive(),
  /** Talking time already held for; the engine asks `call.extend` before it ends. */
  paid_ms: z.int().nonnegative(),
  /** BCP 47 language of the agent, e.g. `en`, `ru`. */
  language: z.string(),
  voice: z.string().nullable(),
  llm: LlmPlan,
  /** Asked in this order when `language model` fails; what needs no network comes last by itself, here and below. */
  llm_fallback: z.array(z.object({ llm: TextLlmPlan, ...vendorKey })).default([]),
  stt: z.array(SttPlan).default([]),
  tts: z.array(TtsPlan).default([]),
  /** The sentence that says it is an AI; spoken first when set. */
  disclosure: z.string().nullable(),
  greeting: z.string().nullable(),
  /** Prompt with `{{var}}` filled. */
  prompt: z.string(),
  task: z.string().nullable(),
  vars: z.record(z.string(), z.string()),
  tools: z.array(ToolPlan),
  transfers: z.array(TransferTarget).default([]),
  /** Whether there is knowledge to search. */
  knowledge: z.boolean().default(false),
  /** IANA name of the project's timezone. */
  timezone: z.string().default('UTC'),
  /** Who is at the other end; history only where the project allows it. */
  contact: z
    .object({
      name: z.string().nullable(),
      history: z.array(z.object({ at: z.int(), direction: Direction, summary: z.string() })),
    })
    .nullable()
    .default(null),
  /** What counts as reached, in words; null when none was set. */
  goal: z.string().nullable(),
  /** JSON Schema (object) of what to extract, or null. */
  extraction: z.record(z.string(), z.unknown()).nullable(),
  voicemail: VoicemailPlan,
  recording: z.boolean(),
  /** Said before anything else; null unless the call is recorded and the project says so. */
  recording_notice: z.string().nullable().default(null),
  /** `PlanSecrets`, sealed with the call's id as associated data; null when there is nothing to hide. */
  sealed: z.string().nullable(),
  /** Of the span that offers the call; null where nothing is traced. */
  traceparent: z.string().nullable(),
})
export type CallPlan = z.infer<typeof CallPlan>

export const PlanSecrets = z.object({
  /** By tool name, then header name. */
  tool_headers: z.record(z.string(), z.record(z.string(), z.string())),
  /** Of `CallPlan.language model`. */
  llm_api_key: z.string().nullable(),
  /** By the name of the owner's secret. */
  vendor_keys: z.record(z.string(), z.string()).default({}),
})
export type PlanSecrets = z.infer<typeof PlanSecrets>

const trunkHost = {
  host: z.string(),
  /** Null: where DNS says (RFC 3263). */
  port: z.int().min(1).max(65_535).nullable(),
  transport: z.enum(['udp', 'tcp', 'tls']),
}
export const TrunkHost = z.object(trunkHost)
export type TrunkHost = z.infer<typeof TrunkHost>
const known = { alive: z.boolean().nullable(), options_ms: z.int().nullable() }
/** `alive` is null for one that was never heard of. `targets`: the servers that DNS names, where no port is set. */
export const TrunkHostStatus = TrunkHost.extend({
  ...known,
  targets: z.array(TrunkHost.extend({ ...known, port: z.int() })).default([]),
})

/** How numbers are dialled in a country, in digits. */
export const DialingRules = z.object({
  calling_code: z.string(),
  /** Before a number of the country itself, such as 0 or 8; null: nothing. */
  national_prefix: z.string().nullable(),
  /** Before a calling code, such as 00 or 011. */
  international_prefix: z.string(),
})
export type DialingRules = z.infer<typeof DialingRules>

/** As SDP names them (RFC 3551, RFC 7587). */
export const CodecName = z.enum(['PCMU', 'PCMA', 'G722', 'opus'])
export type CodecName = z.infer<typeof CodecName>

/** A trunk as engines need it. The whole snapshot is sealed in Redis, because of `password`. */
export const TrunkPlan = z.object({
  id: z.uuid(),
  owner_id: z.uuid(),
  name: z.string(),
  mode: z.enum(['register', 'ip', 'both']),
  ...trunkHost,
  /** Tried in this order when the host before can't be had. */
  hosts: z.array(TrunkHost).default([]),
  /** How often each host is asked whether it is there; null: never. */
  options_interval_seconds: z.int().positive().nullable().default(null),
  username: z.string().nullable(),
  password: z.string().nullable(),
  realm: z.string().nullable(),
  outbound_proxy: z.string().nullable(),
  /** CIDRs that calls may come from; the trunk's own host, when it is an address, is always allowed. */
  allowed_ips: z.array(z.string()),
  codecs: z.array(CodecName).min(1),
  /** Whether sound is encrypted: never, where the carrier does it too, or never without. */
  srtp: z.enum(['off', 'optional', 'required']).default('off'),
  max_calls: z.int().positive().nullable(),
  /** Calls dialled in a second. */
  max_cps: z.int().positive().nullable().default(null),
  /** Of From, instead of the number called from. */
  from_user: z.string().nullable().default(null),
  from_domain: z.string().nullable().default(null),
  /** Whether the number called from also stands in P-Asserted-Identity. */
  pai: z.enum(['always', 'never']).default('never'),
  /** `id`: whoever is called does not see our number (RFC 3323). */
  privacy: z.enum(['none', 'id']).default('none'),
  /** How the carrier wants numbers written: +49301234, 0301234 or 49301234. */
  number_format: z.enum(['plus', 'national', 'digits']).default('plus'),
  /** Of the trunk's country. */
  dialing: DialingRules.nullable().default(null),
  /** `refer`: the carrier is asked to connect who a call is given to (RFC 3515); `bridge`: we always do it ourselves. */
  transfer: z.enum(['refer', 'bridge']).default('refer'),
  /** Where the carrier is told to send calls that can't be taken. */
  fallback_number: z.string().nullable().default(null),
  /** What a caller hears, before it is answered, whose call is refused; null: nothing. */
  refusal_announcement: z.string().nullable().default(null),
  /** BCP 47. */
  refusal_language: z.string().default('en'),
  /** E.164 numbers on this trunk. */
  numbers: z.array(z.string()),
})
export type TrunkPlan = z.infer<typeof TrunkPlan>

export const TrunksSnapshot = z.object({ v: z.literal(CONTRACT_VERSION), version: z.int(), trunks: z.array(TrunkPlan) })
export type TrunksSnapshot = z.infer<typeof TrunksSnapshot>
/** As control publishes it: what is left out is as it was before there was a choice. */
export type NewTrunksSnapshot = z.input<typeof TrunksSnapshot>
export type NewTrunk = z.input<typeof TrunkPlan>
