/**
 * Silero VAD v5 for all calls of a process: one session of onnxruntime (imported only here), and 1.3 KB of state per
 * call. Waiting windows run as a batch: 0.22 ms of a core for one, 0.08 ms each for eight. Despite its promise, `run`
 * of this package blocks the event loop, so batches are bounded.
 */

import { createRequire } from 'node:module'
import type { InferenceSession, Tensor } from 'onnxruntime-node'
import type { ToModel } from './gate.ts'

/** Sample rate in Hz of the model's input. */
export const MODEL_RATE = 16_000
/** Silero's window at 16 kHz, in samples. */
export const VAD_WINDOW = 512
/** Samples of the previous window that the model requires before the current one. */
const CONTEXT = 64
const INPUT = CONTEXT + VAD_WINDOW
const HALF_STATE = 128
/** Maximum batch size: at most 1.2 ms at a time. */
const MOST_AT_ONCE = 16
/** Maximum of waiting windows: half a minute, 1 MB. An overloaded process skips audio. */
const MOST_WAITING = 1000

/** VAD for one call: takes windows of `VAD_WINDOW` samples at 16 kHz and reports results in order. */
export interface Detector {
  push(window: Int16Array, to: ToModel): void
  /** Ends the session: nothing more is reported. */
  release(): void
}

export type Report = (probability: number, atMs: number) => void

export interface Silero {
  detector(report: Report): Detector
  /** Number of windows evaluated so far. */
  windows: number
}

interface Ort {
  InferenceSession: { create(path: string, options: InferenceSession.SessionOptions): Promise<InferenceSession> }
  Tensor: new (type: 'float32' | 'int64', data: Float32Array | BigInt64Array, dims: readonly number[]) => Tensor
}

interface Waiting extends ToModel {
  pcm: Int16Array
}

interface Line {
  waiting: Waiting[]
  context: Float32Array
  state: Float32Array
  report: Report | null
}

export async function loadSilero(file: string): Promise<Silero> {
  const ort = createRequire(import.meta.url)('onnxruntime-node') as Ort
  const session = await ort.InferenceSession.create(file, { intraOpNumThreads: 1, interOpNumThreads: 1 })
  const model = createModel(ort, session)
  await model([]) // the first run allocates what later ones use
  /** Lines with waiting windows, in order. */
  const queue = new Set<Line>()
  let running = false
  let windows = 0

  async function drain(): Promise<void> {
    while (queue.size > 0) {
      const batch = [...queue].slice(0, MOST_AT_ONCE)
      for (const line of batch) queue.delete(line)
      const jobs = batch.map(line => ({ line, next: line.waiting.shift()! }))
      const probabilities = await model(jobs)
      windows += jobs.length
      for (const [i, { line, next }] of jobs.entries()) {
        if (line.waiting.length > 0) queue.add(line)
        if (next.atMs !== null) line.report?.(probabilities[i]!, next.atMs)
      }
    }
    running = false
  }

  function enqueue(line: Line, next: Waiting): void {
    line.waiting.push(next)
    if (line.waiting.length > MOST_WAITING) {
      line.waiting.shift()
      line.waiting[0] = { ...line.waiting[0]!, fresh: true }
    }
    queue.add(line)
    if (running) return
    running = true
    // A model that fails once always fails: the rejection ends the process, and its supervisor restarts it.
    setImmediate(() => void drain())
  }

  return {
    get windows() {
      return windows
    },
    detector(report) {
      const line: Line = {
        waiting: [],
        context: new Float32Array(CONTEXT),
        state: new Float32Array(2 * HALF_STATE),
        report,
      }
      return {
        push: (pcm, to) => enqueue(line, { pcm, ...to }),
        release() {
          line.report = null
          line.waiting = []
          queue.delete(line)
        },
      }
    },
  }
}

interface Job {
  line: Line
  next: Waiting
}

/** Evaluates the next window of each line and updates their states. */
function createModel(ort: Ort, session: InferenceSession): (jobs: readonly Job[]) => Promise<Float32Array> {
  const input = new Float32Array(MOST_AT_ONCE * INPUT)
  const state = new Float32Array(MOST_AT_ONCE * 2 * HALF_STATE)
  const sr = new ort.Tensor('int64', BigInt64Array.of(BigInt(MODEL_RATE)), [])
  return async jobs => {
    const size = Math.max(1, jobs.length)
    for (const [i, { line, next }] of jobs.entries()) {
      if (next.fresh) {
        line.context.fill(0)
        line.state.fill(0)
      }
      const row = input.subarray(i * INPUT, (i + 1) * INPUT)
      row.set(line.context)
      for (let n = 0; n < VAD_WINDOW; n++) row[CONTEXT + n] = next.pcm[n]! / 32_768
      line.context.set(row.subarray(VAD_WINDOW))
      for (let half = 0; half < 2; half++) state.set(halfOf(line.state, half), (half * size + i) * HALF_STATE)
    }
    const { output, stateN } = await session.run({
      input: new ort.Tensor('float32', input.subarray(0, size * INPUT), [size, INPUT]),
      state: new ort.Tensor('float32', state.subarray(0, 2 * size * HALF_STATE), [2, size, HALF_STATE]),
      sr,
    })
    const after = stateN!.data as Float32Array
    for (const [i, { line }] of jobs.entries()) {
      for (let half = 0; half < 2; half++) halfOf(line.state, half).set(halfOf(after, half * size + i))
    }
    return output!.data as Float32Array
  }
}

const halfOf = (states: Float32Array, n: number) => states.subarray(n * HALF_STATE, (n + 1) * HALF_STATE)
