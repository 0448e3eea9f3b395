/** CPU time of another process. */
import { readFileSync } from 'node:fs'

/** `USER_HZ`, which is 100 on every Linux that Node runs on. */
const MS_A_TICK = 10
/** Fields of /proc/PID/stat after the name in parentheses (proc(5)): utime and stime are the 14th and 15th of all. */
const UTIME = 11
const STIME = 12

/** Milliseconds of CPU time of a process with its threads; null when it is gone, or this is not Linux. */
export function cpuTimeOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[UTIME]) + Number(fields[STIME])) * MS_A_TICK
  } catch {
    return null
  }
}
