/** LiveKit rooms, as the engine uses them. */

import type { CallPlan } from '../contract/plan.ts'
import type { Log } from '../shared/log.ts'
import type { DialResult } from './dialer.ts'
import type { AudioFrame } from './leg.ts'

/** How the engine gets into a room. */
export interface RoomSeat {
  /** `ws:` or `wss:`. */
  url: string
  token: string
}

/** Legs and other seats in LiveKit rooms. */
export interface Rooms {
  /** The leg of a web call, whose caller waits in the plan's room. Never throws. */
  join(options: { plan: CallPlan; token: string; signal: AbortSignal }): Promise<DialResult>
  /** Rejects when the room can't be had. */
  openMonitor(options: MonitorRoomOptions): Promise<MonitorRoom>
}

export interface MonitorRoomOptions {
  seat: RoomSeat
  /** Of the sound both ways, in Hz. */
  sampleRate: number
  log: Log
  /** Abort gives up joining. */
  signal?: AbortSignal
  onJoined(identity: string): void
  onLeft(identity: string): void
  onSound(identity: string, frame: AudioFrame): void
  /** Typed, not said. */
  onText(identity: string, text: string): void
  /** The room is lost; no more events come. */
  onClosed(): void
}

/** Where operators hear a live call and are heard. */
export interface MonitorRoom {
  /** Who is there already. */
  identities(): string[]
  /** 20 ms for them to hear; null is silence. */
  play(pcm: Int16Array | null): void
  close(): Promise<void>
}
