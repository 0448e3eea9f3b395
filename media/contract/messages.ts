/**
 * Every message that crosses Redis between control and the engines. Times are epoch milliseconds; `seq` counts the
 * events of one call from 1. Commands run at most once, events arrive at least once, and asks (requests) have a
 * deadline.
 */
import { z } from 'zod'
import { CallPlan, CONTRACT_VERSION, RoomPlan, TrunkHostStatus } from './plan.ts'
import { SipTrace } from './sip-trace.ts'

export const FinalStatus = z.enum(['completed', 'no_answer', 'busy', 'failed', 'canceled'])
export type FinalStatus = z.infer<typeof FinalStatus>

/** Closed list; part of the public API. */
export const EndedReason = z.enum([
  // answered calls
  'caller_hangup',
  'agent_hangup',
  'api_hangup',
  'silence_timeout',
  'max_duration',
  'balance_exhausted',
  'voicemail_left',
  'voicemail_hangup',
  'transferred',
  'engine_shutdown',
  'media_timeout',
  'connection_lost',
  'encryption_failed',
  'model_error',
  'engine_lost',
  // never answered
  'no_answer',
  'busy',
  'declined',
  'canceled_by_api',
  'caller_canceled',
  'number_unknown',
  'number_invalid',
  'forbidden_by_carrier',
  'auth_failed',
  'no_common_codec',
  'bad_sdp',
  'trunk_unreachable',
  'trunk_unknown',
  'room_unreachable',
  'carrier_error',
  'carrier_congestion',
  'queue_expired',
  'do_not_call',
  'no_capacity',
  'internal_error',
])
export type EndedReason = z.infer<typeof EndedReason>

/** A knowledge passage that was given to the agent. */
export const KnowledgeUse = z.object({ chunk_id: z.uuid(), source_id: z.uuid(), source: z.string() })
export type KnowledgeUse = z.infer<typeof KnowledgeUse>

export const AnsweredBy = z.enum(['human', 'machine', 'screening', 'unknown'])
export type AnsweredBy = z.infer<typeof AnsweredBy>

/**
 * A turn of the transcript. Offsets count from the answer. `heard_text` is what was played; for a caller it equals
 * `text`.
 * `operator`: a person who speaks instead of the agent.
 */
export const Turn = z.object({
  role: z.enum(['agent', 'caller', 'tool', 'operator']),
  text: z.string(),
  heard_text: z.string(),
  started_ms: z.int(),
  ended_ms: z.int(),
  interrupted: z.boolean(),
  /** Passages that the turn's tool found; set for knowledge searches. */
  knowledge: z.array(KnowledgeUse).optional(),
})
export type Turn = z.infer<typeof Turn>

/**
 * Voice-to-voice latency of one answer on the wire: from the last RTP packet of the caller's speech to the first RTP
 * packet of the agent's, with its parts. Parts overlap when work started early, so they need not add up.
 */
export const TurnLatency = z.object({
  total_ms: z.int(),
  endpointing_ms: z.int(),
  stt_ms: z.int(),
  llm_first_token_ms: z.int(),
  tts_first_byte_ms: z.int(),
  /** True when the first audio was a filler. */
  filler: z.boolean(),
})
export type TurnLatency = z.infer<typeof TurnLatency>

export const ToolStatus = z.enum([
  'ok',
  'http_error',
  'timeout',
  'blocked',
  'too_large',
  'network_error',
  'aborted',
  'bad_arguments',
  'unknown_tool',
  'failed',
])
export type ToolStatus = z.infer<typeof ToolStatus>

export const ToolCall = z.object({
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  started_ms: z.int(),
  ms: z.int(),
  status: ToolStatus,
  http_status: z.int().nullable(),
  /** Result that the model received, cut to 4 KB. */
  result: z.string(),
  /** Filler phrases that were spoken while waiting. */
  filler: z.array(z.string()),
  /** Passages that the search found, the best first. */
  knowledge: z.array(KnowledgeUse).optional(),
})
export type ToolCall = z.infer<typeof ToolCall>

