/**
 * Records calls: sound → spool file → blob store. Writing never waits in the loop that paces RTP, and holds a few seconds
 * of sound at most; a disk that is full, away or slow costs the recording and nothing else. What a dead engine has left
 * in its spool is mended and stored by the next one of its name. Who makes it must close it.
 */
import { mkdirSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import PQueue from 'p-queue'
import type { RecordingInfo } from '../contract/messages.ts'
import { recordingKey } from '../contract/recordings.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { Recorder } from '../ports/recording.ts'
import type { Blobs } from '../shared/blobs.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { within } from '../shared/within.ts'
import { Tape } from './tape.ts'
import { repairWav, WavError, WavFile, type WavSize } from './wav-file.ts'

export interface RecorderOptions {
  /** This engine's alone. */
  spool: string
  blobs: Blobs
  clock: Clock
  log: Log
  /** What was stored after `finish` had given up waiting, or was found in the spool. */
  onReady(ready: { call_id: string; owner_id: string; recording: RecordingInfo }): Promise<void>
}

export interface OpenRecorder extends Recorder {
  /** Stores what an earlier process has left; the call of each is told by `onReady`. */
  recover(): Promise<void>
  /** Lets go of uploads under way. What is not stored stays in the spool. */
  close(): Promise<void>
}

const WRITE_EVERY_MS = 500
/** The record of a call waits no longer than this for its recording. */
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

export function createRecorder(options: RecorderOptions): OpenRecorder {
  const { spool, blobs, clock, log, onReady } = options
  const uploads = new PQueue({ concurrency: UPLOADS_AT_ONCE })
  const closing = new AbortController()
  const { signal } = closing
  /** Spooled by this process. */
  const own = new Set<string>()
  try {
    mkdirSync(spool, { recursive: true, mode: 0o700 })
  } catch (error) {
    log.error({ err: error }, 'there is no spool for recordings, none will be kept')
  }

  /** Again and again, until it is done or we close; then it is null. */
  async function insist<T>(callId: string, failure: string, work: () => Promise<T>): Promise<T | null> {
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

  function store({ owner_id, call_id, file }: Spooled, size: WavSize): Promise<RecordingInfo | null> {
    const key = recordingKey(owner_id, call_id)
    return insist(call_id, 'recording could not be stored, will be tried again', async () => {
      await uploads.add(() => blobs.take(key, file, { contentType: CONTENT_TYPE, signal }))
      return { key, ...size }
    })
  }

  async function tell({ owner_id, call_id }: Spooled, recording: RecordingInfo | null): Promise<void> {
    if (!recording) return
    await insist(call_id, 'recording is stored, but could not be told, will be tried again', () =>
      onReady({ call_id, owner_id, recording }),
    )
  }

  async function recoverOne(name: string): Promise<void> {
    const file = join(spool, name)
    const [, owner_id, call_id] = SPOOLED.exec(name) ?? []
    if (!owner_id || !call_id || own.has(name)) return
    try {
      const size = await repairWav(file)
      log.info({ call_id, duration_ms: size.duration_ms }, 'recording was left in the spool')
      await tell({ owner_id, call_id, file }, await store({ owner_id, call_id, file }, size))
    } catch (error) {
      log.warn({ err: error, call_id }, 'recording in the spool cannot be mended')
      if (error instanceof WavError) await rm(file, { force: true })
    }
  }

  return {
    start({ callId, ownerId, sampleRate, startedMs, log: callLog }) {
      const name = `${ownerId}.${callId}.wav`
      own.add(name)
      const spooled = { owner_id: ownerId, call_id: callId, file: join(spool, name) }
      const live = new LiveRecording({ file: spooled.file, sampleRate, startedMs, clock, log: callLog })
      return {
        caller: frame => live.caller(frame),
        agent: (pcm, atMs) => live.agent(pcm, atMs),
        async finish() {
          const stored = live.finish().then(size => size && store(spooled, size))
          void stored.then(() => own.delete(name))
          const inTime = await within(clock, STORE_WITHIN_MS, LATE, stored)
          if (inTime !== LATE) return inTime
          void stored.then(recording => tell(spooled, recording))
          return null
        },
      }
    },
    async recover() {
      const names = await readdir(spool).catch(() => [])
      await Promise.all(names.map(recoverOne))
    },
    async close() {
      closing.abort()
      await uploads.onIdle()
    },
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

/** From the sound to a whole file in the spool. */
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
    // Calls that were answered together do not write together.
    this.#again(Math.random() * WRITE_EVERY_MS)
  }

  caller(frame: AudioFrame): void {
    if (!this.#over) this.#tape.caller(frame)
  }

  agent(pcm: Int16Array | null, atMs: number): void {
    if (!this.#over) this.#tape.agent(pcm, atMs)
  }

  /** Null when it could not be kept. */
  async finish(): Promise<WavSize | null> {
    const { file, clock, log } = this.#options
    if (!this.#over) this.#wav.write(this.#tape.finish(clock.now()))
    this.#end()
    try {
      return await this.#wav.finish()
    } catch (error) {
      log.warn({ err: error }, 'recording is lost')
      await rm(file, { force: true }).catch(() => {})
      return null
    }
  }

  #again(afterMs = WRITE_EVERY_MS): void {
    const { clock } = this.#options
    this.#cancel = clock.after(afterMs, () => {
      this.#wav.write(this.#tape.take(clock.now()))
      // Nothing more is kept of a recording that cannot be.
      if (this.#wav.failure) this.#end()
      else this.#again()
    })
  }

  #end(): void {
    this.#over = true
    this.#cancel()
  }
}
