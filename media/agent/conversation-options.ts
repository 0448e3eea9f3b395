/** Parts and callbacks that a conversation gets from its call, whichever model it runs on. */
import type { CallEventBody, EndedReason } from '../contract/messages.ts'
import type { CallPlan, PlanSecrets } from '../contract/plan.ts'
import type { DisplayUpdate } from '../ports/leg.ts'
import type { Llm } from '../ports/llm.ts'
import type { RealtimeModel } from '../ports/realtime-model.ts'
import type { Stt, Tts, Vad } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Fetch } from '../shared/fetch.ts'
import type { Log } from '../shared/log.ts'
import type { Briefing } from './briefing.ts'
import type { Disclosure } from './disclosure.ts'
import type { Abilities } from './own-tools.ts'
import type { Subtitles } from './subtitles.ts'
import type { CallTranscript } from './transcript.ts'

export interface ConversationOptions {
  plan: CallPlan
  secrets: PlanSecrets
  sampleRate: number
  clock: Clock
  log: Log
  vad: Vad
  stt: Stt
  tts: Tts
  llm: Llm
  fetch: Fetch
  abilities: Abilities
  emit(body: CallEventBody): void
  /** Called after the agent's last word. */
  onHangup(reason: EndedReason): void
  /** Sends live updates to a far end with a screen. */
  show?(shown: DisplayUpdate): void
  /** State of this call's conversation that another agent had begun. */
  continues?: {
    transcript: CallTranscript
    briefing: Briefing
    answeredMs: number
    disclosure: Disclosure
    subtitles: Subtitles
  }
}

export type RealtimeConversationOptions = Omit<ConversationOptions, 'continues'> & { realtime: RealtimeModel }
