/** Dependencies of a call. */
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

/** Reports a vendor that failed and the one that replaces it, for the record of the call. */
export type OnSwitch = (change: ProviderSwitch) => void

/** Stores the inputs and outputs of a conversation for replay. */
export interface ReplayLog {
  open(callId: string): { write(line: string): void; close(): void }
}

export interface CallDeps {
  bus: EngineBus
  sealer: Sealer
  dialer: Dialer
  /** SIP traces of calls; without it records contain none. */
  traces?: CallTraces
  /** Spans of each call; without it nothing is traced. */
  tracing?: Tracing
  /** LiveKit rooms; without them there are no web calls and no monitoring. */
  rooms?: Rooms
  clock: Clock
  log: Log
  vad: Vad
  /** STT, TTS and text model of the plan; their API keys come from its sealed part. */
  sttFor(plan: CallPlan, secrets: PlanSecrets, onSwitch: OnSwitch): Stt
  ttsFor(plan: CallPlan, secrets: PlanSecrets, onSwitch: OnSwitch): Tts
  llmFor(plan: CallPlan, secrets: PlanSecrets, onSwitch: OnSwitch): Llm
  /** Speech-to-speech model, when the plan's `llm` is one; otherwise null. */
  realtimeFor?(plan: CallPlan, secrets: PlanSecrets): RealtimeModel | null
  fetch: Fetch
  /** Without it nothing is recorded. */
  recorder?: Recorder
  replayLog?: ReplayLog
}
