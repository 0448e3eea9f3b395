import { randomUUID } from 'node:crypto'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { DialOptions, DialResult } from '../../../media/ports/dialer.ts'
import type { RtpSession } from '../../../media/rtp/session.ts'
import { accountOf, Credentials } from '../requests/credentials.ts'
import { outcomeOf } from '../requests/outcome.ts'
import { proxyHost } from '../routing/address.ts'
import { hostOfHop, type NextHop } from '../routing/next-hop.ts'
import { TOO_LATE, takeRateToken } from '../routing/rate-token.ts'
import { type AttemptOutcome, CANCELED, DialAttempt, failure, type TrunkContext } from './attempt.ts'
import { advertisedAddress, localAudio, mediaPreferences } from './media.ts'

/** Places one call over a trunk, through the first of its hosts that accepts it. Never rejects. */
export async function dial(context: TrunkContext, trunk: TrunkPlan, options: DialOptions): Promise<DialResult> {
  if (options.signal.aborted) return failure(CANCELED, null)
  let rtp: RtpSession
  try {
    rtp = await context.media.open()
  } catch (error) {
    context.log.error({ err: error }, 'no free RTP port for outbound call')
    return failure({ status: 'failed', reason: 'no_capacity', message: 'No RTP port is free.' }, null)
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
  const nextHops = health.orderBy(await context.nextHops.of(trunk), hostOfHop)
  let tried: DialResult | null = null
  for (const [index, hop] of nextHops.entries()) {
    if (tried !== null && !(await takeRateToken(context.pace, trunk, options).catch(() => false))) return tried
    if (options.signal.aborted) return failure(CANCELED, null)
    if (clock.wall() >= (options.plan.dial_by ?? Infinity)) return tried ?? failure(TOO_LATE, null)
    const host = hostOfHop(hop)
    const outcome = await attempt(index < nextHops.length - 1, hop)
    if (outcome.answered) health.recordAnswer(host)
    if (!outcome.next) return outcome.result
    tried = outcome.result
    health.recordFailure(host, outcome.retryAfterMs)
    if (index === nextHops.length - 1 || clock.now() >= endAtMs) return outcome.result
    log.warn({ trunk_id: trunk.id, host: host.host }, 'trying next host of trunk')
  }
  return failure(outcomeOf(503, false), null)

  async function attempt(more: boolean, hop: NextHop): Promise<AttemptOutcome> {
    try {
      const address = await advertisedAddress(context.media, rtp, proxyHost(trunk) ?? hostOfHop(hop).host)
      const local = localAudio(rtp, address, mediaPreferences(context.media, trunk))
      const parts = { trunk, hop, callId, more, options, rtp, local, credentials, endAtMs }
      return await new DialAttempt(context, parts).run()
    } catch (error) {
      log.warn({ err: error, trunk_id: trunk.id }, 'sending outbound call failed')
      return { result: failure(outcomeOf(503, false), null), next: true, answered: false, retryAfterMs: null }
    }
  }
}
