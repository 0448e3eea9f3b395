/**
 * Control's description of one call for an engine: a full snapshot, so that the engine never reads Postgres. Both ends
 * parse it with these schemas. Ids are UUIDv7, phone numbers E.164, durations whole milliseconds.
 */
import { z } from 'zod'
import { newBoundary } from '../shared/untrusted.ts'

export const CONTRACT_VERSION = 1

export const Direction = z.enum(['in', 'out', 'web'])
export type Direction = z.infer<typeof Direction>

/** One stage of a filler: spoken when the tool has not answered for `after_ms`. */
export const FillerStage = z.object({ after_ms: z.int().min(0).max(30_000), text: z.string().min(1) })
export type FillerStage = z.infer<typeof FillerStage>

/** A customer's HTTP tool. Its header values travel sealed, in `PlanSecrets.tool_headers`. */
export const ToolPlan = z.object({
  name: z.string(),
  description: z.string(),
  method: z.enum(['GET', 'POST']),
  /** May contain `{param}`, replaced URL-encoded. Other parameters go to the query (GET) or the JSON body (POST). */
  url: z.string(),
  /** JSON Schema of type object. */
  parameters: z.record(z.string(), z.unknown()),
  /** Null selects the platform's phrases; an empty list disables fillers. */
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

/** The language model. `scripted` needs no network; the API key of the others travels sealed. */
export const LlmPlan = z.discriminatedUnion('provider', [
  z.object({ provider: z.literal('scripted') }),
  ...textLlms,
  /** Speech-to-speech. A text model produces the record of the call. */
  z.object({ provider: z.literal('openai_realtime'), model: z.string().min(1), voice: z.string().nullable() }),
])
export type LlmPlan = z.infer<typeof LlmPlan>

/** Name of the vendor's API key in `PlanSecrets.vendor_keys`. */
const vendorKey = { key: z.string().nullable() }
/** Null selects our adapter's default model for the vendor. */
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

/** `to` of a transfer to an operator in a browser. */
export const BROWSER = 'browser'
/** Placeholder in a target's `announce`: replaced by the agent's summary of the caller. */
export const ABOUT_PLACEHOLDER = '{{about}}'
/** A destination that the agent may transfer the call to: `to` is `browser`, an E.164 number or a SIP URI. */
export const TransferTarget = z.object({
  name: z.string().min(1),
  to: z.string().min(1),
  description: z.string(),
  /** Spoken to the person who answers, before the two are connected; null connects them at once. */
  announce: z.string().min(1).nullable().default(null),
})
export type TransferTarget = z.infer<typeof TransferTarget>

export const VoicemailPlan = z.discriminatedUnion('action', [
  /** No detection: the agent speaks first, whether a person or a machine answers. */
  z.object({ action: z.literal('ignore') }),
  z.object({ action: z.literal('hangup') }),
  z.object({ action: z.literal('leave_message'), text: z.string().min(1) }),
])

/** A LiveKit room and the engine's access to it. */
export const RoomPlan = z.object({
  /** Server URL as engines reach it: `ws:` or `wss:`. */
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
  /** Trunk to dial over; null for web calls and inbound calls. */
  trunk_id: z.uuid().nullable(),
  /** Softphone to ring; `trunk_id` is then null. */
  softphone_id: z.uuid().nullable().default(null),
  /** Room of a web call and the participant identity of its caller; null for calls over SIP. */
  room: RoomPlan.extend({ caller: z.string().min(1) })
    .nullable()
    .default(null),
  /** Epoch milliseconds after which no INVITE may be sent, whatever delayed it. */
  dial_by: z.int().optional(),
  ring_timeout_ms: z.int().positive(),
  max_call_ms: z.int().positive(),
  /** Milliseconds of talking time that the hold covers; the engine asks `call.extend` before they end. */
  paid_ms: z.int().nonnegative(),
  /** BCP 47 language tag of the agent, such as `en` or `ru`. */
  language: z.string(),
  voice: z.string().nullable(),
  llm: LlmPlan,
  /**
   * Models to try in this order when `llm` fails. Local providers come last automatically; the same for `stt` and
   * `tts`.
   */
  llm_fallback: z.array(z.object({ llm: TextLlmPlan, ...vendorKey })).default([]),
  stt: z.array(SttPlan).default([]),
  tts: z.array(TtsPlan).default([]),
  /** The sentence that says that the agent is an AI; spoken first when set. */
  disclosure: z.string().nullable(),
  greeting: z.string().nullable(),
  /**
   * Stands in the marks of untrusted text of this call, in `prompt`, `task` and `goal` as well. Random when a control
   * of an older version made the plan.
   */
  boundary: z
    .string()
    .regex(/^[A-Za-z0-9]{8,64}$/)
    .default(newBoundary),
  /** Prompt with `{{var}}` placeholders filled in; their values are marked as untrusted. */
  prompt: z.string(),
  task: z.string().nullable(),
  vars: z.record(z.string(), z.string()),
  tools: z.array(ToolPlan),
  transfers: z.array(TransferTarget).default([]),
  /** True when the project has knowledge to search. */
  knowledge: z.boolean().default(false),
  /** IANA name of the project's timezone; `UTC` by default. */
  timezone: z.string().default('UTC'),
  /** The person at the far end; `history` is empty unless the project allows it. */
  contact: z
    .object({
      name: z.string().nullable(),
      history: z.array(z.object({ at: z.int(), direction: Direction, summary: z.string() })),
    })
    .nullable()
    .default(null),
  /** When the goal counts as reached, in words; null when none is set. */
  goal: z.string().nullable(),
  /** JSON Schema (object) of the data to extract, or null. */
  extraction: z.record(z.string(), z.unknown()).nullable(),
  voicemail: VoicemailPlan,
  recording: z.boolean(),
  /** Spoken before anything else; null unless the call is recorded and the project requires a notice. */
  recording_notice: z.string().nullable().default(null),
  /** `PlanSecrets`, sealed with the call's id as associated data; null when there are no secrets. */
  sealed: z.string().nullable(),
  /** The span that offers the call; null when tracing is off. */
  traceparent: z.string().nullable(),
})
export type CallPlan = z.infer<typeof CallPlan>

export const PlanSecrets = z.object({
  /** By tool name, then header name. */
  tool_headers: z.record(z.string(), z.record(z.string(), z.string())),
  /** API key for `CallPlan.llm`. */
  llm_api_key: z.string().nullable(),
  /** By the name of the owner's secret. */
  vendor_keys: z.record(z.string(), z.string()).default({}),
})
export type PlanSecrets = z.infer<typeof PlanSecrets>

const trunkHost = {
  host: z.string(),
  /** Null selects the port by DNS (RFC 3263). */
  port: z.int().min(1).max(65_535).nullable(),
  transport: z.enum(['udp', 'tcp', 'tls']),
}
export const TrunkHost = z.object(trunkHost)
export type TrunkHost = z.infer<typeof TrunkHost>
const known = { alive: z.boolean().nullable(), options_ms: z.int().nullable() }
/** `alive` is null until the host was first checked. `targets`: the servers that DNS returns, when no port is set. */
export const TrunkHostStatus = TrunkHost.extend({
  ...known,
  targets: z.array(TrunkHost.extend({ ...known, port: z.int() })).default([]),
})

/** National dialling conventions, in digits. */
export const DialingRules = z.object({
  calling_code: z.string(),
  /** Prefix of national numbers, such as 0 or 8; null when there is none. */
  national_prefix: z.string().nullable(),
  /** Prefix before a calling code, such as 00 or 011. */
  international_prefix: z.string(),
})
export type DialingRules = z.infer<typeof DialingRules>

/** Encoding names of SDP (RFC 3551, RFC 7587). */
export const CodecName = z.enum(['PCMU', 'PCMA', 'G722', 'opus'])
export type CodecName = z.infer<typeof CodecName>

/** Evidence of whose a number is. Times in epoch ms. */
export const NumberClaim = z.object({
  number: z.string(),
  listed_at: z.int(),
  /** Time of the last successful verification call. */
  verified_at: z.int().nullable(),
  /** Time of the first call to the number from each source address. */
  called: z.record(z.string(), z.int()),
})
export type NumberClaim = z.infer<typeof NumberClaim>

/** A trunk as engines need it. The whole snapshot is sealed in Redis, because of `password`. */
export const TrunkPlan = z.object({
  id: z.uuid(),
  owner_id: z.uuid(),
  name: z.string(),
  mode: z.enum(['register', 'ip', 'both']),
  ...trunkHost,
  /** Fallback hosts, in the order in which they are tried. */
  hosts: z.array(TrunkHost).default([]),
  /** Seconds between OPTIONS pings to each host; null disables them. */
  options_interval_seconds: z.int().positive().nullable().default(null),
  username: z.string().nullable(),
  password: z.string().nullable(),
  realm: z.string().nullable(),
  outbound_proxy: z.string().nullable(),
  /** CIDRs that calls may come from. The trunk's own host is always allowed when it is an address. */
  allowed_ips: z.array(z.string()),
  codecs: z.array(CodecName).min(1),
  /** Media encryption: never (`off`), when the carrier supports it (`optional`), or always (`required`). */
  srtp: z.enum(['off', 'optional', 'required']).default('off'),
  max_calls: z.int().positive().nullable(),
  /** Maximum of dials per second; null is unlimited. */
  max_cps: z.int().positive().nullable().default(null),
  /** User part of the From header; the calling number when null. */
  from_user: z.string().nullable().default(null),
  from_domain: z.string().nullable().default(null),
  /** `always`: P-Asserted-Identity carries the calling number, too. */
  pai: z.enum(['always', 'never']).default('never'),
  /** `id`: the carrier withholds our number from the callee (RFC 3323). */
  privacy: z.enum(['none', 'id']).default('none'),
  /** Number format that the carrier expects: +49301234, 0301234 or 49301234. */
  number_format: z.enum(['plus', 'national', 'digits']).default('plus'),
  /** Dialling rules of the trunk's country. */
  dialing: DialingRules.nullable().default(null),
  /** `refer`: the carrier is asked to connect the transfer target (RFC 3515). `bridge`: the engine always dials it. */
  transfer: z.enum(['refer', 'bridge']).default('refer'),
  /** Number to which the carrier is redirected for calls that the engine cannot accept. */
  fallback_number: z.string().nullable().default(null),
  /** Announcement, as early media, to a caller whose call is refused; null plays nothing. */
  refusal_announcement: z.string().nullable().default(null),
  /** BCP 47 language tag. */
  refusal_language: z.string().default('en'),
  /** E.164 numbers on this trunk. */
  numbers: z.array(z.string()),
  /** User part of the Contact in REGISTER: unique to the trunk, and known to its registrar only. */
  contact_user: z.string().nullable().default(null),
  /** Addresses of the registrar that accepted the trunk's account and has not rejected it since. */
  registrars: z.array(z.string()).default([]),
  /** For the numbers that trunks of other accounts list, too, that were called, or verified. */
  claims: z.array(NumberClaim).default([]),
})
export type TrunkPlan = z.infer<typeof TrunkPlan>

export const TrunksSnapshot = z.object({ v: z.literal(CONTRACT_VERSION), version: z.int(), trunks: z.array(TrunkPlan) })
export type TrunksSnapshot = z.infer<typeof TrunksSnapshot>
/** Input type for publishing: omitted fields take their defaults, which keep the behaviour of older versions. */
export type NewTrunksSnapshot = z.input<typeof TrunksSnapshot>
export type NewTrunk = z.input<typeof TrunkPlan>
