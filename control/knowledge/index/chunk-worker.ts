/** A thread that splits pages which would block the process for seconds; see chunk-aside.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import type { ExtractedPage } from '../documents/types.ts'
import { chunkPages } from './chunk.ts'

parentPort!.postMessage(chunkPages(workerData as ExtractedPage[]))
