/** Softphones that register with us, as control and engines share them. */
import { z } from 'zod'

/** The protection space of all softphones (RFC 3261 §22.1); part of each stored password hash. */
export const SOFTPHONE_REALM = 'parley'

/** `phone-` and eight characters, without those that look alike. */
export const SOFTPHONE_USERNAME = /^phone-[a-hjkmnp-tv-z2-9]{8}$/

export const SoftphonePlan = z.object({
  id: z.uuid(),
  owner_id: z.uuid(),
  username: z.string(),
  /** H(username:realm:password) of RFC 7616 §3.4.2, in hexadecimal. It suffices to register, so it travels sealed. */
  ha1: z.object({ md5: z.string(), sha256: z.string() }),
})
export type SoftphonePlan = z.infer<typeof SoftphonePlan>

/** One contact address of a softphone (RFC 3261 §10). */
export const SoftphoneContact = z.object({
  /** Contact URI as the softphone sent it: the Request-URI of requests to it. */
  uri: z.string(),
  /** `+sip.instance` (RFC 5626 §4.1), which stays the same when the address changes. */
  instance: z.string().nullable(),
  /** Source address of the REGISTER. Requests go there, because behind NAT the URI is unreachable. */
  host: z.string(),
  port: z.int(),
  transport: z.enum(['udp', 'tcp', 'tls']),
  user_agent: z.string().nullable(),
  call_id: z.string(),
  cseq: z.int(),
  expires_at: z.int(),
})
export type SoftphoneContact = z.infer<typeof SoftphoneContact>

export const SoftphoneState = z.object({
  /** Epoch milliseconds of the last authenticated REGISTER. */
  seen_at: z.int(),
  /** Some of them may have expired. */
  contacts: z.array(SoftphoneContact),
})
export type SoftphoneState = z.infer<typeof SoftphoneState>
