/**
 * The engine's client of the speech process: VAD, STT and TTS over one connection, which is restored when it breaks.
 * Meanwhile calls continue: VAD falls back to energy; STT and TTS fail and report it.
 */
import { connect, type Socket } from 'node:net'
import { AudioHistory } from '../../audio/audio-history.ts'
import type { AudioFrame } from '../../ports/leg.ts'
import type { SpeechChunk, Stt, Tts, Vad } from '../../ports/speech.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { createEnergyVad } from '../energy-vad.ts'
import { createGate, type Gate } from './gate.ts'
import { Answer, type Ask, createDecoder, encodeFrame, MAX_TEXT } from './protocol.ts'

export interface SpeechClient {
  vad: Vad
  stt: Stt
  tts: Tts
  /** True when connected to a process with STT models. */
  hears(): boolean
  /** Resolves at the first `hello` message. */
  ready: Promise<void>
  close(): void
}

const RECONNECT_MS = 500
const STT_TIMEOUT_MS = 8000
/** Milliseconds between two chunks. A sentence that never ends would keep the agent from hanging up. */
const TTS_TIMEOUT_MS = 10_000
/**
 * Limit of unsent data: some seconds of many calls. Beyond it the process is stalled, and the data would fill memory.
 */
const MOST_UNREAD_BYTES = 4 * 1024 * 1024
/**
 * Shortest interval in ms between writes of VAD audio: a write, a wake-up and a model run per frame would cost more
 * than the frames themselves. The end of a turn is measured in arrival time and is not delayed by it. An onset is sent
 * at once, since the agent may have to stop speaking for it; so is the audio when only one call is active.
 */
const SOUND_EVERY_MS = 20
/** Shorter audio contains no word. */
const MIN_UTTERANCE_MS = 80

type Handler = (answer: Answer, pcm: Int16Array) => void

