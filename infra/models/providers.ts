/**
 * Builds the STT, TTS and text models of a call from its plan: the customer's vendors in their order, then the offline
 * fallback. All calls of this engine share the vendors' health and the cached phrases.
 */
import { createHash } from 'node:crypto'
import type { CallDeps, OnSwitch } from '../../media/call/call.ts'
import type { CallPlan, PlanSecrets, SttPlan, TextLlmPlan, TtsPlan } from '../../media/contract/plan.ts'
import { createCartesiaTts } from '../../media/models/cartesia.ts'
import type { CircuitBreaker } from '../../media/models/circuit-breaker.ts'
import { createDeepgramStt } from '../../media/models/deepgram.ts'
import { createElevenLabsTts } from '../../media/models/elevenlabs.ts'
import {
  fallbackLlm,
  fallbackStt,
  fallbackTts,
  type LlmProvider,
  type SttProvider,
  type TtsProvider,
} from '../../media/models/fallback.ts'
import { createOpenAiRealtime } from '../../media/models/openai-realtime.ts'
import { createOpenAiTts } from '../../media/models/openai-tts.ts'
import { createPhraseCache } from '../../media/models/phrase-cache.ts'
import { createScripted } from '../../media/models/scripted/scripted.ts'
import { createTextModel } from '../../media/models/text-model.ts'
import { VendorError } from '../../media/models/vendor-error.ts'
import { createYandexStt } from '../../media/models/yandex-speechkit-stt.ts'
import { createYandexTts } from '../../media/models/yandex-speechkit-tts.ts'
import type { Llm } from '../../media/ports/llm.ts'
import type { Stt, Tts } from '../../media/ports/speech.ts'
import type { Clock } from '../../media/shared/clock.ts'
import type { Log } from '../../media/shared/log.ts'
import { createSafeWebFetch, type Guarded } from '../adapters/safe-fetch.ts'
import type { Config } from '../config/config.ts'

export interface ProvidersOptions {
  config: Pick<
    Config,
    | 'FETCH_ALLOW'
    | 'LLM_BASE_URL'
    | 'LLM_MODEL'
    | 'LLM_API_KEY'
    | 'ANTHROPIC_URL'
    | 'GOOGLE_URL'
    | 'DEEPGRAM_URL'
    | 'ELEVENLABS_URL'
    | 'CARTESIA_URL'
    | 'OPENAI_URL'
    | 'YANDEX_STT_URL'
    | 'YANDEX_TTS_URL'
  >
  /** The speech process, always last. */
  offline: { stt: Stt; tts: Tts }
  clock: Clock
  log: Log
  /** Guards requests to models of customers. */
  guarded?: Guarded
}

export type Providers = Pick<CallDeps, 'sttFor' | 'ttsFor' | 'llmFor' | 'realtimeFor'> & {
  /** Speaks announcements outside calls. */
  announcer: Tts
}

/** Milliseconds per vendor when there are several: two hanging vendors must not use up one turn's limit (6 s). */
const STT_DEADLINE_MS = 2000
/** Most remembered vendors that failed and were not used since; the oldest are dropped. */
const MOST_BREAKERS = 10_000

export function createProviders(options: ProvidersOptions): Providers {
  const { offline, clock } = options
  const breakers = new Map<string, CircuitBreaker>()
  const keep = createPhraseCache({ clock })
  const spokenOffline = keep(offline.tts, 'offline')

  const health = (plan: CallPlan, report: OnSwitch) => {
    for (const oldest of breakers.keys()) {
      if (breakers.size <= MOST_BREAKERS) break
      breakers.delete(oldest)
    }
    const onSwitch: OnSwitch = change => {
      options.log.warn({ call_id: plan.call_id, ...change }, 'provider failed')
      report(change)
    }
    return { clock, breakers, onSwitch }
  }

  return {
    announcer: spokenOffline,
    sttFor(plan, secrets, report) {
      if (plan.stt.length === 0) return offline.stt
      const stt = plan.stt.map(one => sttOf(one, keyOf(secrets, one), options))
      return fallbackStt(
        distinct([...stt, { name: 'offline', id: 'offline/stt', stt: offline.stt }]),
        health(plan, report),
      )
    },
    ttsFor(plan, secrets, report) {
      if (plan.tts.length === 0) return spokenOffline
      const voices = plan.tts.map(one => {
        const voice = voiceOf(one, keyOf(secrets, one), options)
        return { ...voice, tts: keep(voice.tts, voice.id) }
      })
      return fallbackTts(
        distinct([...voices, { name: 'offline', id: 'offline/tts', tts: spokenOffline }]),
        health(plan, report),
      )
    },
    llmFor(plan, secrets, report) {
      const models = modelsOf(plan, secrets, options)
      // A read needs no confirmation; a change is read back first.
      const scripted = createScripted({
        confirms: name => plan.tools.find(tool => tool.name === name)?.method === 'POST',
      })
      if (models.length === 0) return scripted
      return fallbackLlm(distinct([...models, { name: 'scripted', llm: scripted }]), health(plan, report))
    },
    realtimeFor({ llm, call_id }, { llm_api_key: apiKey }) {
      // Without a key the other models hold the call.
      if (llm.provider !== 'openai_realtime' || apiKey === null) return null
      const { model, voice } = llm
      const log = options.log.child({ call_id })
      return createOpenAiRealtime({ url: options.config.OPENAI_URL, apiKey, model, voice, clock, log })
    },
  }
}

const keyOf = (secrets: PlanSecrets, { key }: { key: string | null }): string | null =>
  key !== null && Object.hasOwn(secrets.vendor_keys, key) ? secrets.vendor_keys[key]! : null

