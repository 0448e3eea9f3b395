/** What a call is given of the world. */
import type { EngineBus } from '../bus/engine-bus.ts'
import type { ProviderSwitch } from '../contract/messages.ts'
import type { CallPlan, PlanSecrets } from '../contract/plan.ts'
import type { Sealer } from '../contract/seal.ts'
import type { CallTraces, Dialer } from '../ports/dialer.ts'
import type { Llm } from '../ports/llm.ts'
import type { RealtimeModel } from '../ports/realtime-model.ts'
import type { Recorder } from '../ports/recording.ts'
import type { Rooms } from '../ports/rooms.ts'
import type { Stt, Tts, Vad } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Fetch } from '../shared/fetch.ts'
import type { Log } from '../shared/log.ts'
import type { Tracing } from '../shared/tracing.ts'

/** Tells of a vendor that failed and of the one that takes its place; for the record of the call. */
export type OnSwitch = (change: ProviderSwitch) => void

/** Where what crosses the edges of a call is kept for a replay. */
export interface EdgeLog {
  open(callId: string): { write(line: string): void; close(): void }
}

export interface CallDeps {
  bus: EngineBus
  sealer: Sealer
  dialer: Dialer
  /** Without it no call has a SIP trace. */
  traces?: CallTraces
  /** Spans of each call. Left out: nothing is traced. */
  tracing?: Tracing
  /** Without LiveKit there are no web calls, and nobody can follow a call. */
  rooms?: Rooms
  clock: Clock
  log: Log
  vad: Vad
  /** Ears, voice and text model of this plan; their keys come from its sealed part. */
  sttFor(plan: CallPlan, secrets: PlanSecrets, onSwitch: OnSwitch): Stt
  ttsFor(plan: CallPlan, secrets: PlanSecrets, onSwitch: OnSwitch): Tts
  llmFor(plan: CallPlan, secrets: PlanSecrets, onSwitch: OnSwitch): Llm
  /** Where the plan's language model hears and speaks itself. */
  realtimeFor?(plan: CallPlan, secrets: PlanSecrets): RealtimeModel | null
  fetch: Fetch
  /** Without one nothing is recorded. */
  recorder?: Recorder
  edgeLog?: EdgeLog
}
