/** Compares two runs of a call. Pure. */
import type { CallEventBody } from '../contract/messages.ts'

export interface Difference {
  /** Number of the turn or tool, from 1. */
  step: number
  before: string | null
  after: string | null
}

/** Lists the differences that people would notice: words, tools and the end; not milliseconds. */
export function differences(before: readonly CallEventBody[], after: readonly CallEventBody[]): Difference[] {
  const [a, b] = [steps(before), steps(after)]
  const found: Difference[] = []
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    if (a[i] !== b[i]) found.push({ step: i + 1, before: a[i] ?? null, after: b[i] ?? null })
  }
  return found
}

function steps(events: readonly CallEventBody[]): string[] {
  return events.flatMap(event => {
    switch (event.type) {
      case 'turn.finished': {
        const { role, text, heard_text, interrupted } = event.turn
        return [`${role}: ${interrupted ? `${heard_text} —` : text}`]
      }
      case 'tool.finished':
        return [`tool ${event.tool.name} ${JSON.stringify(event.tool.arguments)}: ${event.tool.status}`]
      case 'filler.spoken':
        return [`filler: ${event.text}`]
      default:
        return []
    }
  })
}
