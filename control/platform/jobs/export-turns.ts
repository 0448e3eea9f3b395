/** Turns of owners at exports: one turn reads and formats one page of rows, and a slow reader holds none. */
import { FairTurns, OwnerUsage } from './fair-turns.ts'

/** Pages that this process reads at the same time; the database has other work, too. */
const AT_ONCE = 2
const clock = { now: () => performance.now() }
const turns = new WeakMap<object, FairTurns>()
const never = new AbortController().signal

/** Runs `work` when it is the owner's turn. Exports through the same `sql` share their turns. */
export function exportTurn<T>({ sql }: { sql: object }, owner: string, work: () => Promise<T>): Promise<T> {
  const mine = turns.get(sql) ?? new FairTurns({ atOnce: AT_ONCE, usage: new OwnerUsage(clock), clock })
  turns.set(sql, mine)
  return mine.run({ owner }, never, work)
}
