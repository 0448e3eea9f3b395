/** Reduces the events of a call to its current state. Pure. */
import type { Schemas } from '../api/types.ts'
import type { CallEvent, MonitorMode } from '../conversation/events.ts'
import { type Line, withToolFinished, withToolStarted, withTurn, withWhisper } from '../conversation/story.ts'

export interface Story {
  lines: readonly Line[]
  /** Null until the first event. */
  status: Schemas['Call']['status'] | null
  /** The conversation has ended and the record is being stored. */
  isClosing: boolean
  /** Modes of everyone who monitors the call, by monitor ID. */
  modes: Readonly<Record<string, MonitorMode>>
  /** Name of a browser transfer that waits for an operator; null if none. */
  wanted: string | null
}

export const untold: Story = { lines: [], status: null, isClosing: false, modes: {}, wanted: null }

export const told = [
  ...['call.dialing', 'call.ringing', 'call.started', 'call.closing', 'call.ended'],
  ...['turn.finished', 'tool.started', 'tool.finished'],
  ...['monitor.joined', 'monitor.changed', 'monitor.left', 'monitor.whispered'],
  ...['transfer.waiting', 'transfer.settled', 'transfer.started'],
] as CallEvent['type'][]

export function retell(story: Story, event: CallEvent): Story {
  const { lines } = story
  switch (event.type) {
    case 'call.dialing':
      return { ...story, status: 'dialing' }
    case 'call.ringing':
      return { ...story, status: 'ringing' }
    case 'call.started':
      return { ...story, status: 'in_progress' }
    case 'call.closing':
      return { ...story, isClosing: true, wanted: null }
    case 'call.ended':
      return { ...story, isClosing: true, wanted: null, status: event.status }
    case 'turn.finished':
      return { ...story, lines: withTurn(lines, event.turn, event.latency) }
    case 'tool.started':
      return {
        ...story,
        lines: withToolStarted(lines, event.name, lines.filter(({ kind }) => kind === 'tool').length + 1),
      }
    case 'tool.finished':
      return { ...story, lines: withToolFinished(lines, event.tool) }
    case 'monitor.joined':
    case 'monitor.changed':
      return { ...story, modes: { ...story.modes, [event.monitor_id]: event.mode } }
    case 'monitor.left':
      return { ...story, modes: without(story.modes, event.monitor_id) }
    case 'monitor.whispered':
      return { ...story, lines: withWhisper(lines, event.text) }
    case 'transfer.waiting':
      return { ...story, wanted: event.name }
    case 'transfer.settled':
    case 'transfer.started':
      return { ...story, wanted: null }
  }
}

const without = <T>(record: Readonly<Record<string, T>>, key: string) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name !== key))
