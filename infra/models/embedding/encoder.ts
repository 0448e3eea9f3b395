/**
 * multilingual-e5-small on onnxruntime, which only this file and the VAD import. Encodes one text at a time: a batch is
 * no faster on one or two cores, and a text's vector must not depend on its batch. `run` blocks the thread.
 */
import { createRequire } from 'node:module'
import type { InferenceSession, Tensor } from 'onnxruntime-node'
import { openE5 } from './e5-file.ts'
import { outputOf } from './onnx.ts'
import { createTokenizer } from './tokenizer.ts'

interface Ort {
  InferenceSession: { create(path: string, options: InferenceSession.SessionOptions): Promise<InferenceSession> }
  Tensor: new (type: 'float32' | 'int32', data: Float32Array | Int32Array, dims: readonly number[]) => Tensor
}

export type Role = 'query' | 'passage'

export interface Encoder {
  /** Returns a vector of unit length. */
  encode(text: string, role: Role): Promise<Float32Array>
}

/** Tokens of a question: more add no meaning and cost time. */
const QUERY_TOKENS = 96
/** Most characters per token, nearly always; a longer text is cut before tokenization. */
const LETTERS_OF_A_TOKEN = 16

export async function loadEncoder(files: { weights: Buffer; graph: string; threads: number }): Promise<Encoder> {
  const ort = createRequire(import.meta.url)('onnxruntime-node') as Ort
  const file = openE5(files.weights)
  const { hidden, positions } = file.header
  const tokens = createTokenizer(file.pieces())
  const session = await ort.InferenceSession.create(files.graph, {
    intraOpNumThreads: files.threads,
    interOpNumThreads: 1,
    logSeverityLevel: 3, // suppresses a message about fused biases
  })
  const position = file.floats('emb.pos')
  const type = file.floats('emb.type')
  const output = outputOf(file)

  function idsOf(text: string, role: Role): number[] {
    const most = (role === 'query' ? QUERY_TOKENS : positions) - 2
    const letters = text.slice(0, most * LETTERS_OF_A_TOKEN)
    // The prefixes that the model was trained with.
    return [tokens.bos, ...tokens.cut(`${role}: ${letters}`).slice(0, most), tokens.eos]
  }

  return {
    async encode(text, role) {
      const ids = idsOf(text, role)
      const words = new Float32Array(ids.length * hidden)
      for (const [i, id] of ids.entries()) {
        const row = words.subarray(i * hidden, (i + 1) * hidden)
        for (let n = 0; n < hidden; n++) row[n] = position[i * hidden + n]! + type[n]!
        file.addRow('emb.word', id, row)
      }
      const result = await session.run({
        x: new ort.Tensor('float32', words, [1, ids.length, hidden]),
        mask: new ort.Tensor('int32', new Int32Array(ids.length).fill(1), [1, ids.length]),
      })
      return meanOf(result[output]!.data as Float32Array, hidden)
    },
  }
}

function meanOf(rows: Float32Array, width: number): Float32Array {
  const mean = new Float32Array(width)
  for (let i = 0; i < rows.length; i++) mean[i % width]! += rows[i]!
  const length = Math.sqrt(mean.reduce((sum, value) => sum + value * value, 0))
  return mean.map(value => value / (length || 1))
}
