/**
 * Elects the control process that paces the campaigns, with an advisory lock in Postgres, which a dead process
 * releases.
 */
import { connectAlone, type Sql } from '../../platform/db/connect.ts'

/** Any number that nothing else locks. */
const LOCK = 727_276

export interface Leadership {
  /** False when another process holds the lock. */
  take(): Promise<boolean>
  /**
   * False when the session that took the lock is gone. The driver may have opened another one since, which holds
   * nothing.
   */
  isHeld(): Promise<boolean>
  /** Releases the lock. */
  close(): Promise<void>
}

export function createLeadership(sql: Sql): Leadership {
  // Not a reserved connection of the pool: with those the driver (postgres 3.4) crashes the process when the server
  // closes them.
  const session = connectAlone(sql)
  let leader: number | null = null
  return {
    async take() {
      const [row] = await session<{ mine: boolean; pid: number }[]>`
        select pg_try_advisory_lock(${LOCK}) as mine, pg_backend_pid() as pid`
      leader = row!.mine ? row!.pid : null
      return row!.mine
    },
    async isHeld() {
      const [row] = await session<{ pid: number }[]>`select pg_backend_pid() as pid`
      return row!.pid === leader
    },
    close: () => session.end({ timeout: 1 }),
  }
}
