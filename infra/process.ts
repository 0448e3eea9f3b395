/** What all our processes do alike: say ready in one line, end on a signal in order, end loudly on a bug. */

export interface Running {
  ready: Record<string, unknown>
  stop(): Promise<void>
}

const STOP_MS = 15_000

export async function runUntilStopped(name: string, start: () => Promise<Running>): Promise<void> {
  let running: Running
  try {
    running = await start()
  } catch (error) {
    console.error(`${name} cannot start: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  }
  let stopping = false
  const stop = (code: number) => {
    if (stopping) return
    stopping = true
    setTimeout(() => process.exit(code || 1), STOP_MS).unref()
    running.stop().then(
      () => process.exit(code),
      error => {
        console.error(`${name} did not stop cleanly: ${error}`)
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(0))
  // A state nobody foresaw: what the supervisor starts anew is sound, what goes on here may not be.
  process.on('uncaughtException', error => {
    console.error(`${name} failed:`, error)
    process.exit(70)
  })
  process.stdout.write(`${JSON.stringify({ ready: true, ...running.ready })}\n`)
  orphaned(() => stop(0))
}

/** The supervisor was killed: nobody is left to stop us. */
function orphaned(then: () => void): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) then()
  }, 1000).unref()
}
