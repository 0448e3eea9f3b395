/** Many room clients at almost no cost: `room-load/`, a Go program, and its audio as Opus packets. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { demoLines } from '../../infra/demo/script.ts'
import { createChunker } from '../../media/audio/frames.ts'
import { createOpusEncoder, loadOpus, OPUS_SAMPLE_RATE } from '../../media/audio/opus.ts'
import { createResampler } from '../../media/audio/resample.ts'
import { decodeWav } from '../../media/audio/wav.ts'
import { ensureBuilt } from './go.ts'

const RATE = OPUS_SAMPLE_RATE
const FRAME = RATE / 50

export interface RoomLoad {
  pid: number
  join(client: { id: number; url: string; token: string }): Promise<void>
  /** Plays the nth recording. */
  say(words: { id: number; clip: number }): Promise<void>
  leave(client: { id: number }): Promise<void>
  /** Lateness of their frames since the last query, in ms. */
  lateness(): Promise<{ p95: number; p99: number }>
  stop(): void
}

/** `folder` holds the recordings, which must remain there. */
export async function startRoomLoad(cache: string, folder: string): Promise<RoomLoad> {
  const binary = await ensureBuilt(cache, 'room-load')
  const files = await encodeClips(folder)
  const child = spawn(binary, files, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ask = asker(child)
  return {
    pid: child.pid!,
    join: client => ask({ join: client }),
    say: words => ask({ say: words }),
    leave: client => ask({ leave: client }),
    lateness: () => ask({ lateness: {} }),
    stop: () => void child.kill(),
  }
}

/** Answers arrive in the order of the requests. */
export function asker(child: ChildProcess): <T>(order: object) => Promise<T> {
  const waiting: ((line: string | null) => void)[] = []
  createInterface({ input: child.stdout! }).on('line', line => waiting.shift()?.(line))
  child.once('exit', () => {
    for (const settle of waiting.splice(0)) settle(null)
  })
  return <T>(order: object) =>
    new Promise<T>((resolve, reject) => {
      waiting.push(line => {
        const answer = line === null ? { error: 'the clients have exited' } : JSON.parse(line)
        if (answer.error) reject(new Error(answer.error))
        else resolve(answer as T)
      })
      child.stdin!.write(`${JSON.stringify(order)}\n`)
    })
}

/** Silence first, then the sentences of the demo. */
async function encodeClips(folder: string): Promise<string[]> {
  await loadOpus()
  const voices = demoLines.map(({ file }) => {
    const { pcm, sampleRate } = decodeWav(readFileSync(join(import.meta.dirname, '../../infra/demo/voice', file)))
    return createResampler(sampleRate, RATE).push(pcm)
  })
  const files: string[] = []
  for (const [n, pcm] of [new Int16Array(RATE), ...voices].entries()) {
    const file = join(folder, `clip-${n}.opus`)
    writeFileSync(file, await encode(pcm))
    files.push(file)
  }
  return files
}

/** Each packet after its length. */
async function encode(pcm: Int16Array): Promise<Buffer> {
  const encoder = createOpusEncoder({ fec: false, maxBitrate: null })
  await pause(0)
  const parts: Buffer[] = []
  for (const frame of createChunker(FRAME).push(pcm)) {
    const packet = encoder.encode(frame)
    if (!packet) throw new Error('Opus is not available')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(packet.length)
    parts.push(length, Buffer.from(packet))
  }
  encoder.close()
  return Buffer.concat(parts)
}
