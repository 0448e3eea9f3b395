/** Deletes processes and files of a run, however it ends. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { descendantsOf, signalEach } from '../support/processes.ts'

/**
 * Gives temporary files their own directory from now on, which is deleted with the process, its children and theirs.
 */
export function cleanUpAtExit(): void {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  chmodSync(folder, 0o755) // Postgres runs as another user
  process.env.TMPDIR = folder
  process.once('exit', () => {
    signalEach(descendantsOf(process.pid), 'SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
}
