/** The embedding thread; the model computes without yielding. */
import { parentPort, workerData } from 'node:worker_threads'
import { loadEncoder, type Role } from './encoder.ts'

export interface EncoderWorkerData {
  /** The weights file, shared between threads. */
  weights: SharedArrayBuffer
  graph: string
  threads: number
}
export interface EncoderTask {
  id: number
  text: string
  role: Role
}
export type EncoderAnswer = { id: number; vector: Float32Array } | { id: number; error: string }

const { weights, graph, threads } = workerData as EncoderWorkerData
const port = parentPort!
const answer = (message: EncoderAnswer) => port.postMessage(message)
const encoder = loadEncoder({ weights: Buffer.from(weights), graph, threads })

port.on('message', async ({ id, text, role }: EncoderTask) => {
  try {
    answer({ id, vector: await (await encoder).encode(text, role) })
  } catch (error) {
    answer({ id, error: (error as Error).message })
  }
})
