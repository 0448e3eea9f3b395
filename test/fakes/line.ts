/**
 * A phone line without a network, in steps of 20 ms on a simulated clock: the caller's audio goes in, the agent's comes
 * out. All pending work finishes between steps.
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

/** Lets all microtasks and resolved promises run. */
export const settle = () => new Promise<void>(resolve => setImmediate(resolve))

const FRAME = 160
/** Noise with a gap per syllable; a constant sound would count as background noise. */
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
  /** One entry per frame: true when the frame contained the agent's audio. */
  readonly agent: boolean[] = []
  /** Set to return the agent's audio to it as an echo. */
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

  /** Plays audio of the far end unchanged, at 8 kHz. */
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

  /** Stays silent until the agent has spoken and stopped; throws when that takes longer than `maxMs`. */
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
