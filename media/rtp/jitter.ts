/**
 * Puts the caller's packets in order for a listener that has no loudspeaker: what comes in order goes on at once, so a
 * clean network costs no delay. Only behind a hole do packets wait, for as long as this stream's own jitter suggests
 * that the missing one may still come. Pure: time is an argument.
 */
import { sequenceDelta } from './packet.ts'

export interface JitterPacket {
  sequence: number
  timestamp: number
  payload: Uint8Array
  /** Of RTP: the first after silence. */
  marker?: boolean
}

export type JitterOutput<P extends JitterPacket = JitterPacket> =
  | { kind: 'packet'; packet: P; atMs: number }
  /** A packet that will not come any more; as long as its neighbour. */
  | { kind: 'lost'; atMs: number }

export interface JitterStats {
  received: number
  lost: number
  /** Came after its place was given up. */
  late: number
  duplicate: number
  /** Interarrival jitter of RFC 3550 §6.4.1 / A.8, in ms. */
  jitterMs: number
  /** Extended highest sequence number, for RTCP. */
  highestSequence: number
}

export const MIN_WAIT_MS = 30
export const MAX_WAIT_MS = 160
/** A larger step than this is a new stream of the same sender, not a loss (RFC 3550 A.1 MAX_DROPOUT). */
const MAX_DROPOUT = 300
const MAX_HELD = 64

export class JitterBuffer<P extends JitterPacket = JitterPacket> {
  readonly stats: JitterStats = { received: 0, lost: 0, late: 0, duplicate: 0, jitterMs: 0, highestSequence: 0 }
  readonly #held = new Map<number, { packet: P; atMs: number }>()
  #clockRate: number
  #next: number | null = null
  #holeSinceMs: number | null = null
  #lastTransit: number | null = null
  #cycles = 0
  #highest = 0

  constructor(clockRate: number) {
    this.#clockRate = clockRate
  }

  /** Another codec may count its timestamps otherwise (RFC 7160). */
  setClockRate(clockRate: number): void {
    if (clockRate === this.#clockRate) return
    this.#clockRate = clockRate
    this.#lastTransit = null
  }

  /** How long a hole is waited for now: four times the jitter, within bounds. */
  get waitMs(): number {
    return Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, 4 * this.stats.jitterMs))
  }

  put(packet: P, atMs: number): JitterOutput<P>[] {
    this.stats.received++
    this.#noteJitter(packet, atMs)
    if (this.#next === null) this.#restart(packet)
    const ahead = sequenceDelta(packet.sequence, this.#next!)
    if (Math.abs(ahead) > MAX_DROPOUT) {
      const rest = this.startAnew(atMs)
      this.#restart(packet)
      return [...rest, ...this.#accept(packet, atMs)]
    }
    if (ahead < 0) {
      this.stats.late++
      return []
    }
    if (this.#held.has(packet.sequence)) {
      this.stats.duplicate++
      return []
    }
    return this.#accept(packet, atMs)
  }

  /** Another stream begins (a new SSRC), whose numbers say nothing about these; what is still held of the old one. */
  startAnew(atMs: number): JitterOutput<P>[] {
    const rest = this.#next === null ? [] : this.#giveUpAll(atMs)
    this.#held.clear()
    this.#next = null
    this.#holeSinceMs = null
    return rest
  }

  /** What is due although nothing arrived. */
  poll(nowMs: number): JitterOutput<P>[] {
    const out: JitterOutput<P>[] = []
    while (this.#holeSinceMs !== null && (nowMs - this.#holeSinceMs >= this.waitMs || this.#held.size > MAX_HELD)) {
      do {
        this.#step()
        this.stats.lost++
        out.push({ kind: 'lost', atMs: nowMs })
      } while (!this.#held.has(this.#next!))
      this.#drain(out)
      this.#holeSinceMs = this.#oldestHeldMs()
    }
    return out
  }

  #accept(packet: P, atMs: number): JitterOutput<P>[] {
    this.#noteHighest(packet.sequence)
    this.#held.set(packet.sequence, { packet, atMs })
    const out: JitterOutput<P>[] = []
    this.#drain(out)
    this.#holeSinceMs = this.#oldestHeldMs()
    return out.length > 0 ? out : this.poll(atMs)
  }

  #drain(out: JitterOutput<P>[]): void {
    for (let entry = this.#held.get(this.#next!); entry; entry = this.#held.get(this.#next!)) {
      this.#held.delete(this.#next!)
      this.#step()
      out.push({ kind: 'packet', packet: entry.packet, atMs: entry.atMs })
    }
  }

  /** Since when something waits behind the hole, or null when nothing does. */
  #oldestHeldMs(): number | null {
    let oldest: number | null = null
    for (const { atMs } of this.#held.values()) if (oldest === null || atMs < oldest) oldest = atMs
    return oldest
  }

  #step(): void {
    this.#next = (this.#next! + 1) & 0xffff
  }

  #restart(packet: P): void {
    this.#held.clear()
    this.#next = packet.sequence
    this.#holeSinceMs = null
    this.#highest = packet.sequence
    this.#lastTransit = null
  }

  /** Everything still held, in order, holes left out: the stream they belong to is over. */
  #giveUpAll(atMs: number): JitterOutput<P>[] {
    const base = this.#next!
    return [...this.#held.values()]
      .sort((a, b) => sequenceDelta(a.packet.sequence, base) - sequenceDelta(b.packet.sequence, base))
      .map(({ packet }) => ({ kind: 'packet' as const, packet, atMs }))
  }

  #noteHighest(sequence: number): void {
    if (sequenceDelta(sequence, this.#highest) > 0) {
      if (sequence < this.#highest) this.#cycles++
      this.#highest = sequence
    }
    this.stats.highestSequence = this.#cycles * 65_536 + this.#highest
  }

  #noteJitter(packet: P, atMs: number): void {
    const transit = atMs - (packet.timestamp / this.#clockRate) * 1000
    // After silence some senders go on counting where they stopped.
    if (this.#lastTransit !== null && !packet.marker) {
      const d = Math.abs(transit - this.#lastTransit)
      // A jump of the timestamp (new stream, 32-bit wrap) is not jitter.
      if (d < 2000) this.stats.jitterMs += (d - this.stats.jitterMs) / 16
    }
    this.#lastTransit = transit
  }
}
