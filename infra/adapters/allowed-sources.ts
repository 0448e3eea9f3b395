/** Writes the file of allowed sources for the embedded SIP server, which watches the file's directory. */
import { renameSync, writeFileSync } from 'node:fs'

/** Programs on this machine always get an answer, if only a refusal. */
const LOOPBACK = ['127.0.0.0/8', '::1/128']

/** Writes the file atomically, because the server may read it at any moment. Its lines are those of `allowList`. */
export function writeAllowedSources(file: string, lines: readonly string[]): void {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${[...LOOPBACK, ...lines].join('\n')}\n`)
  renameSync(draft, file)
}
