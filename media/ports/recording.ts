/** Call recording. */

import type { RecordingInfo } from '../contract/messages.ts'
import type { Log } from '../shared/log.ts'
import type { AudioFrame } from './leg.ts'

/** Keeps the sound of calls. Whatever goes wrong with it, the call goes on. */
export interface Recorder {
  /** `startedMs`: of its first sample. */
  start(call: { callId: string; ownerId: string; sampleRate: number; startedMs: number; log: Log }): Recording
}

export interface Recording {
  caller(frame: AudioFrame): void
  /** What was pulled for the wire; null is silence. */
  agent(pcm: Int16Array | null, atMs: number): void
  /** Ends it now. Null: there is none, or it takes longer to store; then it is told when it is ready. */
  finish(): Promise<RecordingInfo | null>
}