/** Numbers repeated names, so that the call record distinguishes them. */
function distinct<P extends { name: string }>(list: readonly P[]): P[] {
  const seen = new Map<string, number>()
  return list.map(one => {
    const nth = (seen.get(one.name) ?? 0) + 1
    seen.set(one.name, nth)
    return nth === 1 ? one : { ...one, name: `${one.name} (${nth})` }
  })
}

/** Includes the key: one customer's rejected account, and its cached audio, must not affect another customer. */
const identify = (...parts: (string | null | undefined)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url')

const at = (baseUrl: string | undefined) => (baseUrl === undefined ? {} : { baseUrl })
const withModel = (model: string | null) => (model === null ? {} : { model })
const noKey = (name: string) => new VendorError(name, 'unauthorized', 'its API key is not in the project’s secrets')

// Speech-to-text.

function sttOf(plan: SttPlan, apiKey: string | null, { config, clock, log }: ProvidersOptions): SttProvider {
  const name = plan.provider
  const id = identify('stt', JSON.stringify(plan), apiKey)
  if (apiKey === null) return { name, id, stt: sttUnavailable(name) }
  const shared = { apiKey, clock, deadlineMs: STT_DEADLINE_MS }
  switch (plan.provider) {
    case 'deepgram':
      return {
        name,
        id,
        stt: createDeepgramStt({ ...shared, log, ...at(config.DEEPGRAM_URL), ...withModel(plan.model) }),
      }
    case 'yandex_speechkit':
      return { name, id, stt: createYandexStt({ ...shared, ...at(config.YANDEX_STT_URL) }) }
  }
}

const sttUnavailable = (name: string): Stt => ({
  open: () => ({ push() {}, close() {}, transcribe: () => Promise.reject(noKey(name)) }),
})

// Text-to-speech.

function voiceOf(
  plan: TtsPlan,
  apiKey: string | null,
  { config, clock }: ProvidersOptions,
): TtsProvider & { id: string } {
  const { provider: name, voice } = plan
  const known = { name, id: identify('tts', JSON.stringify(plan), apiKey), voice }
  if (apiKey === null) return { ...known, tts: ttsUnavailable(name) }
  const shared = { apiKey, clock, voice }
  switch (plan.provider) {
    case 'elevenlabs':
      return {
        ...known,
        tts: createElevenLabsTts({ ...shared, ...at(config.ELEVENLABS_URL), ...withModel(plan.model) }),
      }
    case 'cartesia':
      return { ...known, tts: createCartesiaTts({ ...shared, ...at(config.CARTESIA_URL), ...withModel(plan.model) }) }
    case 'openai':
      return { ...known, tts: createOpenAiTts({ ...shared, ...at(config.OPENAI_URL), ...withModel(plan.model) }) }
    case 'yandex_speechkit':
      return { ...known, tts: createYandexTts({ ...shared, ...at(config.YANDEX_TTS_URL) }) }
  }
}

const ttsUnavailable = (name: string): Tts => ({
  speak() {
    throw noKey(name)
  },
})

// Text models.

/** All text models except the scripted one. A project without a model uses the operator's. */
function modelsOf(plan: CallPlan, secrets: PlanSecrets, options: ProvidersOptions): LlmProvider[] {
  const { llm } = plan
  const further = plan.llm_fallback.map(one => ({ llm: one.llm, apiKey: keyOf(secrets, one) }))
  const operators = operatorsModel(options)
  if (llm.provider === 'scripted') {
    // The scripted model never fails, so nothing follows it.
    return operators ? [operators, ...modelChain(further, options)] : []
  }
  if (llm.provider === 'openai_realtime') {
    const models = modelChain(further, options)
    return models.length === 0 && operators ? [operators] : models
  }
  return modelChain([{ llm, apiKey: secrets.llm_api_key }, ...further], options)
}

interface KeyedLlm {
  llm: TextLlmPlan
  apiKey: string | null
}

function modelChain(list: readonly KeyedLlm[], options: ProvidersOptions): LlmProvider[] {
  // The last model may retry once: after it comes the scripted policy, which knows less.
  return list.map((one, i) => modelOf(one, i === list.length - 1 ? 1 : 0, options))
}

function modelOf({ llm, apiKey }: KeyedLlm, retries: number, options: ProvidersOptions): LlmProvider {
  const { config, clock, guarded } = options
  const { provider, model } = llm
  const name = `${provider}/${model}`
  const id = identify('llm', JSON.stringify(llm), apiKey)
  if (provider !== 'openai_compatible' && apiKey === null) return { name, id, llm: llmUnavailable(name) }
  const shared = { provider, model, apiKey, clock, retries }
  switch (provider) {
    case 'openai_compatible': {
      const fetch = createSafeWebFetch({ ...guarded, allow: config.FETCH_ALLOW })
      return { name, id, llm: createTextModel({ ...shared, baseUrl: llm.base_url, fetch }) }
    }
    case 'anthropic':
      return { name, id, llm: createTextModel({ ...shared, ...at(config.ANTHROPIC_URL) }) }
    case 'google':
      return { name, id, llm: createTextModel({ ...shared, ...at(config.GOOGLE_URL) }) }
  }
}

function operatorsModel({ config, clock }: ProvidersOptions): LlmProvider | null {
  const { LLM_BASE_URL: baseUrl, LLM_MODEL: model } = config
  if (!baseUrl || !model) return null
  const apiKey = config.LLM_API_KEY ?? null
  return { name: 'operator', llm: createTextModel({ provider: 'openai_compatible', baseUrl, model, apiKey, clock }) }
}

const llmUnavailable = (name: string): Llm => ({
  respond() {
    throw noKey(name)
  },
  wrapUp: () => Promise.reject(noKey(name)),
})
