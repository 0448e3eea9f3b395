/**
 * TTS of OpenAI and of servers with its API: POST /audio/speech with `response_format: pcm`, which is 24 kHz 16-bit
 * little-endian mono without a header, streamed during synthesis. It returns no word timings.
 *
 * Sources: platform.openai.com/docs/api-reference/audio/createSpeech (input up to 4096 characters, `stream_format`),
 * docs/guides/text-to-speech (formats) and docs/guides/error-codes.
 */

import type { Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { SpeechDeadlines } from './speech-queue.ts'
import { speakOverHttp } from './vendor-http.ts'

export interface OpenAiTtsOptions {
  apiKey: string | null
  clock: Clock
  /** Default voice, when the call names none. */
  voice?: string
  /** Base URL with `/v1`. */
  baseUrl?: string
  model?: string
  /** Speaking style, for models that support it (not tts-1). */
  instructions?: string
  deadlines?: SpeechDeadlines
  /** Replaces `fetch` to guard against SSRF when a customer chose the address. */
  fetch?: typeof globalThis.fetch
}

const SAMPLE_RATE = 24_000

export function createOpenAiTts(options: OpenAiTtsOptions): Tts {
  const { apiKey, clock, baseUrl = 'https://api.openai.com/v1', model = 'gpt-4o-mini-tts', instructions } = options
  return {
    speak: ({ text, voice }, signal) =>
      speakOverHttp(
        {
          vendor: 'openai-tts',
          url: `${baseUrl}/audio/speech`,
          headers: {
            'content-type': 'application/json',
            ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
          },
          body: JSON.stringify({
            model,
            input: text,
            voice: voice ?? options.voice ?? 'alloy',
            response_format: 'pcm',
            ...(instructions ? { instructions } : {}),
          }),
          sampleRate: SAMPLE_RATE,
          clock,
          deadlines: options.deadlines,
          fetch: options.fetch,
        },
        signal,
      ),
  }
}
