/** Which of the control processes paces the campaigns: an advisory lock in Postgres, which a dead process lets go of. */
import { connectAlone, type Sql } from '../../platform/db/connect.ts'

/** Any number that nothing else locks. */
const LOCK = 727_276

export interface Leadership {
  /** False: another process has it. */
  take(): Promise<boolean>
  /** False when the session that took it is gone; the driver may have made another one meanwhile, which holds nothing. */
  isHeld(): Promise<boolean>
  /** Gives it up. */
  close(): Promise<void>
}

export function createLeadership(sql: Sql): Leadership {
  // Not a reserved one of the pool: of those the driver (postgres 3.4) crashes the process when the server hangs up.
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
