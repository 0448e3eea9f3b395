import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../infra/adapters/clock.ts'
import { ConfigError, readConfig } from '../../infra/config/config.ts'
import { openE5 } from '../../infra/models/embedding/e5-file.ts'
import { createLocalEmbedder } from '../../infra/models/embedding/local.ts'
import { embeddingFiles } from '../../infra/models/embedding/model.ts'
import { createRemoteEmbedder, type RemoteOptions } from '../../infra/models/embedding/remote.ts'
import { createTokenizer } from '../../infra/models/embedding/tokenizer.ts'
import { createEmbedder } from '../../infra/wiring/embedder.ts'

const files = embeddingFiles(readConfig().cache)
const never = new AbortController().signal
const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0)

describe('the tokeniser', () => {
  let cut: (text: string) => number[]
  beforeAll(() => {
    cut = createTokenizer(openE5(readFileSync(files.weights)).pieces()).cut
  })

  it('tokenises as XLM-RoBERTa does', () => {
    // From the documentation of XLM-RoBERTa: <s> Hello world </s> is 0 35378 8999 2.
    expect(cut('Hello world')).toEqual([35378, 8999])
    expect(cut('Hello world!')).toEqual([35378, 8999, 38])
  })

  it('normalises spaces and full-width letters', () => {
    expect(cut('Hello  \t world')).toEqual(cut('Hello world'))
    expect(cut('Ｈｅｌｌｏ world')).toEqual(cut('Hello world'))
  })

  it('takes bounded time for a word of 1 MB', () => {
    expect(cut('ж'.repeat(1_000_000)).length).toBeGreaterThan(10_000)
  })
})

describe('the local model', () => {
  it('ranks related texts in and across two languages', async () => {
    const embedder = createLocalEmbedder(files)
    try {
      const [question] = await embedder.embed(['сколько стоит привезти заказ'], 'query', never)
      const [same, translated, other] = await embedder.embed(
        [
          'Доставка по городу стоит триста рублей.',
          'Delivery within the city costs three hundred roubles.',
          'Бассейн открыт с семи утра до десяти вечера.',
        ],
        'passage',
        never,
      )
      expect(cosine(question!, question!)).toBeCloseTo(1, 4)
      expect(question).toHaveLength(embedder.dimensions)
      expect(cosine(question!, same!)).toBeGreaterThan(cosine(question!, other!) + 0.02)
      expect(cosine(question!, translated!)).toBeGreaterThan(cosine(question!, other!) + 0.02)
    } finally {
      await embedder.close()
    }
  })

  it('returns the same vector in any batch; accepts empty and very long texts', async () => {
    const embedder = createLocalEmbedder(files, { idleMs: 1 })
    try {
      const [alone] = await embedder.embed(['A short text.'], 'passage', never)
      const [beside, empty, long] = await embedder.embed(
        ['A short text.', '', 'word '.repeat(50_000)],
        'passage',
        never,
      )
      expect(beside).toEqual(alone)
      for (const vector of [empty, long]) expect(cosine(vector!, vector!)).toBeCloseTo(1, 4)
    } finally {
      await embedder.close()
    }
  })

  it('supports abort, and rejects after close', async () => {
    const embedder = createLocalEmbedder(files)
    const gone = new AbortController()
    const waits = embedder.embed(['one', 'two'], 'query', gone.signal)
    gone.abort(new Error('hung up'))
    await expect(waits).rejects.toThrow('hung up')
    await embedder.close()
    await expect(embedder.embed(['three'], 'query', never)).rejects.toThrow('closed')
  })

  it('reports missing files', async () => {
    const embedder = createLocalEmbedder({ weights: '/nowhere/e5.bin', graph: '/nowhere/e5.onnx' })
    await expect(embedder.embed(['text'], 'query', never)).rejects.toThrow('ENOENT')
    await embedder.close()
  })
})

