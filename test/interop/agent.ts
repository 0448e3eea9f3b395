/** Our side of a test call: an agent that sends one tone and reports the tone that it receives. */
import { concatPcm } from '../../media/audio/frames.ts'
import type { Leg, LegSink } from '../../media/ports/leg.ts'
import { shareOf, tone } from '../media/audio/sound.ts'
import { clock } from '../sip/trunk/bench.ts'
import { until } from '../support/world.ts'

/** Hz. Passes every codec, and is no DTMF frequency. */
export const AGENT_HZ = 650
const FRAMES_A_SECOND = 50
const LOUD = 500
const JUDGED_FRAMES = 20
const QUIET_MS = 300
const PATIENCE_MS = 10_000

export class Agent implements LegSink {
  readonly keys: string[] = []
  readonly leg: Leg
  private frames: Int16Array[] = []
  private lastMs = 0
  private said = 0

  constructor(leg: Leg) {
    this.leg = leg
    leg.attach(this)
  }

  pull(): Int16Array {
    const samples = this.leg.sampleRate / FRAMES_A_SECOND
    this.said += samples
    return tone(AGENT_HZ, this.leg.sampleRate, samples, 8000, this.said - samples)
  }

  push({ pcm }: { pcm: Int16Array }): void {
    this.frames = [...this.frames.slice(1 - JUDGED_FRAMES), pcm]
    this.lastMs = clock.now()
  }

  dtmf(digit: string): void {
    this.keys.push(digit)
  }

  /** From now on: this tone, and hardly anything else. */
  async hears(hz: number): Promise<void> {
    this.frames = []
    const clear = (): boolean => {
      const pcm = concatPcm(this.frames)
      const loud = Math.sqrt(pcm.reduce((sum, sample) => sum + sample * sample, 0) / (pcm.length || 1)) > LOUD
      return this.frames.length === JUDGED_FRAMES && loud && shareOf(hz, pcm, this.leg.sampleRate) > 0.9
    }
    await until(clear, `${hz} Hz to arrive`, PATIENCE_MS)
  }

  /** Packets go out, from now on. */
  async sends(): Promise<void> {
    const before = this.leg.stats().packets_sent
    await until(() => this.leg.stats().packets_sent > before + JUDGED_FRAMES, 'sound to go', PATIENCE_MS)
  }

  /** Waits until no frame is sent or received. */
  async silence(): Promise<void> {
    let [sent, sinceMs] = [-1, 0]
    const still = (): boolean => {
      const now = this.leg.stats().packets_sent
      if (now !== sent) [sent, sinceMs] = [now, clock.now()]
      return clock.now() - Math.max(sinceMs, this.lastMs) > QUIET_MS
    }
    await until(still, 'silence both ways', PATIENCE_MS)
  }

  async hearsKeys(keys: string): Promise<void> {
    await until(() => this.keys.join('') === keys, `the keys ${keys}`, PATIENCE_MS).catch(error => {
      throw new Error(`${(error as Error).message}; heard ${this.keys.join('')}`)
    })
  }
}
