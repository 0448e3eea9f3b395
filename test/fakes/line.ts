/**
 * A telephone line without a network, in steps of 20 ms on a clock of its own: what the caller says goes in, what the agent
 * says comes out. Between steps everything that was promised gets its turn.
 */

import type { LegSink } from '../../media/ports/leg.ts'
import type { Clock } from '../../media/shared/clock.ts'

export interface FakeClock extends Clock {
  advance(ms: number): void
}

export function fakeClock(startMs = 1000): FakeClock {
  let nowMs = startMs
  const timers = new Set<{ atMs: number; run: () => void }>()
  return {
    now: () => nowMs,
    wall: () => 1_800_000_000_000 + nowMs,
    after(ms, run) {
      const timer = { atMs: nowMs + ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      const target = nowMs + ms
      for (;;) {
        const due = [...timers].filter(timer => timer.atMs <= target).sort((a, b) => a.atMs - b.atMs)[0]
        if (!due) break
        timers.delete(due)
        nowMs = Math.max(nowMs, due.atMs)
        due.run()
      }
      nowMs = target
    },
  }
}

/** Lets every microtask and resolved promise run. */
export const settle = () => new Promise<void>(resolve => setImmediate(resolve))

const FRAME = 160
/** No tone, and with a syllable's gap now and then: a sound that never changes is the room's. */
const loud = (frame: number) => {
  const level = frame % 12 === 11 ? 500 : 7000
  let noise = frame + 1
  return Int16Array.from({ length: FRAME }, () => {
    noise = (noise * 1_103_515_245 + 12_345) & 0x7fffffff
    return noise & 0x10000 ? level : -level
  })
}
const quiet = () => new Int16Array(FRAME)

export class FakeLine {
  /** One entry a frame: did the agent's sound leave in it? */
  readonly agent: boolean[] = []
  /** The far end sends the agent's voice back. */
  echo: { delayMs: number; gain: number } | null = null
  readonly #sent: (Int16Array | null)[] = []
  #playing: Int16Array | null = null
  readonly #sink: LegSink
  readonly #clock: FakeClock

  constructor(sink: LegSink, clock: FakeClock) {
    this.#sink = sink
    this.#clock = clock
  }

  async run(ms: number, speaking: boolean): Promise<void> {
    for (let done = 0; done < ms; done += 20) {
      this.#clock.advance(20)
      const atMs = this.#clock.now()
      this.#sink.push({
        pcm: this.#withEcho(this.#playing ?? (speaking ? loud(done / 20) : quiet())),
        atMs,
        concealed: false,
      })
      const pcm = this.#sink.pull(atMs)
      this.#sent.push(pcm)
      this.agent.push(pcm?.some(sample => sample !== 0) ?? false)
      await settle()
    }
  }

  #withEcho(own: Int16Array): Int16Array {
    const sent = this.echo ? this.#sent.at(-Math.round(this.echo.delayMs / 20)) : null
    return sent ? own.map((sample, i) => Math.max(-32_768, Math.min(32_767, sample + sent[i]! * this.echo!.gain))) : own
  }

  /** Sound of the far end as it is, at 8 kHz. */
  async play(pcm: Int16Array): Promise<void> {
    for (let at = 0; at < pcm.length; at += FRAME) {
      const frame = new Int16Array(FRAME)
      frame.set(pcm.subarray(at, at + FRAME))
      this.#playing = frame
      await this.run(20, true)
    }
    this.#playing = null
  }

  caller(ms: number): Promise<void> {
    return this.run(ms, true)
  }

  silence(ms: number): Promise<void> {
    return this.run(ms, false)
  }

  press(digit: string): void {
    this.#sink.dtmf(digit)
  }

  /** Silence until the agent has spoken and stopped; fails when that takes too long. */
  async agentTurn(maxMs = 30_000): Promise<void> {
    let spoke = false
    let silentMs = 0
    for (let ms = 0; ms < maxMs; ms += 20) {
      await this.silence(20)
      if (this.agent.at(-1)) {
        spoke = true
        silentMs = 0
      } else silentMs += 20
      if (spoke && silentMs >= 100) return
    }
    throw new Error(`the agent did not ${spoke ? 'stop speaking' : 'speak'} within ${maxMs} ms`)
  }
}
