/** Diagnoses authentication: passwords, realms, and registrations that are never accepted. Pure. */
import type { Diagnosis } from '../../../media/contract/sip-trace.ts'
import { listOf } from '../../text/message.ts'
import { parseChallenges } from '../requests/digest.ts'
import { secondsIn } from '../requests/outcome.ts'
import { type Exchange, type Facts, finalOf, header, type Read, skewSeconds, statusOf } from './facts.ts'
import { type Found, makeDiagnosis } from './transport.ts'

/** Seconds of clock difference that are harmless: nonces live for minutes. */
export const SKEW_S = 300

const proofIn = (read: Read): string => header(read, 'Authorization') || header(read, 'Proxy-Authorization')
const challengesIn = ({ message }: Read) =>
  ['WWW-Authenticate', 'Proxy-Authenticate'].flatMap(name => parseChallenges(listOf(message, name).join()))
const isChallenge = (read: Read | null): read is Read => read !== null && [401, 407].includes(statusOf(read))

/** The requests of the same call or registration, oldest first. */
const triesOf = ({ exchanges }: Facts, { callId, method }: Exchange): Exchange[] =>
  exchanges.filter(exchange => exchange.callId === callId && exchange.method === method)

/** Diagnoses a request that was refused although it carried credentials. */
export function rejectedCredentials(found: Found): Diagnosis | null {
  const { exchange, final, facts, given } = found
  const tries = triesOf(facts, exchange)
  if (exchange.method === 'REGISTER' && final !== null) {
    const loop = tooBrief(tries, final)
    if (loop !== null) return loop
  }
  if (!exchange.request.seen.sent || final === null || proofIn(exchange.request) === '') return null
  const user = given.trunk?.username ?? ''
  if (isChallenge(final)) return challengedAgain(tries, final, user)
  if (exchange.method !== 'REGISTER') return null
  if (statusOf(final) === 403) {
    const message = `The carrier asked for a password and then refused ours for the user “${user}”.`
    const advice =
      'Check user name and password. If both are right, check that the account is active and may register from this address.'
    return makeDiagnosis('wrong_password', message, advice, exchange.request, final)
  }
  return null
}

function challengedAgain(tries: readonly Exchange[], final: Read, user: string): Diagnosis {
  const asked = tries.map(finalOf).filter(isChallenge)
  const proven = tries.filter(({ request }) => proofIn(request) !== '')
  const evidence = proven.flatMap(one => [one.request, finalOf(one)])
  const stale = challengesIn(final).some(challenge => challenge.stale)
  const skew = skewSeconds(final)
  if (stale && skew !== null && Math.abs(skew) > SKEW_S) return skewed(final, skew, ...evidence)
  if (stale) {
    const message = `The carrier rejected its own nonce as stale, ${asked.length} times in a row.`
    const advice =
      'This is a fault of the carrier: often several servers behind one name do not share their nonces. Set one of them as the host, or ask the carrier.'
    return makeDiagnosis('register_loop', message, advice, ...evidence)
  }
  const realms = [...new Set(challengesIn(final).map(({ realm }) => realm))].join(', ')
  const message = `The carrier does not accept the password of the user “${user}” (realm “${realms}”).`
  return makeDiagnosis(
    'wrong_password',
    message,
    'Enter the SIP user name and password again, exactly as the carrier shows them.',
    ...evidence,
  )
}

export function skewed(read: Read, skew: number, ...evidence: (Read | null)[]): Diagnosis {
  const message = `The carrier’s clock is ${inWords(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} ours.`
  const advice =
    'Set this machine’s clock with NTP. If it is right, inform the carrier: credentials and certificates expire by the clock.'
  return makeDiagnosis('clock_skew', message, advice, ...(evidence.length > 0 ? evidence : [read]))
}

function inWords(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`
  if (seconds < 7200) return `${Math.round(seconds / 60)} minutes`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} hours` : `${Math.round(seconds / 86_400)} days`
}

/** Diagnoses repeated 423 responses: the carrier refuses every interval as too short. */
function tooBrief(tries: readonly Exchange[], final: Read): Diagnosis | null {
  const refused = tries.map(finalOf).filter((read): read is Read => read !== null && statusOf(read) === 423)
  if (statusOf(final) !== 423) return null
  const wanted = refused.map(read => secondsIn(header(read, 'Min-Expires')))
  const last = wanted.at(-1)
  const message =
    last === null || last === undefined
      ? 'The carrier refuses our registration interval as too short, without saying which one it accepts.'
      : `The carrier refuses every registration interval as too short: it asks for ${wanted.join(', then ')} seconds.`
  return makeDiagnosis('register_loop', message, 'Ask the carrier how long a registration may last.', ...refused)
}

/** Diagnoses a refused request without credentials. */
export function missingCredentials({ exchange, final, given }: Found): Diagnosis | null {
  if (!exchange.request.seen.sent || final === null) return null
  if (exchange.method === 'REGISTER' && statusOf(final) === 404) {
    const message = `The carrier does not know the user “${given.trunk?.username ?? ''}”.`
    return makeDiagnosis('user_unknown', message, 'Check the user name, the host and `from_domain`.', final)
  }
  if (!isChallenge(final) || proofIn(exchange.request) !== '') return null
  const challenges = challengesIn(final)
  const realms = [...new Set(challenges.map(({ realm }) => realm))].join(', ')
  const { trunk } = given
  if (trunk === null || trunk.username === null || trunk.password === null) {
    const message = `The carrier asks for a user name and a password (realm “${realms}”), and the trunk has none.`
    return makeDiagnosis(
      'credentials_missing',
      message,
      'Enter them, or ask the carrier to authenticate us by IP address.',
      final,
    )
  }
  if (challenges.length > 0 && trunk.realm !== null && !challenges.some(({ realm }) => realm === trunk.realm)) {
    const message = `The carrier asks for the password of the realm “${realms}”, but the trunk is set to “${trunk.realm}”.`
    return makeDiagnosis('wrong_realm', message, `Set the realm of the trunk to “${realms}”, or leave it empty.`, final)
  }
  const message = 'The carrier asks for an authentication method that we do not support.'
  return makeDiagnosis(
    'auth_unsupported',
    message,
    'We support Digest with MD5, SHA-256 or SHA-512-256 and qop=auth.',
    final,
  )
}
