/** Metrics of calls, recorded when they are dialled and when they end: number, latency and audio quality. */
import { type CallRecord, FinalStatus, type MediaStats } from '../../media/contract/messages.ts'
import type { Metrics } from '../../media/shared/metrics.ts'
import { quietOf } from './quiet.ts'

const ANSWER_S = [0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10]
const JITTER_S = [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2]
const LOSS = [0, 0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25]
const DEAD_AIR_S = [2.5, 3, 4, 5, 7.5, 10, 15, 30]
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
/**
 * Buckets by user satisfaction in ITU-T G.107, annex B: 4.3 very satisfied, 4.0 satisfied, 3.6 some dissatisfied, 3.1
 * many dissatisfied, 2.6 nearly all dissatisfied.
 */
const MOS = [1.5, 2, 2.6, 3.1, 3.6, 3.8, 4, 4.2, 4.3, 4.4]

/** The fields of an ended call that are measured. */
type Ended = Pick<
  CallRecord,
  'status' | 'latency' | 'media' | 'answered_by' | 'ended_reason' | 'talked_ms' | 'transcript' | 'tool_calls'
>

export type CallMeters = ReturnType<typeof createCallMeters>

export function createCallMeters(metrics: Metrics) {
  const ended = metrics.counter({
    name: 'parley_calls_ended_total',
    help: 'Ended calls, by final status.',
    labels: { status: FinalStatus.options },
  })
  const answers = metrics.histogram({
    name: 'parley_voice_to_voice_seconds',
    help: "Time from the caller's last sound to the agent's first, per turn.",
    labels: { first: ['answer', 'filler'] },
    buckets: ANSWER_S,
  })
  const deadAir = metrics.histogram({
    name: 'parley_dead_air_seconds',
    help: "Silences of more than two seconds in the agent's turn.",
    buckets: DEAD_AIR_S,
  })
  const quiet = metrics.histogram({
    name: 'parley_call_quiet_ratio',
    help: 'Share of the talk time in which nobody spoke, per call.',
    buckets: SHARES,
  })
  const jitter = metrics.histogram({
    name: 'parley_call_jitter_seconds',
    help: 'Jitter of received audio, per SIP call.',
    buckets: JITTER_S,
  })
  const loss = metrics.histogram({
    name: 'parley_call_loss_ratio',
    help: 'Share of packets that were lost or arrived too late, per SIP call.',
    buckets: LOSS,
  })
  const mos = metrics.histogram({
    name: 'parley_call_mos',
    help: "Estimated MOS of the caller's audio (E-model, 1 to 4.5), per SIP call.",
    buckets: MOS,
  })
  return {
    dialed: metrics.counter({ name: 'parley_calls_dialed_total', help: 'Calls that an engine has started to dial.' }),
    /** Call once per call. */
    ended(record: Ended): void {
      ended.add({ status: record.status })
      for (const { total_ms, filler } of record.latency.turns) {
        answers.observe({ first: filler ? 'filler' : 'answer' }, total_ms / 1000)
      }
      const silent = quietOf(record)
      for (const ms of silent.deadAir) deadAir.observe(ms / 1000)
      if (silent.share !== null) quiet.observe(silent.share)
      const { media } = record
      if (media === null || media.packets_received === 0) return
      jitter.observe(media.jitter_ms / 1000)
      loss.observe(lossOf(media))
      mos.observe(estimateMos(media))
    },
  }
}

type Heard = Pick<MediaStats, 'packets_received' | 'packets_lost' | 'packets_late' | 'jitter_ms'>

export function lossOf({ packets_received, packets_lost, packets_late }: Heard): number {
  const expected = packets_received + packets_lost
  return expected === 0 ? 0 : Math.min(1, (packets_lost + packets_late) / expected)
}

/** Packet-loss robustness of G.711 with concealment against random loss (ITU-T G.113, appendix I). */
const ROBUSTNESS = 25.1
const PACKET_MS = 20

/**
 * Estimates MOS with the E-model (ITU-T G.107) and its defaults, as for G.711, from what our end knows: loss, and
 * jitter as the delay of a buffer that would hide it. The delay of the network is unknown, so the result is an upper
 * bound.
 */
export function estimateMos(stats: Heard): number {
  const lossPercent = 100 * lossOf(stats)
  const delayMs = PACKET_MS + 2 * stats.jitter_ms
  const delayed = 0.024 * delayMs + (delayMs > 177.3 ? 0.11 * (delayMs - 177.3) : 0)
  const lost = (95 * lossPercent) / (lossPercent + ROBUSTNESS)
  const rating = 93.2 - delayed - lost
  if (rating <= 0) return 1
  return 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6
}
