/**
 * Port for one end of a call. Audio is 16-bit linear PCM, mono. Times named `ms` are milliseconds of the injected
 * monotonic clock unless their name says otherwise.
 */
import type { EndedReason, MediaStats } from '../contract/messages.ts'
import type { TrunkPlan } from '../contract/plan.ts'

/** 20 ms of the far end's audio. */
export interface AudioFrame {
  pcm: Int16Array
  /** The frame as the received µ-law bytes, when the leg's codec is PCMU. */
  ulaw?: Uint8Array
  /** Arrival time of the frame's packet. */
  atMs: number
  /** True when the frame was synthesised: its packet was lost, or the far end sent none because it is silent. */
  concealed: boolean
}

/** The call's side of a leg: the leg pulls a frame every 20 ms and pushes the frames it receives. */
export interface LegSink {
  /** Returns exactly 20 ms at the leg's rate, or null for silence. `atMs` is the time at which the frame is sent. */
  pull(atMs: number): Int16Array | null
  /**
   * Returns the µ-law bytes of the frame pulled last, when its source provided them. A PCMU leg sends them unchanged.
   */
  ulaw?(): Uint8Array | null
  push(frame: AudioFrame): void
  /** Replaces `push` while the far end has put us on hold: the audio may be hold music, never the caller's speech. */
  held?(frame: AudioFrame): void
  /** One key press of the far end: `0-9*#A-D`. `inSound`: the pushed frames contained its tones. */
  dtmf(digit: string, inSound?: boolean): void
  /** Text that the far end typed. */
  text?(text: string): void
}

export interface LegEnd {
  by: 'remote' | 'local' | 'network'
  reason: EndedReason
  /** When the far end was last known to be there, if that was earlier than now. */
  atMs?: number
}

/** Live updates for a far end that has a screen. */
export type DisplayUpdate =
  /** Values of LiveKit's `lk.agent.state`. */
  | { type: 'state'; state: 'listening' | 'thinking' | 'speaking' }
  /** Text of a turn so far; an update with the same `segment` replaces it. The agent's text is what was played. */
  | { type: 'words'; who: 'caller' | 'agent'; segment: string; text: string; final: boolean }

/**
 * One connected end of the call with two-way audio. Whoever opened it must call `hangup`; a second hangup is a no-op.
 */
export interface Leg {
  kind: 'sip' | 'room'
  /** Sample rate in Hz of the PCM that crosses `LegSink`. */
  sampleRate: number
  /** Starts audio in both directions; call it once. */
  attach(sink: LegSink): void
  /** Settles once, whichever side ended the leg. */
  ended: Promise<LegEnd>
  hangup(reason: EndedReason): Promise<void>
  /** Sends DTMF keys (`0-9*#A-D`; `,` pauses half a second) and settles after the last. Absent when the leg cannot. */
  sendDtmf?(keys: string): Promise<void>
  /**
   * Asks the far end's side to connect it to `to`, or to the far end of `consulted` (attended transfer). On success the
   * leg ends as `transferred`. Absent when the leg cannot transfer.
   */
  transfer?(to: string, consulted?: Leg): Promise<TransferResult>
  /** Trunk line for dialling a second leg. Absent when none can be dialled. */
  line?: TrunkLine
  /** Sends a live update to the far end's screen. Absent when it has none. */
  show?(shown: DisplayUpdate): void
  stats(): MediaStats
}

/** The trunk line that a leg uses. */
export interface TrunkLine {
  trunkId: string
  /** Our number in this call. */
  number: string
  transfer: TrunkPlan['transfer']
  /** True when the trunk limits its concurrent calls. */
  limited?: boolean
}

/**
 * `refused`: the carrier rejects this transfer or all of them, so a second leg of ours may reach the target. `failed`:
 * the carrier tried and the target did not answer. `unknown`: the carrier accepted the request and never reported the
 * result. `invalid`: the target cannot be dialled. `busy`: another transfer is in progress. `gone`: the call has ended.
 */
export type TransferFailure = 'refused' | 'failed' | 'unknown' | 'invalid' | 'busy' | 'gone'

/** `reason` is text for the language model. */
export type TransferResult = { ok: true } | { ok: false; code: TransferFailure; reason: string }
