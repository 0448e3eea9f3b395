/** A thread that holds the vectors and compares them with queries, so that the main thread is never blocked. */
import { parentPort, workerData } from 'node:worker_threads'
import { createMatrix, type Hit } from './matrix.ts'

export type VectorCommand =
  | { do: 'add'; project: string; dimensions: number; source: number; ordinals: number[]; vectors: Uint8Array }
  | { do: 'drop'; project: string; source: number }
  | { do: 'forget'; project: string }
  | { do: 'search'; id: number; project: string; query: Uint8Array; limit: number }

export type VectorAnswer = { id: number; hits: Hit[] } | { full: string }

export interface VectorWorkerData {
  mostBytes: number
}

const matrix = await createMatrix((workerData as VectorWorkerData).mostBytes)
const port = parentPort!
port.on('message', (command: VectorCommand) => {
  switch (command.do) {
    case 'add': {
      const { project, dimensions, source, ordinals, vectors } = command
      if (!matrix.add(project, dimensions, source, ordinals, vectors)) answer({ full: project })
      return
    }
    case 'drop':
      return matrix.drop(command.project, command.source)
    case 'forget':
      return matrix.forget(command.project)
    case 'search':
      return answer({ id: command.id, hits: matrix.search(command.project, command.query, command.limit) })
  }
})
const answer = (message: VectorAnswer) => port.postMessage(message)
