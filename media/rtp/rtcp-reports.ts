/**
 * Contents of RTCP reports: our report about the far end's stream, and the far end's about ours (RFC 3550 §6.4, A.3).
 */
import type { JitterStats } from './jitter.ts'
import type { ReportBlock, RtcpReport } from './rtcp.ts'

export class Reports {
  #lastSr: { middle: number; atMs: number } | null = null
  /** Totals at the previous report block. */
  #before = { received: 0, lost: 0 }
  /** Fraction of our packets that the far end last reported as lost, 0 to 1; null before its first report. */
  peerLoss: number | null = null

  /** `ssrc`: our own stream's. */
  noteReport(report: RtcpReport, ssrc: number, nowMs: number): void {
    if (report.ntpMiddle !== null) this.#lastSr = { middle: report.ntpMiddle, atMs: nowMs }
    const block = report.blocks.find(block => block.ssrc === ssrc)
    if (block) this.peerLoss = block.fractionLost / 256
  }

  block(stream: { ssrc: number; clockRate: number; stats: JitterStats }, nowMs: number): ReportBlock {
    const { received, lost, jitterMs, highestSequence } = stream.stats
    const lostSince = Math.max(0, lost - this.#before.lost)
    const expectedSince = lostSince + Math.max(0, received - this.#before.received)
    this.#before = { received, lost }
    return {
      ssrc: stream.ssrc,
      fractionLost: expectedSince === 0 ? 0 : Math.min(255, Math.floor((lostSince * 256) / expectedSince)),
      cumulativeLost: lost,
      highestSequence,
      jitter: Math.round((jitterMs * stream.clockRate) / 1000),
      lastSr: this.#lastSr?.middle ?? 0,
      delaySinceLastSr: this.#lastSr ? Math.round(((nowMs - this.#lastSr.atMs) * 65_536) / 1000) : 0,
    }
  }
}
