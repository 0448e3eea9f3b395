/** The file from which the embedded SIP server knows whom to answer; it watches the file's folder. */
import { renameSync, writeFileSync } from 'node:fs'

/** Programs on this machine are answered, if only with a refusal. */
const LOOPBACK = ['127.0.0.0/8', '::1/128']

/** Whole or not at all: the server may read at any moment. */
export function writeAllowedSources(file: string, cidrs: readonly string[]): void {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${[...LOOPBACK, ...cidrs].join('\n')}\n`)
  renameSync(draft, file)
}