export const MediaStats = z.object({
  codec: z.string(),
  packets_sent: z.int(),
  packets_received: z.int(),
  packets_lost: z.int(),
  packets_late: z.int(),
  packets_rejected: z.int(),
  jitter_ms: z.number(),
})
export type MediaStats = z.infer<typeof MediaStats>

/** A stereo WAV in the blob store: caller left, agent right, starting at the answer. */
export const RecordingInfo = z.object({
  key: z.string(),
  duration_ms: z.int().nonnegative(),
  bytes: z.int().positive(),
})
export type RecordingInfo = z.infer<typeof RecordingInfo>

/** The complete result of a finished call, so that a lost or late event loses nothing. */
export const CallRecord = z.object({
  status: FinalStatus,
  ended_reason: EndedReason,
  answered_by: AnsweredBy.nullable(),
  sip_code: z.int().nullable(),
  answered_at: z.int().nullable(),
  ended_at: z.int(),
  /** Milliseconds from answer to end; the billed time. */
  talked_ms: z.int().nonnegative(),
  transcript: z.array(Turn),
  tool_calls: z.array(ToolCall),
  latency: z.object({ p50_ms: z.int().nullable(), p95_ms: z.int().nullable(), turns: z.array(TurnLatency) }),
  summary: z.string().nullable(),
  extracted: z.record(z.string(), z.unknown()).nullable(),
  /** The reason why `extracted` is null although extraction was requested. */
  extraction_problem: z.string().nullable().default(null),
  goal_reached: z.boolean(),
  /** Words of the call that prove `goal_reached`. */
  goal_evidence: z.string().nullable().default(null),
  /** The name as the caller gave it. */
  contact_name: z.string().nullable().default(null),
  do_not_call: z.boolean(),
  media: MediaStats.nullable(),
  /** Null when the call did not use SIP, or its engine died. */
  sip: SipTrace.nullable().default(null),
  /** Null when the call was not recorded, or is not stored yet; `recording.ready` then follows. */
  recording: RecordingInfo.nullable().default(null),
})
export type CallRecord = z.infer<typeof CallRecord>

/** A vendor failed and the next one in the fallback order took over; `to` is null when none was left. */
export const ProviderSwitch = z.object({
  kind: z.enum(['stt', 'tts', 'llm']),
  from: z.string(),
  to: z.string().nullable(),
  code: z.enum(['unauthorized', 'rate_limited', 'unavailable', 'bad_answer', 'timeout']),
})
export type ProviderSwitch = z.infer<typeof ProviderSwitch>

/**
 * `listen`: hear the call. `whisper`: speak to its agent alone. `takeover`: speak to the caller instead of the agent.
 */
export const MonitorMode = z.enum(['listen', 'whisper', 'takeover'])
export type MonitorMode = z.infer<typeof MonitorMode>

/** Id of an operator who monitors a live call. */
const monitor = { monitor_id: z.uuid() }

const head = {
  v: z.literal(CONTRACT_VERSION),
  call_id: z.uuid(),
  owner_id: z.uuid(),
  seq: z.int().positive(),
  at: z.int(),
}

