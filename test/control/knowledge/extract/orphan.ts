/** A process that has a long document read by an extractor, and prints the PID of the extractor. */
import type { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { createExtractor } from '../../../../infra/adapters/extractor.ts'

subscribe('child_process', message => {
  const { process: worker } = message as { process: ChildProcess }
  worker.once('message', () => process.stdout.write(`${worker.pid}\n`)) // it is ready
})
const body = Buffer.from('<i></i>'.repeat(740_000))
await createExtractor().extract(
  { kind: 'html', body, url: 'https://x.example/', charset: null },
  new AbortController().signal,
)
