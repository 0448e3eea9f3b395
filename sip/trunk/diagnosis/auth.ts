/** The doctor on who we are: passwords, realms, and registrars that are never content. Pure. */
import type { Diagnosis } from '../../../media/contract/sip-trace.ts'
import { listOf } from '../../text/message.ts'
import { parseChallenges } from '../requests/digest.ts'
import { secondsIn } from '../requests/outcome.ts'
import { type Exchange, type Facts, finalOf, header, type Read, skewSeconds, statusOf } from './facts.ts'
import { type Found, told } from './transport.ts'

/** Nonces live for minutes; what differs by less harms nobody. */
export const SKEW_S = 300

const proofIn = (read: Read): string => header(read, 'Authorization') || header(read, 'Proxy-Authorization')
const challengesIn = ({ message }: Read) =>
  ['WWW-Authenticate', 'Proxy-Authenticate'].flatMap(name => parseChallenges(listOf(message, name).join()))
const isChallenge = (read: Read | null): read is Read => read !== null && [401, 407].includes(statusOf(read))

/** The tries of the same call or registration, oldest first. */
const triesOf = ({ exchanges }: Facts, { callId, method }: Exchange): Exchange[] =>
  exchanges.filter(exchange => exchange.callId === callId && exchange.method === method)

/** After proof. */
export function provenBadly(found: Found): Diagnosis | null {
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
    const words = `The carrier knows how to ask for a password and then refused ours for the user “${user}”.`
    const advice =
      'Check user name and password. When both are right: is the account active, and may it register from here?'
    return told('wrong_password', words, advice, exchange.request, final)
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
    const words = `The carrier takes our proof and then calls its own nonce stale, ${asked.length} times in a row.`
    const advice =
      'That is the carrier’s fault: often several servers behind one name that do not share their nonces. Name one of them as host, or ask the carrier.'
    return told('register_loop', words, advice, ...evidence)
  }
  const realms = [...new Set(challengesIn(final).map(({ realm }) => realm))].join(', ')
  const words = `The carrier does not accept the password of the user “${user}” (realm “${realms}”).`
  return told(
    'wrong_password',
    words,
    'Enter user name and password anew, as the carrier shows them for SIP.',
    ...evidence,
  )
}

export function skewed(read: Read, skew: number, ...evidence: (Read | null)[]): Diagnosis {
  const words = `The carrier’s clock is ${inWords(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} ours.`
  const advice =
    'Set the clock of this machine by NTP; when it is right, tell the carrier. Proofs and certificates expire by it.'
  return told('clock_skew', words, advice, ...(evidence.length > 0 ? evidence : [read]))
}

function inWords(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`
  if (seconds < 7200) return `${Math.round(seconds / 60)} minutes`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} hours` : `${Math.round(seconds / 86_400)} days`
}

/** 423 again and again: never is it long enough. */
function tooBrief(tries: readonly Exchange[], final: Read): Diagnosis | null {
  const refused = tries.map(finalOf).filter((read): read is Read => read !== null && statusOf(read) === 423)
  if (statusOf(final) !== 423) return null
  const wanted = refused.map(read => secondsIn(header(read, 'Min-Expires')))
  const last = wanted.at(-1)
  const words =
    last === null || last === undefined
      ? 'The carrier finds our registration too brief, and does not say how long it wants it.'
      : `The carrier finds every registration too brief: it asks for ${wanted.join(', then ')} seconds.`
  return told('register_loop', words, 'Ask the carrier how long a registration may last.', ...refused)
}

/** Without proof. */
export function notAsked({ exchange, final, given }: Found): Diagnosis | null {
  if (!exchange.request.seen.sent || final === null) return null
  if (exchange.method === 'REGISTER' && statusOf(final) === 404) {
    const words = `The carrier knows no user “${given.trunk?.username ?? ''}” here.`
    return told(
      'user_unknown',
      words,
      'Check the user name, and whether host or `from_domain` is the right one.',
      final,
    )
  }
  if (!isChallenge(final) || proofIn(exchange.request) !== '') return null
  const challenges = challengesIn(final)
  const realms = [...new Set(challenges.map(({ realm }) => realm))].join(', ')
  const { trunk } = given
  if (trunk === null || trunk.username === null || trunk.password === null) {
    const words = `The carrier asks for a user name and a password (realm “${realms}”), and the trunk has none.`
    return told('credentials_missing', words, 'Enter them, or have the carrier know us by our address.', final)
  }
  if (challenges.length > 0 && trunk.realm !== null && !challenges.some(({ realm }) => realm === trunk.realm)) {
    const words = `The carrier asks for the password of the realm “${realms}”, the trunk is set to “${trunk.realm}”.`
    return told('wrong_realm', words, `Set the realm of the trunk to “${realms}”, or leave it empty.`, final)
  }
  const words = 'The carrier asks for proof in a way that we do not know.'
  return told('auth_unsupported', words, 'We answer Digest with MD5, SHA-256 or SHA-512-256 and qop=auth.', final)
}
