/**
 * Records calls: audio → spool file → blob store. Writing never blocks the loop that paces RTP, and buffers a few
 * seconds of audio at most; a disk that is full, slow or missing costs the recording and nothing else. The next engine
 * of the same name repairs and stores what a dead engine left in its spool. Whoever creates a recorder must close it.
 */
import { mkdirSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import PQueue from 'p-queue'
import type { RecordingInfo } from '../contract/messages.ts'
import { recordingKey } from '../contract/recordings.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { Recorder, Recording } from '../ports/recording.ts'
import type { Blobs } from '../shared/blobs.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { within } from '../shared/within.ts'
import { Tape } from './tape.ts'
import { repairWav, WavError, WavFile, type WavSize } from './wav-file.ts'

export interface RecorderOptions {
  /** Spool directory, used by this engine alone. */
  spool: string
  blobs: Blobs
  clock: Clock
  log: Log
  /** Reports a recording that was stored after `finish` had stopped waiting, or found in the spool. */
  onReady(ready: { call_id: string; owner_id: string; recording: RecordingInfo }): Promise<void>
}

export interface OpenRecorder extends Recorder {
  /** Stores recordings of an earlier process; reports each by `onReady`. */
  recover(): Promise<void>
  /** Aborts uploads. Recordings that are not stored stay in the spool. */
  close(): Promise<void>
}

const WRITE_EVERY_MS = 500
/** Milliseconds that the call record waits for its recording. */
const STORE_WITHIN_MS = 5000
const UPLOADS_AT_ONCE = 4
const RETRY_MS = [5000, 30_000, 120_000, 600_000]
const CONTENT_TYPE = 'audio/wav'
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const SPOOLED = new RegExp(`^(${UUID})\\.(${UUID})\\.wav$`)

interface Spooled {
  owner_id: string
  call_id: string
  file: string
}

export const createRecorder = (options: RecorderOptions): OpenRecorder => new SpoolRecorder(options)

class SpoolRecorder implements OpenRecorder {
  readonly #options: RecorderOptions
  readonly #uploads = new PQueue({ concurrency: UPLOADS_AT_ONCE })
  readonly #closing = new AbortController()
  /** Names of files spooled by this process. */
  readonly #own = new Set<string>()

  constructor(options: RecorderOptions) {
    this.#options = options
    try {
      mkdirSync(options.spool, { recursive: true, mode: 0o700 })
    } catch (error) {
      options.log.error({ err: error }, 'could not create the recording spool, calls will not be recorded')
    }
  }

  start({ callId, ownerId, sampleRate, startedMs, log }: Parameters<Recorder['start']>[0]): Recording {
    const { spool, clock } = this.#options
    const name = `${ownerId}.${callId}.wav`
    this.#own.add(name)
    const spooled = { owner_id: ownerId, call_id: callId, file: join(spool, name) }
    const live = new LiveRecording({ file: spooled.file, sampleRate, startedMs, clock, log })
    return {
      caller: frame => live.caller(frame),
      agent: (pcm, atMs) => live.agent(pcm, atMs),
      finish: () => this.#finish(live, spooled, name),
    }
  }

  async recover(): Promise<void> {
    const names = await readdir(this.#options.spool).catch(() => [])
    await Promise.all(names.map(name => this.#recoverOne(name)))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#uploads.onIdle()
  }

  async #finish(live: LiveRecording, spooled: Spooled, name: string): Promise<RecordingInfo | null> {
    const stored = live.finish().then(size => size && this.#store(spooled, size))
    void stored.then(() => this.#own.delete(name))
    const inTime = await within(this.#options.clock, STORE_WITHIN_MS, LATE, stored)
    if (inTime !== LATE) return inTime
    void stored.then(recording => this.#report(spooled, recording))
    return null
  }

  async #recoverOne(name: string): Promise<void> {
    const { spool, log } = this.#options
    const file = join(spool, name)
    const [, owner_id, call_id] = SPOOLED.exec(name) ?? []
    if (!owner_id || !call_id || this.#own.has(name)) return
    try {
      const size = await repairWav(file)
      log.info({ call_id, duration_ms: size.duration_ms }, 'found recording in the spool')
      await this.#report({ owner_id, call_id, file }, await this.#store({ owner_id, call_id, file }, size))
    } catch (error) {
      log.warn({ err: error, call_id }, 'could not repair recording in the spool')
      if (error instanceof WavError) await rm(file, { force: true })
    }
  }

  #store({ owner_id, call_id, file }: Spooled, size: WavSize): Promise<RecordingInfo | null> {
    const { blobs } = this.#options
    const { signal } = this.#closing
    const key = recordingKey(owner_id, call_id)
    return this.#retryUntilClosed(call_id, 'could not store recording, will retry', async () => {
      await this.#uploads.add(() => blobs.store(key, file, { contentType: CONTENT_TYPE, signal }))
      return { key, ...size }
    })
  }

  async #report({ owner_id, call_id }: Spooled, recording: RecordingInfo | null): Promise<void> {
    if (!recording) return
    await this.#retryUntilClosed(call_id, 'could not report stored recording, will retry', () =>
      this.#options.onReady({ call_id, owner_id, recording }),
    )
  }

  /** Retries until success; resolves to null when the recorder closes. */
  async #retryUntilClosed<T>(callId: string, failure: string, work: () => Promise<T>): Promise<T | null> {
    const { clock, log } = this.#options
    const { signal } = this.#closing
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        return await work()
      } catch (error) {
        if (signal.aborted) break
        log.warn({ err: error, call_id: callId, tries }, failure)
        await pause(clock, RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]!, signal)
      }
    }
    return null
  }
}

async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>(resolve => {
    const cancel = clock.after(ms, resolve)
    signal.addEventListener('abort', () => {
      cancel()
      resolve()
    })
  })
}

const LATE = Symbol('late')

interface LiveOptions {
  file: string
  sampleRate: number
  startedMs: number
  clock: Clock
  log: Log
}

/** Writes a call's audio to a complete file in the spool. */
class LiveRecording {
  readonly #options: LiveOptions
  readonly #tape: Tape
  readonly #wav: WavFile
  #cancel = () => {}
  #over = false

  constructor(options: LiveOptions) {
    const { file, sampleRate, startedMs } = options
    this.#options = options
    this.#tape = new Tape({ sampleRate, startedMs })
    this.#wav = new WavFile(file, { sampleRate, channels: 2 })
    // Random offset, so that calls answered together do not write together.
    this.#again(Math.random() * WRITE_EVERY_MS)
  }

  caller(frame: AudioFrame): void {
    if (!this.#over) this.#tape.caller(frame)
  }

  agent(pcm: Int16Array | null, atMs: number): void {
    if (!this.#over) this.#tape.agent(pcm, atMs)
  }

  /** Null when the recording failed. */
  async finish(): Promise<WavSize | null> {
    const { file, clock, log } = this.#options
    if (!this.#over) this.#wav.write(this.#tape.finish(clock.now()))
    this.#end()
    try {
      return await this.#wav.finish()
    } catch (error) {
      log.warn({ err: error }, 'recording failed')
      await rm(file, { force: true }).catch(() => {})
      return null
    }
  }

  #again(afterMs = WRITE_EVERY_MS): void {
    const { clock } = this.#options
    this.#cancel = clock.after(afterMs, () => {
      this.#wav.write(this.#tape.take(clock.now()))
      // Stop recording after a write error.
      if (this.#wav.failure) this.#end()
      else this.#again()
    })
  }

  #end(): void {
    this.#over = true
    this.#cancel()
  }
}
