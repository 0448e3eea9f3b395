/**
 * A process that reads one document and exits, so that nothing of a document can affect the next. The document comes on
 * standard input. The process may read no file but its own code, and has neither the environment nor a shell (see
 * infra/adapters/extractor.ts).
 */
import { Worker } from 'node:worker_threads'
import { type Block, KnowledgeError } from '../documents/types.ts'
import { type ExtractJob, extract } from './extract.ts'
import type { FromWorker } from './worker-messages.ts'

/** The job comes from our own process and is not validated: zod alone would take as long to load as everything else. */
export interface WorkerJob extends ExtractJob {
  /** Limit of resident memory of the whole process, in bytes. */
  memory_bytes: number
  parent_pid: number
}

/** Characters of one message. A single message of everything would be held in memory three times. */
const PART_CHARACTERS = 256 * 1024

const send = (message: FromWorker) =>
  new Promise<void>((resolve, reject) =>
    process.send!(message, (error: Error | null) => (error ? reject(error) : resolve())),
  )

async function run({ memory_bytes, parent_pid, ...job }: WorkerJob): Promise<void> {
  // The watchdog runs in its own thread, because this one is busy while memory grows.
  new Worker(new URL('./watchdog.ts', import.meta.url), { workerData: { memory_bytes, parent_pid } }).unref()
  try {
    const { blocks, ...rest } = await extract(await input(), job)
    for (const part of inParts(blocks)) await send({ type: 'blocks', blocks: part })
    await send({ type: 'done', ...rest })
  } catch (error) {
    if (!(error instanceof KnowledgeError)) throw error
    await send({ type: 'failed', code: error.code, message: error.message })
  }
}

async function input(): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of process.stdin) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

function* inParts(blocks: readonly Block[]): Generator<Block[]> {
  let part: Block[] = []
  let characters = 0
  for (const block of blocks) {
    part.push(block)
    characters += block.text.length
    if (characters < PART_CHARACTERS) continue
    yield part
    part = []
    characters = 0
  }
  if (part.length > 0) yield part
}

process.once('message', message =>
  run(message as WorkerJob).then(
    () => process.exit(0),
    () => process.exit(1),
  ),
)
await send({ type: 'ready' })