export function createSpeechClient(options: { host: string; port: number; clock: Clock; log: Log }): SpeechClient {
  const { clock, log } = options
  const handlers = new Map<number, Handler>()
  /** VAD sessions to open again after a reconnect. */
  const detectors = new Map<number, { sampleRate: number; gate: Gate }>()
  let socket: Socket | null = null
  let abilities: { hears: string[]; speaks: string[] } | null = null
  let lastId = 0
  let closed = false
  let cancelReconnect = () => {}
  let firstHello = () => {}
  const ready = new Promise<void>(resolve => (firstHello = resolve))

  let corked = false
  let leftMs = Number.NEGATIVE_INFINITY

  function cork(to: Socket): void {
    if (corked) return
    const nowMs = clock.now()
    if (detectors.size < 2 || nowMs - leftMs >= SOUND_EVERY_MS) {
      leftMs = nowMs
      return
    }
    corked = true
    to.cork()
    clock.after(leftMs + SOUND_EVERY_MS - nowMs, () => flush(to))
  }

  function flush(to: Socket): void {
    if (!corked || to !== socket) return
    corked = false
    leftMs = clock.now()
    to.uncork()
  }

  const send = (ask: Ask, pcm?: Int16Array, mayWait = false): boolean => {
    if (!socket || !abilities) return false
    if (mayWait) cork(socket)
    socket.write(encodeFrame(ask, pcm))
    if (!mayWait) flush(socket)
    return true
  }

  function open(): void {
    const attempt = connect(options.port, options.host)
    attempt.setNoDelay(true)
    const decode = createDecoder(Answer)
    attempt.on('connect', () => (socket = attempt))
    attempt.on('data', data => {
      try {
        for (const { head, pcm } of decode(data)) receive(head, pcm)
      } catch (error) {
        log.error({ err: error }, 'speech process sent an invalid message')
        attempt.destroy()
      }
    })
    attempt.on('error', () => {}) // `close` follows
    attempt.on('close', () => {
      if (socket === attempt) {
        socket = null
        abilities = null
        corked = false
        if (!closed) log.warn({}, 'speech process disconnected')
        for (const [id, handler] of [...handlers]) {
          if (!detectors.has(id)) handler({ type: 'failed', id, reason: 'internal' }, new Int16Array(0))
        }
      }
      if (!closed) cancelReconnect = clock.after(RECONNECT_MS, open)
    })
  }

  function receive(answer: Answer, pcm: Int16Array): void {
    if (answer.type === 'hello') {
      abilities = { hears: answer.hears, speaks: answer.speaks }
      for (const [id, { sampleRate, gate }] of detectors) {
        gate.reset()
        send({ type: 'vad.open', id, sample_rate: sampleRate })
      }
      firstHello()
    } else handlers.get(answer.id)?.(answer, pcm)
  }
  open()

  const vad: Vad = {
    open({ sampleRate, onVoice }) {
      const id = ++lastId
      const energy = createEnergyVad().open({ sampleRate, onVoice })
      const gate = createGate({
        sampleRate,
        onVoice,
        send: (pcm, { atMs, fresh }, onset) => void send({ type: 'vad.sound', id, at_ms: atMs, fresh }, pcm, !onset),
      })
      detectors.set(id, { sampleRate, gate })
      handlers.set(id, answer => {
        if (answer.type !== 'voice') return
        gate.answered({ probability: answer.probability, atMs: answer.at_ms, windowMs: answer.window_ms })
      })
      send({ type: 'vad.open', id, sample_rate: sampleRate })
      return {
        push(frame: AudioFrame) {
          const reads = (socket?.writableLength ?? 0) < MOST_UNREAD_BYTES
          if (reads && abilities?.hears.length) gate.push(frame)
          else energy.push(frame)
        },
        close() {
          send({ type: 'vad.close', id })
          handlers.delete(id)
          detectors.delete(id)
        },
      }
    },
  }

  const stt: Stt = {
    open({ sampleRate, language }) {
      const memory = new AudioHistory()
      return {
        push: frame => memory.push(frame),
        close() {},
        transcribe(fromMs, toMs, signal) {
          const pcm = memory.slice(fromMs, toMs)
          if (pcm.length < (sampleRate / 1000) * MIN_UTTERANCE_MS)
            return Promise.resolve({ text: '', confidence: null })
          const id = ++lastId
          return new Promise((resolve, reject) => {
            const finish = (settle: () => void) => {
              cancelTimeout()
              handlers.delete(id)
              signal.removeEventListener('abort', abort)
              settle()
            }
            // Cancel abandoned requests, since all calls share one queue.
            const giveUp = (why: string) => {
              send({ type: 'cancel', id })
              finish(() => reject(new Error(why)))
            }
            const abort = () => giveUp('transcription aborted')
            const cancelTimeout = clock.after(STT_TIMEOUT_MS, () => giveUp('transcription timed out'))
            signal.addEventListener('abort', abort)
            handlers.set(id, answer => {
              if (answer.type === 'text') finish(() => resolve({ text: answer.text, confidence: null }))
              else if (answer.type === 'failed')
                finish(() => reject(new Error(`transcription failed: ${answer.reason}`)))
            })
            if (!send({ type: 'stt', id, sample_rate: sampleRate, language }, pcm)) {
              finish(() => reject(new Error('the speech process is not connected')))
            }
          })
        },
      }
    },
  }

  const tts: Tts = {
    async *speak({ text, voice, language }, signal) {
      const id = ++lastId
      const chunks: SpeechChunk[] = []
      const end: { done: boolean; failure: string | null } = { done: false, failure: null }
      let wake = () => {}
      handlers.set(id, (answer, pcm) => {
        if (answer.type === 'sound') chunks.push({ pcm, sampleRate: answer.sample_rate })
        else if (answer.type === 'done') end.done = true
        else if (answer.type === 'failed') end.failure = answer.reason
        wake()
      })
      const abort = () => wake()
      signal.addEventListener('abort', abort)
      try {
        // The process closes the connection, which all calls share, on a longer text.
        const ask = { type: 'tts' as const, id, text: text.slice(0, MAX_TEXT), voice, language }
        if (!send(ask)) throw new Error('the speech process is not connected')
        for (;;) {
          if (signal.aborted) {
            send({ type: 'cancel', id })
            return
          }
          const chunk = chunks.shift()
          if (chunk) yield chunk
          else if (end.done) return
          else if (end.failure) throw new Error(`speech synthesis failed: ${end.failure}`)
          else {
            const cancelTimeout = clock.after(TTS_TIMEOUT_MS, () => {
              send({ type: 'cancel', id })
              end.failure = 'no audio in time'
              wake()
            })
            await new Promise<void>(resolve => (wake = resolve))
            cancelTimeout()
          }
        }
      } finally {
        signal.removeEventListener('abort', abort)
        handlers.delete(id)
      }
    },
  }

  return {
    vad,
    stt,
    tts,
    hears: () => (abilities?.hears.length ?? 0) > 0,
    ready,
    close() {
      closed = true
      cancelReconnect()
      socket?.destroy()
    },
  }
}
