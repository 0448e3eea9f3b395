import { randomUUID } from 'node:crypto'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { DialOptions, DialResult } from '../../../media/ports/dialer.ts'
import type { RtpSession } from '../../../media/rtp/session.ts'
import { accountOf, Credentials } from '../requests/credentials.ts'
import { verdictOf } from '../requests/outcome.ts'
import { proxyHost } from '../routing/address.ts'
import { type NextHop, reached } from '../routing/next-hop.ts'
import { TOO_LATE, takeRateToken } from '../routing/rate-token.ts'
import { Attempt, type AttemptOutcome, CANCELED, failure, type TrunkContext } from './attempt.ts'
import { advertisedAddress, localAudio, wishesOf } from './media.ts'

/** Places one call over a trunk, through the first of its hosts that accepts it. Never rejects. */
export async function dial(context: TrunkContext, trunk: TrunkPlan, options: DialOptions): Promise<DialResult> {
  if (options.signal.aborted) return failure(CANCELED, null)
  let rtp: RtpSession
  try {
    rtp = await context.media.open()
  } catch (error) {
    context.log.error({ err: error }, 'no free RTP port for outbound call')
    return failure({ status: 'failed', reason: 'no_capacity', words: 'No RTP port is free.' }, null)
  }
  const result = await tryHosts(context, trunk, options, rtp)
  if (!result.ok) rtp.close()
  return result
}

async function tryHosts(
  context: TrunkContext,
  trunk: TrunkPlan,
  options: DialOptions,
  rtp: RtpSession,
): Promise<DialResult> {
  const { health, clock, log } = context
  const account = accountOf(trunk)
  const credentials = account === null ? null : new Credentials(account)
  const endAtMs = clock.now() + options.plan.ring_timeout_ms
  const callId = randomUUID()
  const places = health.orderBy(await context.places.of(trunk), reached)
  let tried: DialResult | null = null
  for (const [index, place] of places.entries()) {
    if (tried !== null && !(await takeRateToken(context.pace, trunk, options).catch(() => false))) return tried
    if (options.signal.aborted) return failure(CANCELED, null)
    if (clock.wall() >= (options.plan.dial_by ?? Infinity)) return tried ?? failure(TOO_LATE, null)
    const host = reached(place)
    const outcome = await attempt(index < places.length - 1, place)
    if (outcome.answered) health.spoke(host)
    if (!outcome.next) return outcome.result
    tried = outcome.result
    health.failed(host, outcome.retryAfterMs)
    if (index === places.length - 1 || clock.now() >= endAtMs) return outcome.result
    log.warn({ trunk_id: trunk.id, host: host.host }, 'trying next host of trunk')
  }
  return failure(verdictOf(503, false), null)

  async function attempt(more: boolean, place: NextHop): Promise<AttemptOutcome> {
    try {
      const address = await advertisedAddress(context.media, rtp, proxyHost(trunk) ?? reached(place).host)
      const local = localAudio(rtp, address, wishesOf(context.media, trunk))
      const parts = { trunk, place, callId, more, options, rtp, local, credentials, endAtMs }
      return await new Attempt(context, parts).run()
    } catch (error) {
      log.warn({ err: error, trunk_id: trunk.id }, 'sending outbound call failed')
      return { result: failure(verdictOf(503, false), null), next: true, answered: false, retryAfterMs: null }
    }
  }
}