describe('an endpoint', () => {
  const servers: Server[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections()
  })

  type Ask = { model: string; input: string[]; encoding_format: string }
  type Handler = (ask: Ask, response: ServerResponse, request: IncomingMessage) => void
  async function start(handle: Handler, options: Partial<RemoteOptions> = {}) {
    const asked: Ask[] = []
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      asked.push(JSON.parse(body))
      handle(asked.at(-1)!, response, request)
    })
    servers.push(server)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const embedder = createRemoteEmbedder({
      url: `http://127.0.0.1:${port}/v1/`,
      key: 'k',
      model: 'm',
      dimensions: 3,
      clock: systemClock,
      retryMs: [1, 1],
      ...options,
    })
    return { asked, embedder }
  }
  const answer = (ask: Ask, response: ServerResponse, vector = [3, 0, 4]) => {
    const data = ask.input.map((_, index) => ({ index, embedding: vector })).reverse()
    response.end(JSON.stringify({ data }))
  }

  it('receives batches with its key; vectors are normalised and in order', async () => {
    const seen: (string | undefined)[] = []
    const { asked, embedder } = await start((ask, response, request) => {
      seen.push(`${request.url} ${request.headers.authorization}`)
      const data = ask.input.map((text, index) => ({ index, embedding: [Number(text), 0, 4] })).reverse()
      response.end(JSON.stringify({ data }))
    })
    const vectors = await embedder.embed(
      Array.from({ length: 150 }, (_, i) => String(i)),
      'passage',
      never,
    )
    expect(asked.map(({ input }) => input.length)).toEqual([64, 64, 22])
    expect(new Set(seen)).toEqual(new Set(['/v1/embeddings Bearer k']))
    expect([...vectors[3]!]).toEqual([expect.closeTo(0.6, 5), 0, expect.closeTo(0.8, 5)])
  })

  it('retries passages after failures, not after rejections', async () => {
    let failures = 2
    const { asked, embedder } = await start((ask, response) => {
      if (failures-- > 0) response.writeHead(503).end()
      else answer(ask, response)
    })
    expect(await embedder.embed(['a'], 'passage', never)).toHaveLength(1)
    expect(asked).toHaveLength(3)
    const refusing = await start((_ask, response) => response.writeHead(401).end())
    await expect(refusing.embedder.embed(['a'], 'passage', never)).rejects.toMatchObject({
      code: 'refused',
      lasting: true,
    })
    expect(refusing.asked).toHaveLength(1)
  })

  it('receives a question once, with a timeout', async () => {
    const busy = await start((_ask, response) => response.writeHead(503).end())
    await expect(busy.embedder.embed(['a'], 'query', never)).rejects.toMatchObject({ code: 'refused' })
    expect(busy.asked).toHaveLength(1)
    const silent = await start(() => {}, { timeoutMs: { query: 30, passage: 30 } })
    await expect(silent.embedder.embed(['a'], 'query', never)).rejects.toMatchObject({ code: 'unreachable' })
  })

  it.each([
    ['of another size', (ask: Ask, response: ServerResponse) => answer(ask, response, [1, 2]), /2 dimensions/],
    ['of too few', (_ask: Ask, response: ServerResponse) => response.end('{"data":[]}'), /invalid response/],
    ['of no JSON', (_ask: Ask, response: ServerResponse) => response.end('<html>'), /invalid response/],
  ])('rejects vectors %s', async (_name, handle, message) => {
    const { embedder } = await start(handle)
    await expect(embedder.embed(['a'], 'passage', never)).rejects.toThrow(message)
  })

  it('never sends the key to a redirect target', async () => {
    const other = await start((ask, response) => answer(ask, response))
    const { embedder } = await start((_ask, response) =>
      response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
    )
    await expect(embedder.embed(['a'], 'query', never)).rejects.toMatchObject({ code: 'unreachable' })
    expect(other.asked).toEqual([])
  })
})

describe('settings', () => {
  it('select an endpoint, the local model, or none', async () => {
    const config = readConfig({})
    expect(createEmbedder({ ...config, EMBEDDINGS: 'off' })).toBeNull()
    expect(createEmbedder({ ...config, cache: '/nowhere' })).toBeNull()
    const settings = readConfig({ EMBEDDINGS_URL: 'https://a.example/v1', EMBEDDINGS_MODEL: 'm' })
    expect(createEmbedder(settings)).toMatchObject({ model: 'm', dimensions: 1536 })
    expect(() => readConfig({ EMBEDDINGS_URL: 'https://a.example/v1' })).toThrow(ConfigError)
  })
})
