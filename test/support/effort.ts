/**
 * Measures work as CPU time of this thread. Unlike wall-clock time it excludes other processes, so that bounds hold on
 * a loaded machine too.
 */

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

export function effortOf(run: () => unknown): number {
  const from = cpuMs()
  run()
  return cpuMs() - from
}

/** CPU time of this thread until `done`, including other work on the thread. */
export async function effortUntil(done: Promise<unknown>): Promise<number> {
  const from = cpuMs()
  await done
  return cpuMs() - from
}

/** The longest time in which the event loop was blocked until `done`. */
export async function longestWork(done: Promise<unknown>): Promise<number> {
  let worst = 0
  let before = cpuMs()
  let running = true
  const look = () => {
    const now = cpuMs()
    worst = Math.max(worst, now - before)
    before = now
    if (running) setImmediate(look)
  }
  setImmediate(look)
  await done
  running = false
  return worst
}
