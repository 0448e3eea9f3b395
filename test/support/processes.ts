/** Linux processes and their descendants, from /proc: Node does not track grandchildren. */
import { readdirSync, readFileSync } from 'node:fs'

export function descendantsOf(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter(entry => /^\d+$/.test(entry))) {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
      parents.set(Number(name), Number(fields[1]))
    } catch {} // it exited meanwhile
  }
  const found = [pid]
  for (const one of found) for (const [child, parent] of parents) if (parent === one) found.push(child)
  return found.slice(1)
}

/** Signals a process and all its descendants. */
export const signalAll = (pid: number, signal: NodeJS.Signals): void => signalEach([pid, ...descendantsOf(pid)], signal)

/** Ignores processes that have exited. */
export function signalEach(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {}
  }
}
