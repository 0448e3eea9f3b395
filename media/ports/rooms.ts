/** Port for LiveKit rooms. */

import type { CallPlan } from '../contract/plan.ts'
import type { Log } from '../shared/log.ts'
import type { DialResult } from './dialer.ts'
import type { AudioFrame } from './leg.ts'

/** Credentials for joining a room. */
export interface RoomAccess {
  /** `ws:` or `wss:`. */
  url: string
  token: string
}

/** Joins LiveKit rooms as a call leg or for monitoring. */
export interface Rooms {
  /** Joins the plan's room, where the caller of a web call waits. Never throws. */
  join(options: { plan: CallPlan; token: string; signal: AbortSignal }): Promise<DialResult>
  /** Rejects when the room cannot be joined. */
  openMonitor(options: MonitorRoomOptions): Promise<MonitorRoom>
}

export interface MonitorRoomOptions {
  seat: RoomAccess
  /** Sample rate in Hz of the audio in both directions. */
  sampleRate: number
  log: Log
  /** Abort stops joining. */
  signal?: AbortSignal
  onJoined(identity: string): void
  onLeft(identity: string): void
  onSound(identity: string, frame: AudioFrame): void
  /** Text that a participant typed. */
  onText(identity: string, text: string): void
  /** The room is lost; no more events follow. */
  onClosed(): void
}

/** The room in which operators listen to a live call and speak to it. */
export interface MonitorRoom {
  /** Identities of the participants present. */
  identities(): string[]
  /** Plays 20 ms to the operators; null is silence. */
  play(pcm: Int16Array | null): void
  close(): Promise<void>
}
