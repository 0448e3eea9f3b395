/**
 * Whisper base (MIT) through whisper.cpp, for Russian, which Moonshine does not support. It blocks while it computes,
 * so it runs in a thread of its own, in the speech process only.
 */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { collapseLoops } from './decoder-loop.ts'

export interface Whisper {
  /** False until the model is downloaded, which may happen while the process runs. */
  available(): boolean
  /** `pcm` has 16 kHz. */
  transcribe(pcm: Int16Array, language: string): Promise<string>
  close(): Promise<void>
}

type Answer = { id: number; text: string } | { id: number; error: string }

/** Loads the model with the first audio: an English installation saves 0.2 s and 180 MB. */
export function createWhisper(model: string): Whisper {
  let worker: Worker | null = null
  let lastId = 0
  const waiting = new Map<number, { resolve(text: string): void; reject(error: Error): void }>()
  const fail = (error: Error) => {
    worker = null
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  const start = () => {
    const started = new Worker(new URL('./whisper-worker.ts', import.meta.url), { workerData: { model } })
    started.on('message', (answer: Answer) => {
      const asked = waiting.get(answer.id)
      waiting.delete(answer.id)
      if ('text' in answer) asked?.resolve(answer.text)
      else asked?.reject(new Error(answer.error))
    })
    started.on('error', error => fail(error as Error))
    started.on('exit', () => {
      if (worker === started) fail(new Error('the whisper thread has exited'))
    })
    return started
  }
  return {
    available: () => existsSync(model),
    transcribe(pcm, language) {
      worker ??= start()
      const id = ++lastId
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        worker!.postMessage({ id, pcm, language })
      })
    },
    async close() {
      await worker?.terminate()
    },
  }
}

/** Whisper was trained on subtitles and transcribes silence and noise as their closing lines. */
const SUBTITLES =
  /^(?:продолжение следует|субтитры (?:сделал|создавал|делал|подогнал)\P{L}?.*|редактор субтитров.*|корректор.*|спасибо за (?:просмотр|внимание)|подписывайтесь на (?:мой |наш )?канал.*|dimatorzok|thank you(?: for watching)?|thanks for watching)(?!\p{L})/iu
const REMARKS = /\[[^\][]*\]|\([^()]*\)|\*[^*]*\*/g
/** Separators. `\W` would match all Russian letters. */
const BETWEEN = /^[^\p{L}\p{N}]+/u
/** Sound descriptions are in capitals: "СПОКОЙНАЯ МУЗЫКА". */
const REMARK = /\p{L}{5}/u

export function cleanTranscript(text: string): string {
  const plain = text.replace(REMARKS, ' ').replace(/\s+/g, ' ').trim()
  const remark = REMARK.test(plain) && plain === plain.toUpperCase()
  if (remark || isMadeUp(plain)) return ''
  return collapseLoops(plain)
}

/** True when the text consists of such lines only; other words beside them make it speech. */
function isMadeUp(text: string): boolean {
  for (let rest = text.replace(BETWEEN, ''); rest !== ''; ) {
    const found = SUBTITLES.exec(rest)
    if (!found) return false
    rest = rest.slice(found[0].length).replace(BETWEEN, '')
  }
  return true
}
