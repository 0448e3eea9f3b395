/** Port for inbound calls before they are answered. */

import type { Refusal } from '../contract/messages.ts'
import type { Leg } from './leg.ts'

export interface RefusalAnnouncement {
  text: string
  /** BCP 47 language tag. */
  language: string
}

/** Early media of a call that is not answered (RFC 3960). It is not billed. */
export interface EarlyMedia {
  /** Sample rate of the PCM in Hz. */
  sampleRate: number
  /** Starts the sound; call it once. The caller's audio is discarded. */
  attach(pull: () => Int16Array | null): void
  /** Aborted when the sound cannot be delivered: the caller gave up, or the media cannot be encrypted. */
  signal: AbortSignal
}

/** An inbound call that waits for an answer. Exactly one of `answer` and `reject` is called. */
export interface InboundOffer {
  called: string
  caller: string
  /** IP address that the INVITE came from. */
  source: string
  trunkId: string | null
  /** Evidence for the trunk: a registration, or the called number alone. */
  decidedBy?: 'registration' | 'number'
  /** Id of the authenticated softphone that calls; `trunkId` is then null. */
  softphoneId?: string
  /** Aborted when the caller gave up (CANCEL) or the transport died before the answer. */
  signal: AbortSignal
  /** Resolves to null when the caller gave up meanwhile or no media was agreed (the peer was answered). */
  answer(): Promise<Leg | null>
  reject(refusal: Refusal): void
  /** Announcement to play before that refusal; null when there is none. */
  announcementOf?(refusal: Refusal): RefusalAnnouncement | null
  /** Opens early media; call it once, then only `reject`, which ends it. Null when early media is not possible. */
  early?(): Promise<EarlyMedia | null>
  /** Reports the id of the call that this offer became. */
  admitted?(callId: string): void
}
