/**
 * OpenAI's speech, and of servers that speak its protocol, behind `Tts`: POST /audio/speech, `response_format: pcm`, which
 * is 24 kHz 16-bit little-endian mono without a header, sent while it is made. It gives no times of words.
 *
 * Made from platform.openai.com/docs/api-reference/audio/createSpeech (input up to 4096 characters, `stream_format`),
 * docs/guides/text-to-speech (formats) and docs/guides/error-codes.
 */

import type { Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { SpeechDeadlines } from './speech-queue.ts'
import { speakOverHttp } from './vendor-http.ts'

export interface OpenAiTtsOptions {
  apiKey: string | null
  clock: Clock
  /** Where the call names no voice. */
  voice?: string
  /** With `/v1`. */
  baseUrl?: string
  model?: string
  /** How to speak, for models that take it (not tts-1). */
  instructions?: string
  deadlines?: SpeechDeadlines
  /** Guards against SSRF where the address came from a customer. */
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
