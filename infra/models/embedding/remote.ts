/**
 * An embedder over any endpoint with OpenAI's `/embeddings` API: batches, retries for passages, a short timeout for
 * queries.
 */
import { z } from 'zod'
import { pause } from '../../../control/knowledge/crawl/pause.ts'
import type { Embedder } from '../../../control/knowledge/documents/types.ts'
import type { Clock } from '../../../media/shared/clock.ts'

export interface RemoteOptions {
  /** Base URL, `https://host/v1`. */
  url: string
  key: string | null
  model: string
  dimensions: number
  clock: Clock
  /** Milliseconds before the second and later attempts for passages. */
  retryMs?: readonly number[]
  timeoutMs?: { query: number; passage: number }
}

/** Limits of one request at OpenAI and compatible servers: inputs, and roughly characters. */
const BATCH = 64
const LETTERS = 60_000
const RETRY_MS = [500, 2000, 8000]
const TIMEOUT_MS = { query: 3000, passage: 30_000 }
const ANSWER_BYTES = 32 * 1024 * 1024

const Answer = z.object({ data: z.array(z.object({ index: z.number().int(), embedding: z.array(z.number()) })) })

/** `lasting`: the same request would fail again. */
export class EmbeddingsError extends Error {
  readonly code: 'refused' | 'unreachable' | 'malformed'
  readonly lasting: boolean
  constructor(code: EmbeddingsError['code'], message: string, options: { lasting: boolean; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.code = code
    this.lasting = options.lasting
  }
}

export function createRemoteEmbedder(options: RemoteOptions): Embedder {
  const { retryMs = RETRY_MS, timeoutMs = TIMEOUT_MS, clock } = options
  const address = `${options.url.replace(/\/+$/, '')}/embeddings`

  async function ask(
    texts: readonly string[],
    role: 'query' | 'passage',
    signal: AbortSignal,
  ): Promise<Float32Array[]> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs[role])])
    const response = await fetch(address, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(options.key ? { authorization: `Bearer ${options.key}` } : {}),
      },
      body: JSON.stringify({ model: options.model, input: texts, encoding_format: 'float' }),
      // A redirect must not send the key to another host.
      redirect: 'error',
      signal: limit,
    }).catch(error => {
      throw new EmbeddingsError('unreachable', 'The embeddings endpoint did not answer', {
        lasting: false,
        cause: error,
      })
    })
    if (!response.ok) {
      await response.body?.cancel()
      const lasting = response.status < 500 && response.status !== 429 && response.status !== 408
      throw new EmbeddingsError('refused', `The embeddings endpoint answered ${response.status}`, { lasting })
    }
    return vectorsOf(await readBody(response), texts.length, options.dimensions)
  }

  async function insist(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await ask(texts, 'passage', signal)
      } catch (error) {
        signal.throwIfAborted()
        const wait = retryMs[attempt]
        if (wait === undefined || (error instanceof EmbeddingsError && error.lasting)) throw error
        await pause(clock, wait, signal)
      }
    }
  }

  return {
    model: options.model,
    dimensions: options.dimensions,
    async embed(texts, role, signal) {
      const vectors: Float32Array[] = []
      for (const batch of batchesOf(texts)) {
        vectors.push(...(await (role === 'query' ? ask(batch, role, signal) : insist(batch, signal))))
      }
      return vectors
    },
    close: async () => {},
  }
}

async function readBody(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const part of response.body ?? []) {
      size += part.byteLength
      if (size > ANSWER_BYTES)
        throw new EmbeddingsError('malformed', 'The embeddings response is too large', { lasting: true })
      parts.push(part)
    }
  } catch (error) {
    if (error instanceof EmbeddingsError) throw error
    throw new EmbeddingsError('unreachable', 'The embeddings response was interrupted', {
      lasting: false,
      cause: error,
    })
  }
  return Buffer.concat(parts).toString('utf8')
}

function vectorsOf(body: string, count: number, dimensions: number): Float32Array[] {
  const data = parse(body)?.data.toSorted((a, b) => a.index - b.index)
  if (!data || data.length !== count || data.some(({ index }, i) => index !== i)) {
    throw new EmbeddingsError('malformed', 'The embeddings endpoint sent an invalid response', { lasting: true })
  }
  return data.map(({ embedding }) => {
    if (embedding.length !== dimensions) {
      const message = `The embeddings have ${embedding.length} dimensions; set EMBEDDINGS_DIMENSIONS to ${embedding.length}`
      throw new EmbeddingsError('malformed', message, { lasting: true })
    }
    const length = Math.hypot(...embedding)
    return Float32Array.from(embedding, value => value / (length || 1))
  })
}

function parse(body: string): z.infer<typeof Answer> | null {
  try {
    return Answer.parse(JSON.parse(body))
  } catch {
    return null
  }
}

function batchesOf(texts: readonly string[]): string[][] {
  const batches: string[][] = []
  let open: string[] = []
  let letters = 0
  for (const text of texts) {
    if (open.length > 0 && (open.length === BATCH || letters + text.length > LETTERS)) {
      batches.push(open)
      open = []
      letters = 0
    }
    open.push(text)
    letters += text.length
  }
  if (open.length > 0) batches.push(open)
  return batches
}
