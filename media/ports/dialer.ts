/** Outbound legs. */

import type { EndedReason, FinalStatus, MediaStats } from '../contract/messages.ts'
import type { CallPlan } from '../contract/plan.ts'
import type { SipTrace } from '../contract/sip-trace.ts'
import type { AudioFrame, Leg } from './leg.ts'

/** Why a dial got no leg. */
export interface DialFailure {
  status: Exclude<FinalStatus, 'completed'>
  reason: EndedReason
  sipCode: number | null
}

/** What was spoken over SIP for the calls of this engine. */
export interface CallTraces {
  /** All of a call, and what it shows; once. Null when nothing was spoken. */
  take(call: { callId: string; media: MediaStats | null; reason: EndedReason }): SipTrace | null
}

export type DialResult = { ok: true; leg: Leg } | { ok: false; failure: DialFailure }

export interface DialOptions {
  plan: CallPlan
  /** Abort cancels the attempt: the result is then `canceled`, or a leg that was answered first and already hung up. */
  signal: AbortSignal
  onRinging(): void
  /** What its line sounds like before it is answered, at `sampleRate` (Hz). Left out: nobody listens. */
  onEarlySound?(frame: AudioFrame, sampleRate: number): void
  /** The number of ours that this call had come to, where it is one that was sent on (RFC 5806). */
  divertedFrom?: string
  /** How long it may wait for its turn, where the trunk takes so many calls a second; left out: as long as a call may. */
  patienceMs?: number
}

/** Makes legs. Never throws: everything that goes wrong is a `DialFailure`. */
export interface Dialer {
  dial(options: DialOptions): Promise<DialResult>
}
