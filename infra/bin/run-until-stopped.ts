/**
 * The life cycle of every process: reports ready in one line, stops in order on a signal, and exits loudly on a bug.
 */

export interface Running {
  ready: Record<string, unknown>
  /** Milliseconds that stopping may take in addition to the usual limit. */
  drainMs?: number
  stop(): Promise<void>
}

const STOP_MS = 15_000

/**
 * `start` receives a signal that aborts when stopping must be fast: a second stop was requested, or the supervisor is
 * gone.
 */
export async function runUntilStopped(name: string, start: (hurry: AbortSignal) => Promise<Running>): Promise<void> {
  const hurry = new AbortController()
  let running: Running
  try {
    running = await start(hurry.signal)
  } catch (error) {
    console.error(`${name} failed to start: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  }
  let stopping = false
  const exitAfter = (ms: number) => void setTimeout(() => process.exit(1), ms).unref()
  const stop = (how: { now: boolean }) => {
    if (how.now || stopping) {
      hurry.abort()
      exitAfter(STOP_MS)
    }
    if (stopping) return
    stopping = true
    exitAfter(STOP_MS + (running.drainMs ?? 0))
    running.stop().then(
      () => process.exit(0),
      error => {
        console.error(`${name} did not stop cleanly: ${error}`)
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop({ now: false }))
  // An unforeseen state: a restarted process is sound, this one may not be.
  process.on('uncaughtException', error => {
    console.error(`${name} failed:`, error)
    process.exit(70)
  })
  process.stdout.write(`${JSON.stringify({ ready: true, ...running.ready })}\n`)
  orphaned(() => stop({ now: true }))
}

/** Runs `then` when the supervisor was killed, so that nobody is left to stop this process. */
function orphaned(then: () => void): void {
  const parent = process.ppid
  const look = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(look)
    then()
  }, 1000).unref()
}
