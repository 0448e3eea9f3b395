/**
 * Cartesia's /tts/websocket as documented at docs.cartesia.ai/2026-03-01/api-reference/tts/websocket: concurrent
 * contexts, chunks of base64 samples, word timestamps in seconds from the context's beginning, `done`, `cancel`, error
 * events with a status code. Every character takes 50 ms; a chunk is a word.
 */
import { startWsVendor, type WsVendor } from './ws-vendor.ts'

const CHAR_MS = 50

export interface FakeCartesia extends WsVendor {
  asked: Record<string, unknown>[]
  cancelled: string[]
  /** The behaviour after this many words. */
  after: { words: number; next: 'hang' | 'drop' | 'close' | 'error' | 'done' | 'nonsense' } | null
  statusCode: number
  /** With `next: 'error'`: omits the context, for an error of the whole connection. */
  nameless: boolean
  wrongRate: number | null
  file: boolean
}

export async function startFakeCartesia(): Promise<FakeCartesia> {
  const vendor = await startWsVendor(socket => {
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Record<string, unknown> & { context_id: string }
      if (message['cancel']) return void fake.cancelled.push(message.context_id)
      fake.asked.push(message)
      const id = message.context_id
      const rate = fake.wrongRate ?? (message['output_format'] as { sample_rate: number }).sample_rate
      const words = (message['transcript'] as string).split(' ')
      let atMs = 0
      for (const word of fake.after ? words.slice(0, fake.after.words) : words) {
        for (const event of speak(word, id, atMs, rate, fake.file)) socket.send(JSON.stringify(event))
        atMs += word.length * CHAR_MS
      }
      const next = fake.after?.next ?? 'done'
      if (next === 'drop') socket.terminate()
      else if (next === 'close') socket.close(1000)
      else if (next === 'nonsense') socket.send('{"type":"chunk"}')
      else if (next === 'done') {
        socket.send(
          JSON.stringify({
            type: 'flush_done',
            done: false,
            flush_done: true,
            flush_id: 1,
            status_code: 206,
            context_id: id,
          }),
        )
        socket.send(JSON.stringify({ type: 'done', done: true, status_code: 206, context_id: id }))
      } else if (next === 'error') socket.send(JSON.stringify(errorEvent(fake, id, message['transcript'])))
    })
  })
  const fake: FakeCartesia = Object.assign(vendor, {
    asked: [],
    cancelled: [],
    after: null,
    statusCode: 429,
    nameless: false,
    wrongRate: null,
    file: false,
  })
  return fake
}

const errorEvent = (fake: FakeCartesia, id: string, transcript: unknown) => ({
  type: 'error',
  done: true,
  status_code: fake.statusCode,
  error_code: 'concurrency_limited',
  title: 'Too many concurrent requests',
  message: `You have exceeded your plan's concurrency limit: ${transcript}`,
  request_id: 'r',
  ...(fake.nameless ? {} : { context_id: id }),
})

function* speak(word: string, id: string, atMs: number, rate: number, file: boolean): Iterable<object> {
  const ms = word.length * CHAR_MS
  const bytes = Buffer.alloc(((rate * ms) / 1000) * 2)
  for (let i = 0; i < bytes.length; i += 2) bytes.writeInt16LE(4000, i)
  if (file) bytes.write('RIFF')
  const common = { done: false, status_code: 206, context_id: id }
  const word_timestamps = { words: [word], start: [atMs / 1000], end: [(atMs + ms) / 1000] }
  yield { type: 'timestamps', ...common, word_timestamps }
  yield { type: 'chunk', ...common, data: bytes.toString('base64'), step_time: 12 }
}
