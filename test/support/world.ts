/** Time and logs for tests. */
import type { Clock } from '../../media/shared/clock.ts'
import type { Log } from '../../media/shared/log.ts'

export const quietLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => quietLog }

export interface LogLine {
  level: string
  fields: Record<string, unknown>
  message: string
}

export function recordingLog(): Log & { lines: LogLine[] } {
  const lines: LogLine[] = []
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: fields as Record<string, unknown>, message })
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), lines, child: () => log }
  return log
}

/** Real timers on a clock that can be shifted: `advance` changes what `now` and `wall` return. */
export interface TestClock extends Clock {
  advance(ms: number): void
}

export function testClock(): TestClock {
  let shift = 0
  return {
    now: () => performance.now() + shift,
    wall: () => Date.now() + shift,
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    advance(ms) {
      shift += ms
    },
  }
}

/**
 * Factor by which every timeout is extended: other work on the machine must not fail a test, and only a failing test
 * waits that long.
 */
export const PATIENCE = 3

/** Polls a condition that has no event, for work of another process or the job queue. */
export async function until<T>(
  look: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  what = 'condition',
  ms = 10_000,
): Promise<T> {
  const deadline = performance.now() + ms * PATIENCE
  for (;;) {
    const found = await look()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`waited ${ms * PATIENCE} ms for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 15))
  }
}
