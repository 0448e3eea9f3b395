/** Types of the streamed call events. */
import type { Schemas } from '../api/types.ts'
import type { Latency, ToolCall, Turn } from './story.ts'

export type MonitorMode = Schemas['MonitorSession']['mode']

export type CallEvent =
  | { type: 'call.dialing' | 'call.ringing' | 'call.started' | 'call.closing' }
  | { type: 'call.ended'; status: Schemas['Call']['status']; ended_reason: Schemas['Call']['ended_reason'] }
  | { type: 'turn.finished'; turn: Turn; latency: Latency | null }
  | { type: 'tool.started'; name: string }
  | { type: 'tool.finished'; tool: ToolCall }
  | { type: 'monitor.joined' | 'monitor.changed'; monitor_id: string; mode: MonitorMode }
  | { type: 'monitor.left'; monitor_id: string }
  | { type: 'monitor.whispered'; monitor_id: string; text: string }
  | { type: 'transfer.waiting' | 'transfer.started'; name: string }
  | { type: 'transfer.settled'; name: string; accepted: boolean }

export const eventsOf = (callId: string) => `/v1/public/calls/${callId}/events`
