/**
 * ElevenLabs TTS: one WebSocket per sentence to `stream-input`, which returns base64 audio and character timings.
 *
 * Sources: elevenlabs.io/docs/api-reference/text-to-speech/v-1-text-to-speech-voice-id-stream-input (parameters,
 * messages, alignment "relative to the returned chunk") and help.elevenlabs.io's articles on the error codes 400, 401
 * and 429. The API has no message for cancelling: closing the socket stops the vendor.
 */
import { z } from 'zod'
import { decodeG711 } from '../audio/g711.ts'
import type { SpeechChunk, SpokenWord, Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import {
  createPcmReader,
  createSpeechQueue,
  isContainer,
  type SpeechDeadlines,
  type SpeechQueue,
} from './speech-queue.ts'
import { VendorError, type VendorErrorCode } from './vendor-error.ts'
import { openVendorSocket, parseJson } from './vendor-socket.ts'

const VENDOR = 'elevenlabs'

export interface ElevenLabsOptions {
  apiKey: string
  clock: Clock
  /** Default voice id, when the call names none. */
  voice: string
  /** `wss://api.eu.residency.elevenlabs.io` for the EU. */
  baseUrl?: string
  model?: string
  /** `pcm_16000` by default; another format reduces the traffic of a G.711 leg. */
  outputFormat?: keyof typeof RATES
  deadlines?: SpeechDeadlines
}

const RATES = { pcm_8000: 8000, pcm_16000: 16_000, pcm_22050: 22_050, pcm_24000: 24_000, ulaw_8000: 8000 } as const
const CONNECT_TIMEOUT_MS = 3000
/** Milliseconds by which audio may be shorter than its timings. If more is missing, it was cut or has a wrong rate. */
const MISSING_SOUND_MS = 250

const Times = z.array(z.number().nonnegative())
const Alignment = z
  .object({ chars: z.array(z.string()), charStartTimesMs: Times, charDurationsMs: Times.optional() })
  // The reference and the service differ in an s; both spellings occur.
  .extend({ charsDurationsMs: Times.optional() })
  .transform(({ chars, charStartTimesMs: starts, charDurationsMs, charsDurationsMs }) => {
    const durations = charDurationsMs ?? charsDurationsMs ?? []
    return chars.map((char, i) => ({ char, startMs: starts[i] ?? 0, endMs: (starts[i] ?? 0) + (durations[i] ?? 0) }))
  })
type TimedChar = z.output<typeof Alignment>[number]

const Message = z.object({
  audio: z.base64().nullish(),
  isFinal: z.boolean().nullish(),
  alignment: Alignment.nullish().catch(null), // audio without timings is better than none
  error: z.string().nullish(),
  code: z.number().nullish(),
})
type Message = z.infer<typeof Message>

export function createElevenLabsTts(options: ElevenLabsOptions): Tts {
  return {
    async *speak({ text, voice, language }, signal) {
      if (signal.aborted) return
      const queue = createSpeechQueue(VENDOR, options.clock, signal, options.deadlines)
      const receive = createReceiver(options.outputFormat ?? 'pcm_16000', queue)
      const socket = openVendorSocket({
        vendor: VENDOR,
        url: urlOf(options, voice ?? options.voice, language),
        headers: { 'xi-api-key': options.apiKey },
        clock: options.clock,
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        onOpen: () => {
          socket.send('{"text":" "}')
          // The reference requires a space at the end; `flush` starts synthesis without waiting for more text.
          socket.send(JSON.stringify({ text: `${text} `, flush: true }))
          socket.send('{"text":""}')
        },
        onText: receive,
        onEnd: error => queue.fail(endedEarly(error)),
      })
      try {
        yield* queue.read()
      } finally {
        socket.close()
      }
    },
  }
}

function urlOf(
  { baseUrl, model = 'eleven_flash_v2_5', outputFormat = 'pcm_16000' }: ElevenLabsOptions,
  voice: string,
  language: string,
): string {
  const query = new URLSearchParams({
    model_id: model,
    output_format: outputFormat,
    sync_alignment: 'true',
    auto_mode: 'true',
  })
  // Other models reject the parameter.
  if (model.endsWith('_v2_5')) query.set('language_code', language.split('-')[0]!.toLowerCase())
  return `${baseUrl ?? 'wss://api.elevenlabs.io'}/v1/text-to-speech/${encodeURIComponent(voice)}/stream-input?${query}`
}

function createReceiver(format: keyof typeof RATES, queue: SpeechQueue): (text: string) => void {
  const sampleRate = RATES[format]
  const readPcm = createPcmReader()
  const readWords = createWordReader()
  let soundMs = 0
  let wordsMs = 0
  return text => {
    const message = Message.safeParse(parseJson(text))
    if (!message.success) return queue.fail(new VendorError(VENDOR, 'bad_answer', 'sent an invalid message'))
    const { audio, alignment, isFinal } = message.data
    const failure = failureOf(message.data)
    if (failure) return queue.fail(failure)
    const words = alignment ? readWords(alignment, soundMs) : []
    wordsMs += alignment?.at(-1)?.endMs ?? 0
    if (audio) {
      const bytes = Buffer.from(audio, 'base64')
      if (soundMs === 0 && isContainer(bytes)) {
        return queue.fail(new VendorError(VENDOR, 'bad_answer', 'sent a file instead of raw samples'))
      }
      const pcm = format === 'ulaw_8000' ? decodeG711('PCMU', bytes) : readPcm(bytes)
      soundMs += (pcm.length / sampleRate) * 1000
      queue.push(chunkOf(pcm, sampleRate, words))
    }
    if (!isFinal) return
    if (wordsMs - soundMs > MISSING_SOUND_MS)
      queue.fail(new VendorError(VENDOR, 'bad_answer', 'sent less audio than its word timings cover'))
    else {
      const rest = readWords([{ char: ' ', startMs: 0, endMs: 0 }], soundMs)
      if (rest.length > 0) queue.push(chunkOf(new Int16Array(0), sampleRate, rest))
      queue.end()
    }
  }
}

const chunkOf = (pcm: Int16Array, sampleRate: number, words: SpokenWord[]): SpeechChunk =>
  words.length > 0 ? { pcm, sampleRate, words } : { pcm, sampleRate }

/**
 * Joins characters to words. A word may start in one chunk and end in another; it is returned once its end is known.
 */
export function createWordReader(): (chars: readonly TimedChar[], offsetMs: number) => SpokenWord[] {
  let open: SpokenWord | null = null
  return (chars, offsetMs) => {
    const words: SpokenWord[] = []
    for (const { char, startMs, endMs } of chars) {
      if (char.trim() === '') {
        if (open) words.push(open)
        open = null
        continue
      }
      open = { text: (open?.text ?? '') + char, startMs: open?.startMs ?? offsetMs + startMs, endMs: offsetMs + endMs }
    }
    return words
  }
}

/**
 * Error names that the vendor sends before it closes with 1008, a code that alone is ambiguous. The names come from the
 * help articles; the message format (`message`, `error`, `code`) is undocumented and was recorded from the service.
 */
const CODES: Record<string, VendorErrorCode> = {
  invalid_api_key: 'unauthorized',
  authentication_required: 'unauthorized',
  quota_exceeded: 'unauthorized',
  too_many_concurrent_requests: 'rate_limited',
  system_busy: 'rate_limited',
}

function failureOf({ error, code }: Message): VendorError | null {
  if (!error) return null
  return new VendorError(VENDOR, CODES[error] ?? 'bad_answer', 'rejected the request in the stream', {
    status: code ?? null,
  })
}

/** Error for a close by the vendor, also a normal one, before the audio was complete. */
function endedEarly(error: VendorError): VendorError {
  if (error.status !== 1000 && error.status !== 1005) return error
  return new VendorError(VENDOR, 'unavailable', 'ended before the audio was complete', { status: error.status })
}
