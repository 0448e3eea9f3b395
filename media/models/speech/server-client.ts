/** One client of the speech process: its requests, its VAD sessions, and the answers to it. */
import type { Socket } from 'node:net'
import { concatPcm } from '../../audio/frames.ts'
import { createResampler } from '../../audio/resample.ts'
import type { Log } from '../../shared/log.ts'
import { collapseLoops } from './decoder-loop.ts'
import { espeak } from './espeak.ts'
import type { FairQueue } from './fair-queue.ts'
import { createDecoder, encodeFrame, type SpeechAnswer, SpeechRequest } from './protocol.ts'
import type { SpeechModels } from './sherpa.ts'
import { MODEL_RATE, VAD_WINDOW } from './silero.ts'
import { speakable } from './speakable.ts'
import { openVadSession, type VadSession } from './vad-session.ts'
import { cleanTranscript, type Whisper } from './whisper.ts'

/** Models and queues that all clients share. */
export interface SpeechWork {
  models: SpeechModels | null
  whisper: Whisper | null
  log: Log
  stt: { english: FairQueue; others: FairQueue }
  tts: FairQueue
  espeak: boolean
}

/** Whisper supports more languages; these were tested. */
const WHISPER_LANGUAGES = ['ru']
const SILENCE_AFTER_S = 0.4
const WINDOW_MS = (VAD_WINDOW / MODEL_RATE) * 1000

/**
 * Serves a client until its socket closes. A client that sends an invalid message is disconnected. `number`: its own,
 * among all clients.
 */
export function serveClient(socket: Socket, work: SpeechWork, number: number): void {
  const client = new SpeechServerClient(socket, work, number)
  const decode = createDecoder(SpeechRequest)
  socket.setNoDelay(true)
  client.greet()
  socket.on('data', data => {
    try {
      for (const { head, pcm } of decode(data)) client.handle(head, pcm)
    } catch (error) {
      work.log.warn({ err: error }, 'speech client sent an invalid message')
      socket.destroy()
    }
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => client.close())
}

class SpeechServerClient {
  readonly #socket: Socket
  readonly #work: SpeechWork
  readonly #detectors = new Map<number, VadSession>()
  /** Ids of requests that wait or run, and of those that the client has canceled since. */
  readonly #running = new Set<number>()
  readonly #canceled = new Set<number>()
  #corked = false
  readonly #number: number

  constructor(socket: Socket, work: SpeechWork, number: number) {
    this.#socket = socket
    this.#work = work
    this.#number = number
  }

  /** Tells the client which languages work. */
  greet(): void {
    const { models, whisper, espeak } = this.#work
    this.#send({
      type: 'hello',
      stt_languages: [...(models ? ['en'] : []), ...(models && whisper?.available() ? WHISPER_LANGUAGES : [])],
      tts_languages: [...(models ? ['en'] : []), ...(espeak ? ['*'] : [])],
    })
  }

  handle(ask: SpeechRequest, pcm: Int16Array): void {
    switch (ask.type) {
      case 'vad.open':
        this.#openVad(ask)
        return
      case 'vad.sound':
        this.#detectors.get(ask.id)?.push(pcm, { atMs: ask.at_ms, fresh: ask.fresh })
        return
      case 'vad.close':
        this.#detectors.get(ask.id)?.close()
        this.#detectors.delete(ask.id)
        return
      case 'stt':
        this.#transcribe(ask, pcm)
        return
      case 'tts':
        this.#speak(ask)
        return
      case 'cancel':
        if (this.#running.has(ask.id)) this.#canceled.add(ask.id)
    }
  }

  close(): void {
    for (const session of this.#detectors.values()) session.close()
    this.#detectors.clear()
  }

  /** Writes the results of one model run for many calls together. */
  #send(answer: SpeechAnswer, pcm?: Int16Array): void {
    if (this.#socket.destroyed) return
    if (!this.#corked) {
      this.#corked = true
      this.#socket.cork()
      setImmediate(() => {
        this.#corked = false
        this.#socket.uncork()
      })
    }
    this.#socket.write(encodeFrame(answer, pcm))
  }

  /** `step` does a part of the work, and returns false when there is more to do: other calls come in between. */
  #queue(queue: FairQueue, { id, line }: { id: number; line: number }, step: () => Promise<boolean>): void {
    const run = async () => {
      let done = this.#canceled.has(id) || this.#socket.destroyed
      try {
        done ||= await step()
      } catch (error) {
        this.#work.log.error({ err: error }, 'speech request failed')
        this.#send({ type: 'failed', id, reason: 'internal' })
        done = true
      }
      if (!done && queue.add(job)) return
      if (!done) this.#send({ type: 'failed', id, reason: 'busy' })
      this.#running.delete(id)
      this.#canceled.delete(id)
    }
    const job = { line: `${this.#number}:${line}`, run }
    this.#running.add(id)
    if (queue.add(job)) return
    this.#running.delete(id)
    this.#send({ type: 'failed', id, reason: 'busy' })
  }

  #openVad({ id, sample_rate }: Extract<SpeechRequest, { type: 'vad.open' }>): void {
    const { models } = this.#work
    if (!models) return
    const detector = models.detector((probability, atMs) =>
      this.#send({ type: 'voice', id, at_ms: atMs, window_ms: WINDOW_MS, probability }),
    )
    this.#detectors.set(id, openVadSession(sample_rate, detector))
  }

  #transcribe(ask: Extract<SpeechRequest, { type: 'stt' }>, pcm: Int16Array): void {
    const { id, sample_rate } = ask
    const language = ask.language.toLowerCase().split('-')[0]!
    const read = this.#reader(language)
    if (!read) {
      this.#send({ type: 'failed', id, reason: 'language' })
      return
    }
    const { english, others } = this.#work.stt
    this.#queue(language === 'en' ? english : others, ask, async () => {
      this.#send({ type: 'text', id, text: await read(toModelRate(pcm, sample_rate)) })
      return true
    })
  }

  /** Returns the STT of a language; null when there is none. */
  #reader(language: string): ((sound: Int16Array) => Promise<string>) | null {
    const { models, whisper } = this.#work
    if (!models) return null
    if (language === 'en') return async sound => collapseLoops(await models.transcribe(sound))
    if (!whisper?.available() || !WHISPER_LANGUAGES.includes(language)) return null
    return async sound => cleanTranscript(await whisper.transcribe(sound, language))
  }

  #speak({ id, text, language }: Extract<SpeechRequest, { type: 'tts' }>): void {
    const { models, espeak: hasEspeak } = this.#work
    const english = language.toLowerCase().startsWith('en')
    if (!(english && models) && !hasEspeak) {
      this.#send({ type: 'failed', id, reason: 'language' })
      return
    }
    const pieces = [...speakable(text)]
    this.#queue(this.#work.tts, { id, line: id }, async () => {
      const piece = pieces.shift()
      if (piece !== undefined) {
        const { pcm, sampleRate } =
          english && models ? await models.synthesize(piece, 1) : await espeak(piece, language)
        this.#send({ type: 'sound', id, sample_rate: sampleRate }, pcm)
      }
      if (pieces.length === 0) this.#send({ type: 'done', id })
      return pieces.length === 0
    })
  }
}

/**
 * Appends 0.4 s of silence: STT transcribes an utterance better that does not end with its last word (tested with
 * Moonshine).
 */
function toModelRate(pcm: Int16Array, sampleRate: number): Int16Array {
  return concatPcm([createResampler(sampleRate, MODEL_RATE).push(pcm), new Int16Array(MODEL_RATE * SILENCE_AFTER_S)])
}
