/** Downloads or builds, once, what the parts of the bench need beyond npm packages. */
import { join } from 'node:path'
import { readConfig } from '../../infra/config/config.ts'
import { buildLiveKit, findLiveKit } from '../../infra/embedded/livekit.ts'
import { ensureRedis } from '../../infra/embedded/redis-server.ts'
import { ensureEmbeddingModel } from '../../infra/models/embedding/model.ts'
import { ensureModels } from '../../infra/models/offline-speech.ts'
import { createReporter, type ProgressReporter } from '../../infra/setup/prepare.ts'

type Need = (reporter: ProgressReporter) => Promise<string | null>

const speech: Need = reporter => ensureModels(readConfig().cache, reporter)
const embedding: Need = reporter => ensureEmbeddingModel(readConfig().cache, reporter)
const redis: Need = reporter => ensureRedis(readConfig().cache, reporter)
const liveKit: Need = async reporter => {
  const { cache, home } = readConfig()
  if (findLiveKit(cache)) return null
  reporter.say('Building LiveKit, once; this takes some minutes')
  const build = new AbortController()
  process.once('exit', () => build.abort())
  const result = await buildLiveKit(cache, join(home, 'livekit-build.log'), build.signal, reporter)
  return typeof result === 'string' ? null : result.missing
}

const NEEDS: Record<string, Need[]> = {
  media: [speech],
  conversation: [speech],
  peers: [speech, liveKit],
  rooms: [speech, liveKit],
  control: [redis],
  campaigns: [redis],
  knowledge: [embedding],
}

/** Returns null when the part has everything it needs, otherwise the reason. */
export async function prepare(part: string): Promise<string | null> {
  const reporter = createReporter()
  for (const need of NEEDS[part] ?? []) {
    const problem = await need(reporter)
    if (problem) return problem
  }
  return null
}
