/** Explains in plain words why a call or a check failed. Pure function of the captured messages. */
import type { Diagnosis } from '../../../media/contract/sip-trace.ts'
import { answeredCall } from './answered.ts'
import { missingCredentials, rejectedCredentials } from './auth.ts'
import { type Case, type Exchange, finalOf, readFacts, statusOf } from './facts.ts'
import { refusal } from './refusal.ts'
import { unreachableHost } from './transport.ts'

export type { Case } from './facts.ts'

const isFine = (exchange: Exchange): boolean => {
  const final = finalOf(exchange)
  if (final === null || final.seen.generated) return false
  // Any answer to OPTIONS proves that the host is there.
  return exchange.method === 'OPTIONS' || (statusOf(final) >= 200 && statusOf(final) < 300)
}

/** The exchange that decides the outcome: the last INVITE, or else a failed exchange. Null when all succeeded. */
function deciding(exchanges: readonly Exchange[]): Exchange | null {
  const first = exchanges.filter(({ request }) => !/;\s*tag=/i.test(to(request.message.headers)))
  for (const method of ['INVITE', 'REGISTER', 'OPTIONS']) {
    const of = first.filter(exchange => exchange.method === method)
    const tries = method === 'INVITE' ? of.slice(-1) : lastOfEach(of)
    const failed = tries.find(exchange => !isFine(exchange))
    if (failed !== undefined) return failed
    if (method === 'INVITE' && tries.length > 0) return null
  }
  return null
}

const to = (headers: readonly (readonly [string, string])[]): string =>
  headers.find(([name]) => name === 'To')?.[1] ?? ''

const lastOfEach = (exchanges: readonly Exchange[]): Exchange[] => [
  ...new Map(exchanges.map(exchange => [exchange.callId, exchange])).values(),
]

/** Returns the main cause; null when nothing is wrong, or the cause is unknown. */
export function diagnose(given: Case): Diagnosis | null {
  const facts = readFacts(given.messages)
  const exchange = deciding(facts.exchanges)
  if (exchange === null) return answeredCall(facts, given)
  const final = finalOf(exchange)
  const found = { exchange, final, facts, given }
  return unreachableHost(found) ?? rejectedCredentials(found) ?? missingCredentials(found) ?? refusal(found)
}
