/** Telephones that register with us, as control and engines both know them. */
import { z } from 'zod'

/** The protection space of all softphones (RFC 3261 §22.1); part of what is kept of each password. */
export const SOFTPHONE_REALM = 'parley'

/** `phone-` and eight characters without those that look alike. */
export const SOFTPHONE_USERNAME = /^phone-[a-hjkmnp-tv-z2-9]{8}$/

export const SoftphonePlan = z.object({
  id: z.uuid(),
  owner_id: z.uuid(),
  username: z.string(),
  /** H(username:realm:password) of RFC 7616 §3.4.2, in hexadecimal. Whoever has it can register: it travels sealed. */
  ha1: z.object({ md5: z.string(), sha256: z.string() }),
})
export type SoftphonePlan = z.infer<typeof SoftphonePlan>

/** One place where a telephone can be reached (RFC 3261 §10). */
export const SoftphoneContact = z.object({
  /** As the telephone gave it: the Request-URI of what is sent to it. */
  uri: z.string(),
  /** `+sip.instance` of RFC 5626 §4.1: what stays the same when its address changes. */
  instance: z.string().nullable(),
  /** Where the REGISTER came from, which is where requests go: behind NAT the URI leads nowhere. */
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
  /** Epoch ms of the last REGISTER that was believed. */
  seen_at: z.int(),
  /** Some may have run out. */
  contacts: z.array(SoftphoneContact),
})
export type SoftphoneState = z.infer<typeof SoftphoneState>
