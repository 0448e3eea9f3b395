/**
 * ElevenLabs' stream-input as documented: opened with a space, then text, flush, an empty text; answers with base64
 * audio, character times relative to each chunk, `isFinal`; refusals as JSON and close 1008. Every character takes 50
 * ms, and each chunk holds `charsAChunk` of them.
 */
import { encodeG711 } from '../../../media/audio/g711.ts'
import { startWsVendor, type WsVendor } from './ws-vendor.ts'

export const CHAR_MS = 50

export interface FakeElevenLabs extends WsVendor {
  /** Messages from clients on all connections. */
  received: Record<string, unknown>[]
  /** Sockets that the client closed before the end. */
  cancelled: number
  charsAChunk: number
  /** The behaviour after this many chunks. */
  after: { chunks: number; next: 'hang' | 'drop' | 'close' | 'error' | 'final' | 'nonsense' } | null
  /** The error for `next: 'error'`. */
  error: { message: string; error: string; code: number }
  /** Produces audio at this rate, whatever was requested. */
  wrongRate: number | null
  alignments: 'given' | 'null' | 'broken'
  file: boolean
}

export async function startFakeElevenLabs(): Promise<FakeElevenLabs> {
  const vendor = await startWsVendor((socket, request) => {
    const format = new URL(request.url!, 'http://x').searchParams.get('output_format')!
    let text = ''
    let whole = false
    socket.on('close', () => (fake.cancelled += whole ? 0 : 1))
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { text: string; flush?: boolean }
      fake.received.push(message)
      if (message.text.trim()) text += message.text
      if (message.text !== '') return
      const chunks = cut(text.trimEnd(), fake.charsAChunk)
      const told = fake.after ? chunks.slice(0, fake.after.chunks) : chunks
      for (const chars of told) socket.send(JSON.stringify(answer(chars, format, fake)))
      const next = fake.after?.next ?? 'final'
      if (next === 'drop') socket.terminate()
      else if (next === 'close') socket.close(1000)
      else if (next === 'nonsense') socket.send('{"audio":')
      else if (next === 'error') {
        socket.send(JSON.stringify(fake.error))
        socket.close(1008, fake.error.message.slice(0, 100))
      } else if (next === 'final') {
        whole = true
        socket.send(JSON.stringify({ audio: null, isFinal: true, alignment: null, normalizedAlignment: null }))
        socket.close(1000)
      }
    })
  })
  const fake: FakeElevenLabs = Object.assign(vendor, {
    received: [],
    cancelled: 0,
    charsAChunk: 4,
    after: null,
    error: { message: 'Invalid API key', error: 'invalid_api_key', code: 1008 },
    wrongRate: null,
    alignments: 'given' as const,
    file: false,
  })
  return fake
}

function cut(text: string, size: number): string[] {
  const parts: string[] = []
  for (let at = 0; at < text.length; at += size) parts.push(text.slice(at, at + size))
  return parts
}

function answer(chars: string, format: string, fake: FakeElevenLabs): object {
  const rate = fake.wrongRate ?? Number(format.split('_')[1])
  const pcm = new Int16Array((rate * CHAR_MS * chars.length) / 1000).fill(4000)
  const bytes = Buffer.alloc(format.startsWith('ulaw') ? pcm.length : pcm.length * 2)
  if (format.startsWith('ulaw')) encodeG711('PCMU', pcm, bytes)
  else for (let i = 0; i < pcm.length; i++) bytes.writeInt16LE(pcm[i]!, i * 2)
  if (fake.file) bytes.write('RIFF')
  const alignment = {
    chars: [...chars],
    charStartTimesMs: [...chars].map((_, i) => i * CHAR_MS),
    charDurationsMs: [...chars].map(() => CHAR_MS),
  }
  const told = { given: alignment, null: null, broken: { chars: 7 } }[fake.alignments]
  return { audio: bytes.toString('base64'), isFinal: null, alignment: told, normalizedAlignment: told }
}
