/**
 * Measures work as CPU time of this thread, in milliseconds of a quiet core. CPU time excludes other processes, but it
 * still grows two- or threefold when they share the core's caches and its other hyper-thread. So a fixed piece of work
 * is measured beside it, and the result is divided by how much slower than usual that was.
 */
import { createHash } from 'node:crypto'

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const timed = (run: () => unknown): number => {
  const from = cpuMs()
  run()
  return cpuMs() - from
}

/** CPU milliseconds of `fixedWork` on a quiet core, measured on one machine with two (36 to 44). */
const FIXED_MS = 40
const text = 'a phrase of some words, '.repeat(2000)
function fixedWork(): void {
  for (let i = 0; i < 12; i++) {
    const words = text.replace(/[aeiou]/g, letter => letter.toUpperCase()).split(' ')
    createHash('sha256')
      .update(JSON.stringify(words.map((word, at) => ({ word, at }))))
      .digest()
  }
}
/** How many times slower than a quiet core this one works now; at least 1, so that a fast machine tightens no bound. */
const slowness = (): number => Math.max(1, timed(fixedWork) / FIXED_MS)

export function effortOf(run: () => unknown): number {
  const before = slowness()
  const ms = timed(run)
  return ms / Math.max(before, slowness())
}

/** Measures all work of this thread until `done`. */
export async function effortUntil(done: Promise<unknown>): Promise<number> {
  const from = cpuMs()
  await done
  const ms = cpuMs() - from
  return ms / slowness()
}

/** The longest time in which the event loop was blocked until `done`, in the same milliseconds. */
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
  return worst / slowness()
}
