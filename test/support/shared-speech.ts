/**
 * Speech processes for all stacks of a run: loading the models takes three seconds of CPU, and a stack needs nothing
 * else of its own from speech. A test that kills speech or reads its debug log starts one itself (`ownSpeech`).
 */
import { join } from 'node:path'
import { readConfig } from '../../infra/config/config.ts'
import type { Child } from '../../infra/embedded/child.ts'
import { startSpeech } from '../../infra/embedded/programs.ts'
import { modelsFolder } from '../../infra/models/offline-speech.ts'
import { whisperPath } from '../../infra/models/whisper.ts'
import { missingModels } from '../../media/models/speech/sherpa.ts'

export interface SharedSpeech {
  port: number
  pid: number
  logFile: string
}

export interface SpeechProcess extends Omit<SharedSpeech, 'pid'> {
  child: Child
}

export async function startSpeechProcess(options: {
  folder: string
  port: number
  /** File of its log in `folder`. */
  log?: string
  logLevel?: string | undefined
  report(text: string): void
}): Promise<SpeechProcess> {
  const { cache } = readConfig({ PARLEY_HOME: options.folder })
  const logFile = join(options.folder, options.log ?? 'speech.log')
  const models = { models: modelsFolder(cache), whisper: whisperPath(cache), threads: 1 }
  const { child, sttReady } = await startSpeech({ ...options, ...models, logFile })
  if (!sttReady) throw new Error('the speech models are not installed: run `npm start` once')
  return { port: options.port, logFile, child }
}

/** One start per process; none when the models are not installed. */
export function startSharedSpeech(options: {
  count: number
  folder: string
  somePort(): number
  report(text: string): void
}): Promise<SpeechProcess>[] {
  const { count, folder, report } = options
  const { cache } = readConfig({ PARLEY_HOME: folder })
  // Each test that needs speech then fails with the reason.
  if (missingModels(modelsFolder(cache)).length > 0) return []
  return Array.from({ length: count }, (_, i) =>
    startSpeechProcess({ folder, port: options.somePort(), log: `speech-${i + 1}.log`, report }),
  )
}
