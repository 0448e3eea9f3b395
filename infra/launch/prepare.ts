/** Downloads and system packages that `npm start` needs. */
import { existsSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { ensureRedis } from '../embedded/redis-server.ts'
import { ensureEmbeddingModel } from '../models/embedding/model.ts'
import { ensureModels, modelsFolder } from '../models/offline-speech.ts'
import { ensureWhisper, whisperPath } from '../models/whisper.ts'
import { ensurePrograms, inBackground, type ProgressReporter } from '../setup/prepare.ts'
import { ensureDashboard } from '../tools/dashboard.ts'
import type { RunningParts } from './running-parts.ts'

/** Throws only without Redis; reports what does not work without the rest. */
export async function prepare(config: Config, reporter: ProgressReporter): Promise<void> {
  const haveModels = existsSync(modelsFolder(config.cache))
  // In one call, so that the system's package manager runs once.
  const missing = await ensurePrograms(
    [
      ...(config.REDIS_URL ? [] : ['redis-server']),
      ...['espeak-ng', ...(haveModels || config.SPEECH_PORT ? [] : ['python3', 'pip3'])],
    ],
    reporter,
  )
  const noRedis = config.REDIS_URL ? null : await ensureRedis(config.cache, reporter)
  if (noRedis) throw new Error(`Redis is not available: ${noRedis}`)
  if (missing.includes('espeak-ng'))
    reporter.say('espeak-ng is not installed: languages other than English have no offline voice.')
  if (config.EMBEDDINGS === 'auto' && !config.EMBEDDINGS_URL) {
    const embeddingUnavailable = await ensureEmbeddingModel(config.cache, reporter)
    if (embeddingUnavailable)
      reporter.say(`Embedding model unavailable (${embeddingUnavailable}). Knowledge uses full-text search only.`)
  }
  const unbuilt = await ensureDashboard(reporter)
  if (unbuilt) reporter.say(`Dashboard unavailable: ${unbuilt}`)
  if (config.SPEECH_PORT) return
  const problem = await ensureModels(config.cache, reporter)
  if (problem) {
    reporter.say(`Speech models unavailable (${problem}). Calls work, but the agent understands only the keypad.`)
  }
}

/** Downloads 130 MB in the background, which an English installation does not need. */
export function fetchRussianStt(config: Config, reporter: ProgressReporter, running: RunningParts): void {
  if (config.SPEECH_PORT || config.RUSSIAN_STT === 'off') return
  if (existsSync(whisperPath(config.cache))) return
  const fetching = new AbortController()
  running.add('Russian speech-to-text', { stop: async () => fetching.abort() })
  void ensureWhisper(config.cache, fetching.signal, inBackground(reporter.say)).then(problem => {
    if (running.stopping) return
    if (problem) reporter.say(`Russian speech-to-text unavailable (${problem}).`)
    else reporter.say('Russian speech-to-text is ready.')
  })
}
