/**
 * Yandex SpeechKit TTS: API v1, one POST per sentence, which streams `lpcm` without a header. API v3's streaming
 * requires gRPC, which is not worth the dependency for a sentence. It returns no word timings.
 *
 * Sources: yandex.cloud/en/docs/speechkit/tts/request (form fields, up to 5000 characters) and
 * yandex.cloud/en/docs/speechkit/concepts/response (error codes).
 */

import type { Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { SpeechDeadlines } from './speech-queue.ts'
import { speakOverHttp } from './vendor-http.ts'

export interface YandexTtsOptions {
  /** API key of a service account, which implies the folder. */
  apiKey: string
  clock: Clock
  /** Default voice, when the call names none; it must support the call's language. */
  voice?: string
  baseUrl?: string
  sampleRate?: 8000 | 16_000 | 48_000
  deadlines?: SpeechDeadlines
  fetch?: typeof globalThis.fetch
}

export function createYandexTts(options: YandexTtsOptions): Tts {
  const { sampleRate = 16_000 } = options
  return {
    speak({ text, voice, language }, signal) {
      const named = voice ?? options.voice
      const form = new URLSearchParams({
        text,
        lang: yandexLanguage(language),
        ...(named ? { voice: named } : {}),
        format: 'lpcm',
        sampleRateHertz: String(sampleRate),
      })
      return speakOverHttp(
        {
          vendor: 'yandex-tts',
          url: `${options.baseUrl ?? 'https://tts.api.cloud.yandex.net'}/speech/v1/tts:synthesize`,
          headers: {
            authorization: `Api-Key ${options.apiKey}`,
            'content-type': 'application/x-www-form-urlencoded',
          },
          body: form.toString(),
          sampleRate,
          clock: options.clock,
          deadlines: options.deadlines,
          fetch: options.fetch,
        },
        signal,
      )
    },
  }
}

/** Default regions: SpeechKit requires one, and calls often have none. */
const REGIONS: Record<string, string> = { en: 'US', kk: 'KZ', uz: 'UZ', he: 'IL', sv: 'SE' }

/** `ru` → `ru-RU`, `en` → `en-US`; a given region is kept. */
export function yandexLanguage(language: string): string {
  const [name = '', region] = language.split('-')
  return `${name.toLowerCase()}-${region?.toUpperCase() ?? REGIONS[name.toLowerCase()] ?? name.toUpperCase()}`
}
