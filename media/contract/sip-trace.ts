/** SIP traces and their diagnosis, as engines send them to control. Secrets are masked before they reach this type. */
import { z } from 'zod'

/** One message; `generated`: a substitute that our SIP server generated because no message arrived. */
export const TracedMessage = z.object({
  /** Epoch milliseconds. */
  at: z.int(),
  /** True when we sent it. */
  sent: z.boolean(),
  /** `host:port` */
  source: z.string(),
  /** `host:port` */
  target: z.string(),
  transport: z.enum(['udp', 'tcp', 'tls']),
  generated: z.boolean(),
  text: z.string(),
})
export type TracedMessage = z.infer<typeof TracedMessage>

/** Closed list; part of the public API. */
export const DiagnosisCode = z.enum([
  // reaching the carrier
  'dns_failed',
  'address_not_allowed',
  'transport_refused',
  'transport_unreachable',
  'no_response',
  'tls_name_mismatch',
  'tls_untrusted',
  'tls_expired',
  'tls_failed',
  // our identity
  'wrong_password',
  'wrong_realm',
  'credentials_missing',
  'auth_unsupported',
  'user_unknown',
  'register_loop',
  'clock_skew',
  // the request
  'caller_id_refused',
  'number_format',
  'number_unknown',
  'forbidden',
  'payment_required',
  'call_limit',
  'carrier_overloaded',
  'session_timer',
  'carrier_refused',
  // the media
  'codec_refused',
  'srtp_required',
  'srtp_refused',
  'bad_sdp',
  'one_way_audio',
  'nat_address',
  'no_ack',
  // no fault of the trunk
  'busy',
  'no_answer',
  'declined',
  'canceled',
])
export type DiagnosisCode = z.infer<typeof DiagnosisCode>

export const Diagnosis = z.object({
  code: DiagnosisCode,
  /** The cause. */
  message: z.string(),
  /** Instructions to fix it; null when there is nothing to do. */
  advice: z.string().nullable(),
  /** Indexes of the messages that prove it. */
  evidence: z.array(z.int().nonnegative()),
})
export type Diagnosis = z.infer<typeof Diagnosis>

export const SipTrace = z.object({
  messages: z.array(TracedMessage),
  /** Number of messages omitted between the first and the last ones. */
  omitted: z.int().nonnegative(),
  diagnosis: Diagnosis.nullable(),
})
export type SipTrace = z.infer<typeof SipTrace>

export const TrunkCheckStep = z.object({
  name: z.enum(['dns', 'connect', 'certificate', 'options', 'register', 'encryption', 'clock', 'address']),
  /** `host:port` */
  host: z.string(),
  ok: z.boolean(),
  message: z.string(),
  ms: z.int().nonnegative(),
})
export type TrunkCheckStep = z.infer<typeof TrunkCheckStep>

export const TrunkCheckReport = z.object({
  ok: z.boolean(),
  checks: z.array(TrunkCheckStep),
  ...SipTrace.shape,
})
export type TrunkCheckReport = z.infer<typeof TrunkCheckReport>

/** Sent to one engine: check this trunk now. The report is ignored after the deadline. */
export const TrunkCheckCommand = z.object({
  type: z.literal('trunk.check'),
  id: z.uuid(),
  /** `TrunkPlan`, sealed with the id as associated data. */
  sealed: z.string(),
  /** Epoch milliseconds. */
  deadline: z.int(),
})
export type TrunkCheckCommand = z.infer<typeof TrunkCheckCommand>
