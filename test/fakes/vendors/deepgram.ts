/**
 * Deepgram's /v1/listen as documented (reference/speech-to-text/listen-streaming, docs/finalize, docs/audio-keep-alive,
 * docs/close-stream), with a transparent recogniser: it transcribes samples of about 3000 as `w3`, and samples of about
 * 0 as silence. Its words therefore depend on the audio that was sent.
 */
import { decodeG711 } from '../../../media/audio/g711.ts'
import { startWsVendor, type WsVendor } from './ws-vendor.ts'

export interface FakeDeepgram extends WsVendor {
  /** Control messages of all connections in order, and the number of samples per connection. */
  controls: string[]
  samples: number[]
  /** Sends no result after `Finalize`. */
  neverFinal: boolean
  /** Accepts Finalize without answering it, as the documentation allows when little is buffered. */
  finalizeUnanswered: boolean
  /** Sends a final result on its own, as after end-pointing. */
  endpoint(): void
  /** Sends an interim result with the words since the last final one. */
  interim(): void
  say(message: string): void
  closeWith(code: number, reason: string): void
}

/** The caller's audio: `words` are [value, ms]; 0 is silence. */
export const spoken = (rate: number, words: [number, number][]): Int16Array =>
  Int16Array.from(words.flatMap(([word, ms]) => new Array<number>((ms * rate) / 1000).fill(word * 1000)))

interface Connection {
  rate: number
  heard: number[]
  finalAt: number
  send(text: string): void
  close(code: number, reason: string): void
}

export async function startFakeDeepgram(): Promise<FakeDeepgram> {
  let now: Connection | null = null
  const vendor = await startWsVendor((socket, request) => {
    const query = new URL(request.url!, 'http://x').searchParams
    const encoding = query.get('encoding')
    const index = fake.samples.push(0) - 1
    const connection: Connection = {
      rate: Number(query.get('sample_rate')),
      heard: [],
      finalAt: 0,
      send: text => socket.send(text),
      close: (code, reason) => socket.close(code, reason),
    }
    now = connection
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        const pcm = encoding === 'mulaw' ? decodeG711('PCMU', data) : new Int16Array(Uint8Array.from(data).buffer)
        for (const sample of pcm) connection.heard.push(Math.round(sample / 1000))
        fake.samples[index] = connection.heard.length
        return
      }
      const { type } = JSON.parse(data.toString()) as { type: string }
      fake.controls.push(type)
      if (type === 'Finalize' && !fake.neverFinal && !fake.finalizeUnanswered)
        connection.send(results(connection, true))
      if (type === 'CloseStream') {
        connection.send(JSON.stringify({ type: 'Metadata', request_id: 'r', duration: 0, channels: 1 }))
        socket.close(1000)
      }
    })
  })
  const fake: FakeDeepgram = Object.assign(vendor, {
    controls: [],
    samples: [],
    neverFinal: false,
    finalizeUnanswered: false,
    endpoint: () => now?.send(results(now, false)),
    interim: () => now?.send(results(now, false, false)),
    say: (message: string) => now?.send(message),
    closeWith: (code: number, reason: string) => now?.close(code, reason),
  })
  return fake
}

function results(connection: Connection, fromFinalize: boolean, final = true): string {
  const { rate, heard, finalAt } = connection
  const words: object[] = []
  for (let at = finalAt; at < heard.length; ) {
    let end = at
    while (end < heard.length && heard[end] === heard[at]) end++
    const word = `w${heard[at]}`
    if (heard[at] !== 0) {
      words.push({ word, start: at / rate, end: end / rate, confidence: 0.98, punctuated_word: `${word},` })
    }
    at = end
  }
  if (final) connection.finalAt = heard.length
  return JSON.stringify({
    type: 'Results',
    channel_index: [0, 1],
    duration: (heard.length - finalAt) / rate,
    start: finalAt / rate,
    is_final: final,
    speech_final: final && !fromFinalize,
    channel: { alternatives: [{ transcript: '', confidence: 0.98, words }] },
    metadata: { request_id: 'r', model_info: { name: 'nova-3', version: 'v', arch: 'nova-3' }, model_uuid: 'm' },
    from_finalize: fromFinalize,
  })
}
