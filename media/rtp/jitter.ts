/**
 * Jitter buffer for STT, which needs no playout clock: packets in order pass at once, so a clean network adds no delay.
 * Packets wait only behind a gap, for as long as the stream's measured jitter suggests that the missing packet may
 * still arrive. Pure: time is an argument.
 */
import { sequenceDelta } from './packet.ts'

export interface JitterPacket {
  sequence: number
  timestamp: number
  payload: Uint8Array
  /** RTP marker bit: the first packet after silence. */
  marker?: boolean
}

export type JitterOutput<P extends JitterPacket = JitterPacket> =
  | { kind: 'packet'; packet: P; atMs: number }
  /** A lost packet; its length is taken from its neighbour. */
  | { kind: 'lost'; atMs: number }

export interface JitterStats {
  received: number
  lost: number
  /** Packets that arrived after their gap was given up. */
  late: number
  duplicate: number
  /** Interarrival jitter of RFC 3550 §6.4.1 / A.8, in ms. */
  jitterMs: number
  /** Extended highest sequence number, for RTCP. */
  highestSequence: number
}

export const MIN_WAIT_MS = 30
export const MAX_WAIT_MS = 160
/** A larger step is a restart of the stream, not a loss (RFC 3550 A.1 MAX_DROPOUT). */
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

  /** Another codec may have another clock rate (RFC 7160). */
  setClockRate(clockRate: number): void {
    if (clockRate === this.#clockRate) return
    this.#clockRate = clockRate
    this.#lastTransit = null
  }

  /** Milliseconds for which a gap is waited for: four times the jitter, within bounds. */
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

  /** Resets for another stream (a new SSRC) with unrelated numbers; returns the packets held of the old one. */
  startAnew(atMs: number): JitterOutput<P>[] {
    const rest = this.#next === null ? [] : this.#giveUpAll(atMs)
    this.#held.clear()
    this.#next = null
    this.#holeSinceMs = null
    return rest
  }

  /** Returns output that is due without a new packet. */
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

  /** Arrival time of the oldest packet behind the gap; null when none is waiting. */
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

  /** Returns all held packets in order and skips the gaps, because their stream has ended. */
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
    // After silence, some senders continue their timestamps where they stopped.
    if (this.#lastTransit !== null && !packet.marker) {
      const d = Math.abs(transit - this.#lastTransit)
      // A jump of the timestamp (new stream, 32-bit wrap) is not jitter.
      if (d < 2000) this.stats.jitterMs += (d - this.stats.jitterMs) / 16
    }
    this.#lastTransit = transit
  }
}
