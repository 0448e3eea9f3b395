/** The speech process: one per host, shared by its engines. Work waits in bounded queues; excess work is refused. */
import { createServer, type Server, type Socket } from 'node:net'
import PQueue from 'p-queue'
import { concatPcm } from '../../audio/frames.ts'
import { createResampler } from '../../audio/resample.ts'
import type { Log } from '../../shared/log.ts'
import { espeak, espeakInstalled } from './espeak.ts'
import { createDecoder, encodeFrame, type SpeechAnswer, SpeechRequest } from './protocol.ts'
import type { SpeechModels } from './sherpa.ts'
import { MODEL_RATE, VAD_WINDOW } from './silero.ts'
import { speakable } from './speakable.ts'
import { openVadSession, type VadSession } from './vad-session.ts'
import { cleanTranscript, type Whisper } from './whisper.ts'

const MAX_WAITING = 64
/** Whisper supports more languages; these were tested. */
const WHISPER_LANGUAGES = ['ru']
const SILENCE_AFTER_S = 0.4
const WINDOW_MS = (VAD_WINDOW / MODEL_RATE) * 1000

export interface SpeechServerOptions {
  host: string
  port: number
  /** Null when the models are not installed: the process then only speaks, through espeak-ng, and reports that. */
  models: SpeechModels | null
  /** Null when Whisper is not installed: Russian STT is then unavailable. */
  whisper?: Whisper | null
  log: Log
}

export interface SpeechServer {
  port: number
  close(): Promise<void>
}

export async function startSpeechServer(options: SpeechServerOptions): Promise<SpeechServer> {
  const { models, whisper = null, log } = options
  // One job at a time each: parallel sentences would only delay each other on the same cores.
  const work: Work = {
    models,
    whisper,
    log,
    stt: new PQueue({ concurrency: 1 }),
    tts: new PQueue({ concurrency: 1 }),
    espeak: await espeakInstalled(),
  }
  const sockets = new Set<Socket>()
  const server: Server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serve(socket, work)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  return {
    port: (server.address() as { port: number }).port,
    async close() {
      for (const socket of sockets) socket.destroy()
      await whisper?.close()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

interface Work {
  models: SpeechModels | null
  whisper: Whisper | null
  log: Log
  stt: PQueue
  tts: PQueue
  espeak: boolean
}

function serve(socket: Socket, work: Work): void {
  const { models, whisper, log } = work
  const detectors = new Map<number, VadSession>()
  const canceled = new Set<number>()
  const running = new Set<number>()
  let corked = false
  const flush = () => {
    corked = false
    socket.uncork()
  }
  // Write the results of one model run for many lines together.
  const send = (answer: SpeechAnswer, pcm?: Int16Array) => {
    if (socket.destroyed) return
    if (!corked) {
      corked = true
      socket.cork()
      setImmediate(flush)
    }
    socket.write(encodeFrame(answer, pcm))
  }
  socket.setNoDelay(true)
  send({
    type: 'hello',
    stt_languages: [...(models ? ['en'] : []), ...(models && whisper?.available() ? WHISPER_LANGUAGES : [])],
    tts_languages: [...(models ? ['en'] : []), ...(work.espeak ? ['*'] : [])],
  })

  const queue = (lane: PQueue, id: number, run: () => Promise<void>) => {
    if (lane.size >= MAX_WAITING) {
      send({ type: 'failed', id, reason: 'busy' })
      return
    }
    running.add(id)
    void lane
      .add(async () => {
        if (canceled.has(id) || socket.destroyed) return
        await run()
      })
      .catch(error => {
        log.error({ err: error }, 'speech request failed')
        send({ type: 'failed', id, reason: 'internal' })
      })
      .finally(() => {
        running.delete(id)
        canceled.delete(id)
      })
  }

  const queueReading = ({ id, language, sample_rate }: Extract<SpeechRequest, { type: 'stt' }>, pcm: Int16Array) => {
    const primary = language.toLowerCase().split('-')[0]!
    const read =
      models && primary === 'en'
        ? (sound: Int16Array) => models.transcribe(sound)
        : models && whisper?.available() && WHISPER_LANGUAGES.includes(primary)
          ? async (sound: Int16Array) => cleanTranscript(await whisper.transcribe(sound, primary))
          : null
    if (!read) {
      send({ type: 'failed', id, reason: 'language' })
      return
    }
    queue(work.stt, id, async () => send({ type: 'text', id, text: await read(toModelRate(pcm, sample_rate)) }))
  }

  const handle = (ask: SpeechRequest, pcm: Int16Array): void => {
    switch (ask.type) {
      case 'vad.open':
        if (models)
          detectors.set(
            ask.id,
            openVadSession(
              ask.sample_rate,
              models.detector((probability, atMs) =>
                send({ type: 'voice', id: ask.id, at_ms: atMs, window_ms: WINDOW_MS, probability }),
              ),
            ),
          )
        return
      case 'vad.sound':
        detectors.get(ask.id)?.push(pcm, { atMs: ask.at_ms, fresh: ask.fresh })
        return
      case 'vad.close':
        detectors.get(ask.id)?.close()
        detectors.delete(ask.id)
        return
      case 'stt':
        queueReading(ask, pcm)
        return
      case 'tts':
        queue(work.tts, ask.id, () => speak(ask, work, send, () => canceled.has(ask.id)))
        return
      case 'cancel':
        if (running.has(ask.id)) canceled.add(ask.id)
    }
  }

  const decode = createDecoder(SpeechRequest)
  socket.on('data', data => {
    try {
      for (const { head, pcm } of decode(data)) handle(head, pcm)
    } catch (error) {
      log.warn({ err: error }, 'speech client sent an invalid message')
      socket.destroy()
    }
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    for (const session of detectors.values()) session.close()
    detectors.clear()
  })
}

async function speak(
  ask: Extract<SpeechRequest, { type: 'tts' }>,
  { models, espeak: hasEspeak }: Work,
  send: (answer: SpeechAnswer, pcm?: Int16Array) => void,
  canceled: () => boolean,
): Promise<void> {
  const english = ask.language.toLowerCase().startsWith('en')
  if (!(english && models) && !hasEspeak) {
    send({ type: 'failed', id: ask.id, reason: 'language' })
    return
  }
  for (const piece of speakable(ask.text)) {
    if (canceled()) return
    const { pcm, sampleRate } =
      english && models ? await models.synthesize(piece, 1) : await espeak(piece, ask.language)
    send({ type: 'sound', id: ask.id, sample_rate: sampleRate }, pcm)
  }
  send({ type: 'done', id: ask.id })
}

/**
 * Appends 0.4 s of silence: STT transcribes an utterance better that does not end with its last word (tested with
 * Moonshine).
 */
function toModelRate(pcm: Int16Array, sampleRate: number): Int16Array {
  return concatPcm([createResampler(sampleRate, MODEL_RATE).push(pcm), new Int16Array(MODEL_RATE * SILENCE_AFTER_S)])
}
