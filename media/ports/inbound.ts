/** Inbound calls before they are answered. */

import type { Refusal } from '../contract/messages.ts'
import type { Leg } from './leg.ts'

export interface RefusalAnnouncement {
  text: string
  /** BCP 47. */
  language: string
}

/** The sound of a call that is not answered (RFC 3960): nobody pays for it. */
export interface EarlySound {
  /** Of the PCM, in Hz. */
  sampleRate: number
  /** Once. What the caller says isn't heard. */
  attach(pull: () => Int16Array | null): void
  /** Aborted when nobody hears it any more: the caller gave up, or it can't be encrypted. */
  signal: AbortSignal
}

/** A call that came in and waits for an answer. Exactly one of `answer` and `reject` is called. */
export interface InboundOffer {
  called: string
  caller: string
  /** Address that the INVITE came from. */
  source: string
  trunkId: string | null
  /** Of the softphone that proved to be who calls; then there is no trunk. */
  softphoneId?: string
  /** Aborted when the caller gave up (CANCEL) or the transport died before the answer. */
  signal: AbortSignal
  /** Null when the caller gave up meanwhile, or the media could not be agreed (the peer was told). */
  answer(): Promise<Leg | null>
  reject(refusal: Refusal): void
  /** What its caller is to hear before that refusal. Null: nothing. */
  announcementOf?(refusal: Refusal): RefusalAnnouncement | null
  /** Sound to the caller without an answer; once, and then nothing but `reject`, which ends it. Null: it can't be had. */
  early?(): Promise<EarlySound | null>
  /** It has become this call. */
  admitted?(callId: string): void
}
