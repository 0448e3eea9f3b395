/** One client of the speech process: its requests, its VAD sessions, and the answers to it. */
import type { Socket } from 'node:net'
import type PQueue from 'p-queue'
import { concatPcm } from '../../audio/frames.ts'
import { createResampler } from '../../audio/resample.ts'
import type { Log } from '../../shared/log.ts'
import { collapseLoops } from './decoder-loop.ts'
import { espeak } from './espeak.ts'
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
  stt: PQueue
  tts: PQueue
  espeak: boolean
}

const MAX_WAITING = 64
/** Whisper supports more languages; these were tested. */
const WHISPER_LANGUAGES = ['ru']
const SILENCE_AFTER_S = 0.4
const WINDOW_MS = (VAD_WINDOW / MODEL_RATE) * 1000

/** Serves a client until its socket closes. A client that sends an invalid message is disconnected. */
export function serveClient(socket: Socket, work: SpeechWork): void {
  const client = new SpeechServerClient(socket, work)
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

  constructor(socket: Socket, work: SpeechWork) {
    this.#socket = socket
    this.#work = work
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
        this.#queue(this.#work.tts, ask.id, () => this.#speak(ask))
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

  #queue(lane: PQueue, id: number, run: () => Promise<void>): void {
    if (lane.size >= MAX_WAITING) {
      this.#send({ type: 'failed', id, reason: 'busy' })
      return
    }
    this.#running.add(id)
    void lane
      .add(async () => {
        if (this.#canceled.has(id) || this.#socket.destroyed) return
        await run()
      })
      .catch(error => {
        this.#work.log.error({ err: error }, 'speech request failed')
        this.#send({ type: 'failed', id, reason: 'internal' })
      })
      .finally(() => {
        this.#running.delete(id)
        this.#canceled.delete(id)
      })
  }

  #openVad({ id, sample_rate }: Extract<SpeechRequest, { type: 'vad.open' }>): void {
    const { models } = this.#work
    if (!models) return
    const detector = models.detector((probability, atMs) =>
      this.#send({ type: 'voice', id, at_ms: atMs, window_ms: WINDOW_MS, probability }),
    )
    this.#detectors.set(id, openVadSession(sample_rate, detector))
  }

  #transcribe({ id, language, sample_rate }: Extract<SpeechRequest, { type: 'stt' }>, pcm: Int16Array): void {
    const read = this.#reader(language.toLowerCase().split('-')[0]!)
    if (!read) {
      this.#send({ type: 'failed', id, reason: 'language' })
      return
    }
    this.#queue(this.#work.stt, id, async () => {
      this.#send({ type: 'text', id, text: await read(toModelRate(pcm, sample_rate)) })
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

  async #speak({ id, text, language }: Extract<SpeechRequest, { type: 'tts' }>): Promise<void> {
    const { models, espeak: hasEspeak } = this.#work
    const english = language.toLowerCase().startsWith('en')
    if (!(english && models) && !hasEspeak) {
      this.#send({ type: 'failed', id, reason: 'language' })
      return
    }
    for (const piece of speakable(text)) {
      if (this.#canceled.has(id)) return
      const { pcm, sampleRate } = english && models ? await models.synthesize(piece, 1) : await espeak(piece, language)
      this.#send({ type: 'sound', id, sample_rate: sampleRate }, pcm)
    }
    this.#send({ type: 'done', id })
  }
}

/**
 * Appends 0.4 s of silence: STT transcribes an utterance better that does not end with its last word (tested with
 * Moonshine).
 */
function toModelRate(pcm: Int16Array, sampleRate: number): Int16Array {
  return concatPcm([createResampler(sampleRate, MODEL_RATE).push(pcm), new Int16Array(MODEL_RATE * SILENCE_AFTER_S)])
}
