/** Port for outbound legs. */

import type { EndedReason, FinalStatus, MediaStats } from '../contract/messages.ts'
import type { CallPlan } from '../contract/plan.ts'
import type { SipTrace } from '../contract/sip-trace.ts'
import type { AudioFrame, Leg } from './leg.ts'

/** The result of a dial attempt that produced no leg. */
export interface DialFailure {
  status: Exclude<FinalStatus, 'completed'>
  reason: EndedReason
  sipCode: number | null
}

/** The SIP messages that this engine exchanged, by call. */
export interface CallTraces {
  /** Removes and returns the trace of a call with its diagnosis; null when no SIP message was exchanged. */
  take(call: { callId: string; media: MediaStats | null; reason: EndedReason }): SipTrace | null
}

export type DialResult = { ok: true; leg: Leg } | { ok: false; failure: DialFailure }

export interface DialOptions {
  plan: CallPlan
  /** Abort cancels the attempt. The result is then `canceled`, or a leg that was answered first and already hung up. */
  signal: AbortSignal
  onRinging(): void
  /** Receives the early media at `sampleRate` (Hz). When omitted, early media is discarded. */
  onEarlyMedia?(frame: AudioFrame, sampleRate: number): void
  /** Our number that the original inbound call reached, when this dial forwards that call (Diversion, RFC 5806). */
  divertedFrom?: string
  /**
   * Milliseconds to wait for a rate token on a trunk with `max_cps`. When omitted, the dial waits as long as a call
   * may.
   */
  maxWaitMs?: number
}

/** Makes outbound legs. Never throws: every problem is a `DialFailure`. */
export interface Dialer {
  dial(options: DialOptions): Promise<DialResult>
}
