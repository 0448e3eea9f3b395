/** What all our processes do alike: say ready in one line, end on a signal in order, end loudly on a bug. */

export interface Running {
  ready: Record<string, unknown>
  /** How long the end may take beyond what it takes anyway. */
  drainMs?: number
  stop(): Promise<void>
}

const STOP_MS = 15_000

/** `start` is told of a hurry: somebody asked a second time, or nobody is left whom it would help to wait. */
export async function runUntilStopped(name: string, start: (hurry: AbortSignal) => Promise<Running>): Promise<void> {
  const hurry = new AbortController()
  let running: Running
  try {
    running = await start(hurry.signal)
  } catch (error) {
    console.error(`${name} cannot start: ${error instanceof Error ? error.message : String(error)}`)
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
  // A state nobody foresaw: what the supervisor starts anew is sound, what goes on here may not be.
  process.on('uncaughtException', error => {
    console.error(`${name} failed:`, error)
    process.exit(70)
  })
  process.stdout.write(`${JSON.stringify({ ready: true, ...running.ready })}\n`)
  orphaned(() => stop({ now: true }))
}

/** The supervisor was killed: nobody is left to stop us. */
function orphaned(then: () => void): void {
  const parent = process.ppid
  const look = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(look)
    then()
  }, 1000).unref()
}
