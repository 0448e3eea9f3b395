/**
 * How much work something is, as CPU time of this thread: unlike the clock it does not tell of what else the machine did
 * meanwhile, so that bounds on it hold on a loaded one too.
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

/** Of all that this thread does until then, the work of others in it too. */
export async function effortUntil(done: Promise<unknown>): Promise<number> {
  const from = cpuMs()
  await done
  return cpuMs() - from
}

/** The longest work of the loop without a pause for others, until then. */
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
