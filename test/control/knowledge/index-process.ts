/** A process that indexes, for tests that kill it: it prints its progress to standard output, and then hangs. */

import type { Deps } from '../../../control/deps.ts'
import { createIndexer } from '../../../control/knowledge/indexing.ts'
import { connect } from '../../../control/platform/db/connect.ts'
import { createBoss, startWorkers } from '../../../control/platform/jobs/jobs.ts'
import { createFolderBlobs } from '../../../infra/adapters/blobs.ts'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createExtractor } from '../../../infra/adapters/extractor.ts'
import { quietLog } from '../../support/world.ts'
import { fakeEmbedder, fakeExtractor, hang, onlyIndexing } from './rig.ts'

export interface IndexProcess {
  databaseUrl: string
  blobs: string
  temp: string
  /** Step that hangs: during extraction, or after some of the vectors are stored. */
  hangs: 'extracting' | 'embedding'
}

const { databaseUrl, blobs, temp, hangs } = JSON.parse(process.argv[2]!) as IndexProcess
const boss = createBoss({ url: databaseUrl, max: 2, log: quietLog, supervise: false })
await boss.start()
const say = (what: string) => process.stdout.write(`${what}\n`)
let batches = 0
const embedder = fakeEmbedder(async (_, signal) => {
  if (++batches === 1) return
  say('embedding')
  await hang(signal)
})
const real = createExtractor()
const extractor = fakeExtractor(async (input, signal) => {
  if (hangs === 'embedding') return real.extract(input, signal)
  say('extracting')
  return hang(signal)
})
const deps = {
  sql: connect({ url: databaseUrl, max: 2 }),
  boss,
  blobs: createFolderBlobs(blobs),
  clock: systemClock,
  log: quietLog,
  knowledge: { extractor, embedder, vectors: null, temp },
} as unknown as Deps
const indexer = createIndexer(deps)
await startWorkers(
  deps,
  onlyIndexing(job => indexer.run(job)),
)
say('ready')