export const CallEvent = z.discriminatedUnion('type', [
  z.object({ ...head, type: z.literal('call.dialing'), engine: z.string(), boot: z.string() }),
  z.object({ ...head, type: z.literal('call.ringing') }),
  z.object({ ...head, type: z.literal('call.started'), engine: z.string(), boot: z.string() }),
  z.object({ ...head, type: z.literal('call.progress'), talked_ms: z.int().nonnegative() }),
  z.object({ ...head, type: z.literal('turn.finished'), turn: Turn, latency: TurnLatency.nullable() }),
  z.object({ ...head, type: z.literal('tool.started'), name: z.string() }),
  z.object({ ...head, type: z.literal('filler.spoken'), name: z.string(), text: z.string() }),
  z.object({ ...head, type: z.literal('tool.finished'), tool: ToolCall }),
  z.object({ ...head, type: z.literal('barge_in'), heard_ms: z.int(), heard_text: z.string() }),
  z.object({ ...head, type: z.literal('dtmf.received'), digit: z.string().length(1) }),
  z.object({ ...head, type: z.literal('provider.switched'), ...ProviderSwitch.shape }),
  z.object({ ...head, type: z.literal('monitor.joined'), ...monitor, mode: MonitorMode }),
  z.object({ ...head, type: z.literal('monitor.changed'), ...monitor, mode: MonitorMode }),
  z.object({ ...head, type: z.literal('monitor.left'), ...monitor }),
  /** An operator's instruction to the agent. */
  z.object({ ...head, type: z.literal('monitor.whispered'), ...monitor, text: z.string() }),
  /** A transfer waits for an operator to take the call over in a browser; `name` is the name of the transfer target. */
  z.object({ ...head, type: z.literal('transfer.waiting'), name: z.string() }),
  z.object({ ...head, type: z.literal('transfer.settled'), name: z.string(), accepted: z.boolean() }),
  /** Start of a transfer to a telephone: the carrier is asked (`refer`), or the engine dials the target (`bridge`). */
  z.object({ ...head, type: z.literal('transfer.started'), name: z.string(), by: z.enum(['refer', 'bridge']) }),
  /** Releases the second line that `call.bridge` reserved. */
  z.object({ ...head, type: z.literal('bridge.closed'), attempt: z.int().positive() }),
  /** The conversation is over; the record follows as `call.ended`. */
  z.object({ ...head, type: z.literal('call.closing'), reason: EndedReason }),
  /** `traceparent`: the engine's span for this call. */
  z.object({ ...head, type: z.literal('call.ended'), record: CallRecord, traceparent: z.string().optional() }),
])
export type CallEvent = z.infer<typeof CallEvent>
type WithoutHead<T> = T extends unknown ? Omit<T, 'v' | 'call_id' | 'owner_id' | 'seq' | 'at'> : never
/** An event as the call produces it; the bus adds the head. */
export type CallEventBody = WithoutHead<CallEvent>

/** An event of the engine itself. After `engine.started`, calls of that engine's earlier boots are lost. */
export const EngineEvent = z.object({
  v: z.literal(CONTRACT_VERSION),
  type: z.enum(['engine.started', 'engine.stopping']),
  engine: z.string(),
  boot: z.string(),
  at: z.int(),
})
export type EngineEvent = z.infer<typeof EngineEvent>

export const TrunkStatusEvent = z.object({
  v: z.literal(CONTRACT_VERSION),
  type: z.literal('trunk.status'),
  trunk_id: z.uuid(),
  owner_id: z.uuid(),
  registration: z.enum(['none', 'registering', 'registered', 'failed']),
  last_error: z.string().nullable(),
  /** The registrar's answer about an account (`trunkAccount`): its address, or null when it rejected the account. */
  registrar: z.object({ account: z.string(), address: z.string().nullable() }).optional(),
  /** In the order in which they are tried. */
  hosts: z.array(TrunkHostStatus).default([]),
  at: z.int(),
})
export type TrunkStatusEvent = z.infer<typeof TrunkStatusEvent>

/** The recording was stored after `call.ended` was sent: the upload took long, or the engine had died meanwhile. */
export const RecordingReadyEvent = z.object({
  v: z.literal(CONTRACT_VERSION),
  type: z.literal('recording.ready'),
  call_id: z.uuid(),
  owner_id: z.uuid(),
  recording: RecordingInfo,
  at: z.int(),
})
export type RecordingReadyEvent = z.infer<typeof RecordingReadyEvent>

export const BusEvent = z.union([CallEvent, EngineEvent, TrunkStatusEvent, RecordingReadyEvent])
export type BusEvent = z.infer<typeof BusEvent>

/** Sent on the shared stream: exactly one engine claims it, and none after `deadline` (epoch ms). */
export const PlaceCommand = z.object({ type: z.literal('call.place'), plan: CallPlan, deadline: z.int() })
export type PlaceCommand = z.infer<typeof PlaceCommand>

