/** Port for call recording. */

import type { RecordingInfo } from '../contract/messages.ts'
import type { Log } from '../shared/log.ts'
import type { AudioFrame } from './leg.ts'

/** Records the audio of calls. A recording error never ends the call. */
export interface Recorder {
  /** `startedMs`: time of the first sample, on the monotonic clock. */
  start(call: { callId: string; ownerId: string; sampleRate: number; startedMs: number; log: Log }): Recording
}

export interface Recording {
  caller(frame: AudioFrame): void
  /** Records the frame pulled for the wire; null is silence. */
  agent(pcm: Int16Array | null, atMs: number): void
  /** Ends the recording. Null when there is none, or when storing takes longer; a later event then reports it. */
  finish(): Promise<RecordingInfo | null>
}
