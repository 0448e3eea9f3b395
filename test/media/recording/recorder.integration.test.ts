/** From frames to a file in the store, and all failures on the way, with simulated time. */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createFolderBlobs } from '../../../infra/adapters/blobs.ts'
import { decodeWav, encodeWav } from '../../../media/audio/wav.ts'
import type { RecordingInfo } from '../../../media/contract/messages.ts'
import type { Recording } from '../../../media/ports/recording.ts'
import { createRecorder, type OpenRecorder } from '../../../media/recording/recorder.ts'
import { recordingSink } from '../../../media/recording/sink.ts'
import type { Blobs } from '../../../media/shared/blobs.ts'
import { fakeClock } from '../../fakes/line.ts'
import { recordingLog, until } from '../../support/world.ts'

const RATE = 8000
const FRAME = 160
let home: string
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'parley-recorder-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))
const open: OpenRecorder[] = []
afterEach(() => Promise.all(open.splice(0).map(recorder => recorder.close())))

function world(options: { spool?: string; blobs?: Partial<Blobs> } = {}) {
  const folder = mkdtempSync(join(home, 'case-'))
  const clock = fakeClock()
  const log = recordingLog()
  const ready: { call_id: string; owner_id: string; recording: RecordingInfo }[] = []
  const spool = options.spool ?? join(folder, 'spool')
  const blobs = { ...createFolderBlobs(join(folder, 'blobs')), ...options.blobs }
  const onReady = async (one: (typeof ready)[number]) => void ready.push(one)
  const make = () => {
    const recorder = createRecorder({ spool, blobs, clock, log, onReady })
    open.push(recorder)
    return recorder
  }
  const call = { callId: randomUUID(), ownerId: randomUUID(), sampleRate: RATE, startedMs: clock.now(), log }
  return { folder, clock, log, ready, spool, blobs, make, call, file: (key: string) => join(folder, 'blobs', key) }
}

/** Bytes of audio by the header of the file in the spool. */
function sizeIn(spool: string): number {
  const [name] = readdirSync(spool)
  const bytes = name ? readFileSync(join(spool, name)) : Buffer.alloc(0)
  return bytes.length >= 44 ? bytes.readUInt32LE(40) : 0
}

const tone = (strength: number) => Int16Array.from({ length: FRAME }, (_, i) => (i % 8 < 4 ? strength : -strength))

async function talk(recording: Recording, clock: ReturnType<typeof fakeClock>, ms: number): Promise<void> {
  for (let i = 0; i * 20 < ms; i++) {
    recording.caller({ pcm: tone(1000), atMs: clock.now(), concealed: false })
    recording.agent(i % 2 === 0 ? tone(2000) : null, clock.now())
    clock.advance(20)
    if (i % 50 === 0) await new Promise(resolve => setImmediate(resolve))
  }
}

/** Advances the clock while promises settle. */
async function inTime<T>(promise: Promise<T>, clock: ReturnType<typeof fakeClock>): Promise<T> {
  let over = false
  void promise.finally(() => (over = true)).catch(() => {})
  await until(() => {
    clock.advance(500)
    return over
  }, 'the promise')
  return promise
}

