/**
 * Sends DTMF as RFC 4733 telephone-events, or as in-band tones (ITU-T Q.23) when the far end does not accept events.
 * Called once per 20 ms of RTP; no socket, no clock.
 */
import { FRAME_MS, frameSamples } from '../audio/frames.ts'

const TONE_MS = 160
const GAP_MS = 100
/** Pause for a comma. */
const PAUSE_MS = 500
/** The last packet of an event is sent three times (RFC 4733 §2.5.1.4). */
const END_REPEATS = 3
/** Event volume: −10 dBm0. */
const VOLUME = 10
const END_BIT = 0x80
const KEYS = '0123456789*#ABCD'
const LOW = [697, 770, 852, 941]
const HIGH = [1209, 1336, 1477, 1633]
const PAD = ['123A', '456B', '789C', '*0#D']
const AMPLITUDE = 6000

export type DtmfFrame =
  | { kind: 'event'; payload: Buffer; timestamp: number; marker: boolean }
  | { kind: 'tone'; pcm: Int16Array }
  | { kind: 'silence' }

interface Press {
  /** Null for a pause. */
  key: string | null
  elapsedMs: number
  /** RTP timestamp of its start. */
  timestamp: number
  onDone: (() => void) | null
}

export class DtmfSender {
  readonly #rate: number
  #queue: Press[] = []
  #closed = false

  constructor(rate: number) {
    this.#rate = rate
  }

  /** Queues `0-9*#A-D` and `,`; settles when the last key was sent or the session was closed. */
  press(keys: string): Promise<void> {
    return new Promise(resolve => {
      const presses = [...keys.toUpperCase()]
        .filter(key => key === ',' || KEYS.includes(key))
        .map((key): Press => ({ key: key === ',' ? null : key, elapsedMs: 0, timestamp: 0, onDone: null }))
      if (presses.length === 0 || this.#closed) return resolve()
      presses.at(-1)!.onDone = resolve
      this.#queue.push(...presses)
    })
  }

  close(): void {
    this.#closed = true
    for (const { onDone } of this.#queue) onDone?.()
    this.#queue = []
  }

  /**
   * Returns what to send now instead of audio, or null. `events`: the far end accepts telephone-events. `clockRate`:
   * clock rate of event durations in Hz; the audio's by default.
   */
  next(timestamp: number, events: boolean, clockRate = this.#rate): DtmfFrame | null {
    const press = this.#queue[0]
    if (!press) return null
    const { key, elapsedMs } = press
    if (elapsedMs === 0) press.timestamp = timestamp
    press.elapsedMs += FRAME_MS
    const endMs = key === null ? PAUSE_MS : TONE_MS + GAP_MS + (events ? END_REPEATS * FRAME_MS : 0)
    if (press.elapsedMs >= endMs) {
      this.#queue.shift()
      press.onDone?.()
    }
    if (key === null) return { kind: 'silence' }
    if (events) return this.#event(press, key, clockRate)
    return elapsedMs < TONE_MS ? { kind: 'tone', pcm: this.#tone(key, elapsedMs) } : { kind: 'silence' }
  }

  #event({ timestamp, elapsedMs: nextMs }: Press, key: string, clockRate: number): DtmfFrame {
    const elapsedMs = nextMs - FRAME_MS
    if (elapsedMs >= TONE_MS + END_REPEATS * FRAME_MS) return { kind: 'silence' }
    const ends = elapsedMs >= TONE_MS
    const payload = Buffer.alloc(4)
    payload[0] = KEYS.indexOf(key)
    payload[1] = VOLUME | (ends ? END_BIT : 0)
    payload.writeUInt16BE((Math.min(TONE_MS, nextMs) * clockRate) / 1000, 2)
    return { kind: 'event', payload, timestamp, marker: elapsedMs === 0 }
  }

  #tone(key: string, elapsedMs: number): Int16Array {
    const row = PAD.findIndex(keys => keys.includes(key))
    const [low, high] = [LOW[row]!, HIGH[PAD[row]!.indexOf(key)]!]
    const first = (elapsedMs * this.#rate) / 1000
    return Int16Array.from({ length: frameSamples(this.#rate) }, (_, i) => {
      const t = (2 * Math.PI * (first + i)) / this.#rate
      return AMPLITUDE * (Math.sin(low * t) + Math.sin(high * t))
    })
  }
}