/** Commands on an engine's own stream. */
export const CallCommand = z.discriminatedUnion('type', [
  z.object({ type: z.literal('call.hangup'), call_id: z.uuid(), reason: EndedReason }),
  /** Adds an operator, or changes the mode of one who is connected. */
  z.object({
    type: z.literal('call.monitor'),
    call_id: z.uuid(),
    ...monitor,
    mode: MonitorMode,
    /** The room that connects operators of this call with the engine; `identity` is this operator's identity in it. */
    room: RoomPlan,
    identity: z.string(),
  }),
  /** Disconnects an operator. */
  z.object({ type: z.literal('call.unmonitor'), call_id: z.uuid(), ...monitor }),
])
export type CallCommand = z.infer<typeof CallCommand>

/** The reason why an inbound call is refused; `sip/trunk/requests/outcome.ts` maps it to a SIP response. */
export const Refusal = z.enum([
  'unknown_number',
  'unknown_source',
  'subscription_inactive',
  'insufficient_balance',
  'daily_limit_reached',
  'too_many_calls',
  'not_ready',
  'internal_error',
])
export type Refusal = z.infer<typeof Refusal>

/** Requests of an engine to control during a call: request and answer, by name. */
export const requests = {
  'call.admit': {
    request: z.object({
      engine: z.string(),
      boot: z.string(),
      /** Null when no trunk matches the source. */
      trunk_id: z.uuid().nullable(),
      /** Evidence for the trunk: a registration, or the called number alone. Left out for anything weaker. */
      decided_by: z.enum(['registration', 'number']).optional(),
      /** The authenticated softphone that calls. */
      softphone_id: z.uuid().optional(),
      called: z.string(),
      caller: z.string(),
      source: z.string(),
      /** The engine's span for this call. */
      traceparent: z.string().optional(),
    }),
    answer: z.discriminatedUnion('admitted', [
      z.object({ admitted: z.literal(true), plan: CallPlan }),
      z.object({ admitted: z.literal(false), refusal: Refusal }),
    ]),
  },
  'call.extend': {
    request: z.object({ call_id: z.uuid(), owner_id: z.uuid(), talked_ms: z.int().nonnegative() }),
    /** `paid_ms`: total talking time that the holds cover. When it does not grow, the balance is exhausted. */
    answer: z.object({ paid_ms: z.int().nonnegative() }),
  },
  'knowledge.search': {
    request: z.object({ owner_id: z.uuid(), project_id: z.uuid(), query: z.string().max(400) }),
    /** The best first. */
    answer: z.object({
      found: z.array(KnowledgeUse.extend({ heading: z.string(), text: z.string() })),
    }),
  },
  /** Reserves a trunk line for the leg to a transfer target, until `bridge.closed` or the end of the call. */
  'call.bridge': {
    request: z.object({
      call_id: z.uuid(),
      owner_id: z.uuid(),
      trunk_id: z.uuid(),
      /** Number of the attempt within this call, from 1. */
      attempt: z.int().positive(),
    }),
    answer: z.object({ granted: z.boolean() }),
  },
} as const
export type RequestName = keyof typeof requests
export type RequestBody<N extends RequestName> = z.infer<(typeof requests)[N]['request']>
export type RequestAnswer<N extends RequestName> = z.infer<(typeof requests)[N]['answer']>

/** Published by each engine every two seconds; expires in Redis when the engine stops renewing it. */
export const Heartbeat = z.object({
  engine: z.string(),
  boot: z.string(),
  /** Start of this boot in epoch milliseconds. Older engines omit it. */
  since: z.int().optional(),
  at: z.int(),
  calls: z.int().nonnegative(),
  capacity: z.int().nonnegative(),
  stt_ready: z.boolean(),
  /** True when the engine can join LiveKit rooms. */
  rooms: z.boolean().default(false),
  /** Identifies the engine's SIP server: equal values mean the same server. Omitted while the server is unreachable. */
  signalling: z.string().optional(),
  /** True when the SIP server sends inbound calls to this engine and should continue to. */
  accepting: z.boolean().optional(),
})
export type Heartbeat = z.infer<typeof Heartbeat>
