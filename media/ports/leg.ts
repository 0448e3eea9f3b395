/**
 * One end of a call. Audio is 16-bit linear PCM, mono. Times named `ms` are milliseconds of the injected monotonic clock
 * unless their name says otherwise.
 */
import type { EndedReason, MediaStats } from '../contract/messages.ts'
import type { TrunkPlan } from '../contract/plan.ts'

/** 20 ms of what the far end said. */
export interface AudioFrame {
  pcm: Int16Array
  /** The same as µ-law bytes, where the leg speaks µ-law: as they came. */
  ulaw?: Uint8Array
  /** When its packet came off the wire. */
  atMs: number
  /** True when this is made up: its packet was lost, or none was sent because the far end is silent. */
  concealed: boolean
}

/** The call's side of a leg: the leg pulls a frame every 20 ms and pushes what it hears. */
export interface LegSink {
  /** Exactly 20 ms at the leg's rate, or null for silence. `atMs`: when it goes on the wire. */
  pull(atMs: number): Int16Array | null
  /** µ-law bytes of the frame pulled last, where its maker gave them: a leg that speaks µ-law sends them untouched. */
  ulaw?(): Uint8Array | null
  push(frame: AudioFrame): void
  /** In place of `push` while the far end has put us on hold: its music, if any, and nobody's words. */
  held?(frame: AudioFrame): void
  /** A key of the far end, once a press: `0-9*#A-D`. `inSound`: its tones were in the frames that were pushed. */
  dtmf(digit: string, inSound?: boolean): void
  /** Words of the far end that were typed, not said. */
  text?(text: string): void
}

export interface LegEnd {
  by: 'remote' | 'local' | 'network'
  reason: EndedReason
  /** When the far end was last there, where that is longer ago. */
  atMs?: number
}

/** What a leg with a screen at its far end may show of the conversation while it goes on. */
export type Shown =
  /** As LiveKit names them in `lk.agent.state`. */
  | { type: 'state'; state: 'listening' | 'thinking' | 'speaking' }
  /** The words of a turn so far; the same `segment` again replaces them. Of the agent: those that were heard. */
  | { type: 'words'; who: 'caller' | 'agent'; segment: string; text: string; final: boolean }

/** One end of the call, connected, sound both ways. Who opened it must `hangup` it; a second hangup is a no-op. */
export interface Leg {
  readonly kind: 'sip' | 'room'
  /** Of the PCM that crosses `LegSink`, in Hz. */
  readonly sampleRate: number
  /** Starts sound in both directions; once. */
  attach(sink: LegSink): void
  /** Settles once, whoever ended it. */
  readonly ended: Promise<LegEnd>
  hangup(reason: EndedReason): Promise<void>
  /** Presses keys (`0-9*#A-D`, `,` waits half a second); settles when the last was sent. Absent: it can't. */
  sendDtmf?(keys: string): Promise<void>
  /**
   * Has the far end's side connect it to somebody else, or to who `consulted` leads to; the leg ends as `transferred` when
   * that worked. Absent: it can't.
   */
  transfer?(to: string, consulted?: Leg): Promise<TransferResult>
  /** From where a second leg may be dialled to. Absent: from nowhere. */
  readonly line?: Line
  /** Absent: nobody looks. */
  show?(shown: Shown): void
  stats(): MediaStats
}

/** The trunk that a leg runs over. */
export interface Line {
  trunkId: string
  /** Ours in this call. */
  number: string
  transfer: TrunkPlan['transfer']
  /** It takes so many calls at once, and no more. */
  limited?: boolean
}

/**
 * `refused`: the carrier does no transfers, or not this one, so a second leg of ours may reach who is asked for; `failed`:
 * the carrier tried, and who is asked for did not answer; `unknown`: it took the order and never said what came of it;
 * `invalid`: that is nobody who can be called; `busy`: one at a time; `gone`: the call is over.
 */
export type TransferFailure = 'refused' | 'failed' | 'unknown' | 'invalid' | 'busy' | 'gone'

/** `reason`: words for the model. */
export type TransferResult = { ok: true } | { ok: false; code: TransferFailure; reason: string }
