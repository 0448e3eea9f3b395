/** Nothing of a run outlives it, however it ends: neither processes nor files. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { descendantsOf, signalEach } from '../support/processes.ts'

/** From now on temporary files have a folder of their own, which goes with the process; so do its children and theirs. */
export function cleanUpAtExit(): void {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  chmodSync(folder, 0o755) // Postgres runs as somebody else
  process.env.TMPDIR = folder
  process.once('exit', () => {
    signalEach(descendantsOf(process.pid), 'SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
}
