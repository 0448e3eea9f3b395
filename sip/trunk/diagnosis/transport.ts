/** The doctor on carriers that cannot be reached: nothing came back, or the signalling server says why it could not send. Pure. */
import type { Diagnosis, DiagnosisCode } from '../../../media/contract/sip-trace.ts'
import { type Case, type Exchange, type Facts, finalOf, type Read, saidBy, statusOf } from './facts.ts'

export type Found = {
  readonly exchange: Exchange
  readonly final: Read | null
  readonly facts: Facts
  readonly given: Case
}

export const told = (
  code: DiagnosisCode,
  words: string,
  advice: string | null,
  ...evidence: (Read | null)[]
): Diagnosis => ({ code, words, advice, evidence: evidence.flatMap(read => (read === null ? [] : [read.index])) })

const ASK_FOR_CERTIFICATE =
  'Enter the host by the name that the carrier documents for TLS, or ask the carrier for a right certificate.'

/** What went wrong below SIP, by the words of a TLS or TCP stack. Null: not known. */
export function transportDiagnosis(words: string, host: string): Omit<Diagnosis, 'evidence'> | null {
  const certificate = /certificate is (?:only )?for (.+?), not for/.exec(words)?.[1]
  if (certificate !== undefined || /altname|ERR_TLS_CERT_ALTNAME/i.test(words)) {
    const named = certificate === undefined ? '' : ` It is for ${certificate}.`
    const text = `The TLS certificate at ${host} is not for that name.${named}`
    return { code: 'tls_name_mismatch', words: text, advice: ASK_FOR_CERTIFICATE }
  }
  if (/expired|not valid yet|NOT_YET_VALID/i.test(words)) {
    const text = `The TLS certificate at ${host} is out of date, or a clock is wrong.`
    return { code: 'tls_expired', words: text, advice: 'Ask the carrier to renew it; check the clock of this machine.' }
  }
  if (/self-signed|not believed|UNABLE_TO_|SELF_SIGNED/i.test(words)) {
    const text = `The TLS certificate at ${host} is signed by nobody whom we believe.`
    const advice = 'Give the SIP server the authority that signed it, or use the public name of the carrier.'
    return { code: 'tls_untrusted', words: text, advice }
  }
  if (/TLS|EPROTO|SSL|handshake/i.test(words)) {
    const text = `There is no agreement on TLS with ${host}.`
    return {
      code: 'tls_failed',
      words: text,
      advice: 'TLS mostly has a port of its own: 5061. Check port and transport.',
    }
  }
  if (/ECONNREFUSED|nobody listens/i.test(words)) {
    const text = `Nobody listens at ${host}.`
    return { code: 'transport_refused', words: text, advice: 'Check host, port and transport of the trunk.' }
  }
  if (/no route|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|reset|timeout/i.test(words)) {
    const text = `There is no way to ${host}.`
    return {
      code: 'transport_unreachable',
      words: text,
      advice: 'Check the address, the firewall and the network of this machine.',
    }
  }
  return null
}

/** Without a port, where it is a name. */
const whither = ({ request }: Exchange): string => request.seen.target

export function unreached({ exchange, final, facts }: Found): Diagnosis | null {
  if (!exchange.request.seen.sent) return null
  if (final === null) return exchange.answers.length > 0 ? null : silence(exchange, facts)
  if (!final.seen.made_up) return null
  if (statusOf(final) === 408) return exchange.answers.length > 1 ? null : silence(exchange, facts, final)
  const said = saidBy(final)
  const host = whither(exchange)
  if (/DNS/i.test(said)) {
    const words = `The name of ${host} could not be resolved.`
    return told(
      'dns_failed',
      words,
      'Check the spelling of the host, and the DNS of this machine.',
      exchange.request,
      final,
    )
  }
  const known = transportDiagnosis(said, host)
  if (known !== null) return { ...known, evidence: [exchange.request.index, final.index] }
  const words = `The message could not be handed over to ${host}.`
  const advice = 'Check host, port and transport of the trunk, and the firewall of this machine.'
  return told('transport_unreachable', words, advice, exchange.request, final)
}

function silence(exchange: Exchange, facts: Facts, final: Read | null = null): Diagnosis {
  const host = whither(exchange)
  const before = facts.exchanges.some(
    other => other !== exchange && other.request.seen.sent && finalOf(other)?.seen.made_up === false,
  )
  const udp = exchange.request.seen.transport === 'udp'
  const size = exchange.request.seen.text.length
  const words = before
    ? `${host} answered before, but not this ${exchange.method}.`
    : `${host} never answered our ${exchange.method}.`
  const long = udp && size > 1300 ? ` Our message has ${size} bytes, which UDP may lose on its way: try TCP.` : ''
  const advice = udp
    ? `Check host and port; many carriers drop what comes from an address that they don't know, so tell them ours.${long}`
    : 'The connection stands, but nobody speaks SIP there: check port and transport.'
  return told('no_response', words, advice, exchange.request, final)
}