describe('a recorder', () => {
  it('records caller left and agent right, with key and duration', async () => {
    const { make, call, clock, file, spool, ready } = world()
    const recording = make().start(call)
    await talk(recording, clock, 10_000)
    const key = `recordings/${call.ownerId}/${call.callId}.wav`
    expect(await recording.finish()).toEqual({ key, duration_ms: 10_000, bytes: 44 + 10_000 * 32 })
    const { pcm, channels, sampleRate } = decodeWav(readFileSync(file(key)))
    expect([channels, sampleRate]).toEqual([2, RATE])
    const strength = (at: number) => Math.abs(pcm[at]!)
    for (let frame = 1; frame < 500; frame++) {
      const middle = 2 * (frame * FRAME + FRAME / 2)
      expect([strength(middle), strength(middle + 1)]).toEqual([1000, frame % 2 === 0 ? 2000 : 0])
    }
    expect(readdirSync(spool)).toEqual([])
    expect(ready).toEqual([])
  })

  it('loses the last seconds when the process dies', async () => {
    const { make, call, clock, spool, ready, file, log } = world()
    const dying = make().start(call)
    await talk(dying, clock, 10_000)
    const [name] = await until(() => readdirSync(spool).length > 0 && readdirSync(spool), 'a file')
    await until(() => readFileSync(join(spool, name!)).length > 44 + 6400 * 32, 'the sound to be written')
    // The file has the state that another process would find.
    const before = readFileSync(join(spool, name!))
    rmSync(join(spool, name!))
    writeFileSync(join(spool, name!), before)
    writeFileSync(join(spool, 'notes.txt'), 'not ours')
    writeFileSync(join(spool, `${randomUUID()}.${randomUUID()}.wav`), before.subarray(0, 20))
    await make().recover()
    expect(ready).toMatchObject([{ call_id: call.callId, owner_id: call.ownerId }])
    const { key, duration_ms } = ready[0]!.recording
    expect(duration_ms).toBeGreaterThan(6400)
    expect(Math.round(decodeWav(readFileSync(file(key))).pcm.length / 16)).toBe(duration_ms)
    expect(readdirSync(spool)).toEqual(['notes.txt'])
    expect(log.lines.map(line => line.message)).toContain('could not repair recording in the spool')
    await Promise.all(open.splice(0).map(recorder => recorder.close()))
    expect(await dying.finish()).toBeNull()
  })

  it('does not delay the call record; reports a late recording', async () => {
    let stored = () => {}
    const folder = createFolderBlobs(join(home, 'slow'))
    const store: Blobs['store'] = async (...args) => {
      await new Promise<void>(resolve => (stored = resolve))
      return folder.store(...args)
    }
    const { make, call, clock, ready } = world({ blobs: { store } })
    const recording = make().start(call)
    await talk(recording, clock, 2000)
    expect(await inTime(recording.finish(), clock)).toBeNull()
    expect(ready).toEqual([])
    stored()
    await until(() => ready.length > 0, 'the news')
    expect(ready).toMatchObject([{ call_id: call.callId, recording: { duration_ms: 2000 } }])
  })

  it('retries when the store is down', async () => {
    let tries = 0
    const folder = createFolderBlobs(join(home, 'away'))
    const store: Blobs['store'] = async (...args) => {
      if (++tries < 4) throw new Error('the blob store answered 503 SlowDown')
      return folder.store(...args)
    }
    const { make, call, clock, ready, log } = world({ blobs: { store } })
    const recording = make().start(call)
    await talk(recording, clock, 1000)
    expect(await inTime(recording.finish(), clock)).toBeNull()
    await until(() => {
      clock.advance(60_000)
      return ready.length > 0
    }, 'the news')
    expect(tries).toBe(4)
    expect(log.lines.filter(line => /could not store recording/.test(line.message))).toHaveLength(3)
  })

  it('keeps unfinished uploads for the next start', async () => {
    const { make, call, clock, spool, ready, blobs } = world()
    const { store } = blobs
    blobs.store = (_key, _file, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
    const first = make()
    const recording = first.start(call)
    await talk(recording, clock, 1000)
    const finished = recording.finish()
    await until(() => sizeIn(spool) === 32_000, 'a whole file')
    await new Promise(resolve => setTimeout(resolve, 20))
    await first.close()
    expect(await finished).toBeNull()
    expect(readdirSync(spool)).toHaveLength(1)
    blobs.store = store
    await make().recover()
    expect(ready).toMatchObject([{ call_id: call.callId, recording: { duration_ms: 1000 } }])
    expect(readdirSync(spool)).toEqual([])
  })

  it('loses only the recording without a folder', async () => {
    const spool = join(home, 'file')
    writeFileSync(spool, 'in the way')
    const { make, call, clock, log } = world({ spool })
    const recording = make().start(call)
    await talk(recording, clock, 5000)
    expect(await recording.finish()).toBeNull()
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['error', 'could not create the recording spool, calls will not be recorded'],
      ['warn', 'recording failed'],
    ])
  })

  it('loses only the recording on a full disk', async ({ skip }) => {
    const spool = join(home, 'full')
    mkdirSync(spool)
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'none', spool]).status !== 0) skip('may not mount')
    try {
      const { make, call, clock, log } = world({ spool })
      const recording = make().start(call)
      await talk(recording, clock, 20_000)
      expect(await recording.finish()).toBeNull()
      expect(log.lines).toMatchObject([{ message: 'recording failed', fields: { err: { code: 'ENOSPC' } } }])
      expect(readdirSync(spool)).toEqual([])
    } finally {
      spawnSync('umount', [spool])
    }
  })

  it("records the conversation's audio unchanged", () => {
    const told: unknown[] = []
    const recording: Recording = {
      caller: frame => told.push(frame),
      agent: (pcm, atMs) => told.push([pcm, atMs]),
      finish: async () => null,
    }
    const got: unknown[] = []
    const pcm = tone(1)
    const sink = recordingSink(
      { pull: atMs => (atMs === 20 ? pcm : null), push: frame => got.push(frame), dtmf: digit => got.push(digit) },
      recording,
      8000,
    )
    const frame = { pcm, atMs: 5, concealed: true }
    expect(sink.pull(20)).toBe(pcm)
    expect(sink.pull(40)).toBeNull()
    sink.push(frame)
    sink.dtmf('5')
    expect(got).toEqual([frame, '5'])
    expect(told).toEqual([[pcm, 20], [null, 40], frame])
  })
})

it('a file of ours is what the other WAVE writer of the project writes', async () => {
  const { make, call, clock, file } = world()
  const recording = make().start(call)
  await talk(recording, clock, 200)
  const { key } = (await recording.finish())!
  expect(existsSync(file(key))).toBe(true)
  const bytes = readFileSync(file(key))
  expect(encodeWav(decodeWav(bytes))).toEqual(bytes)
})
