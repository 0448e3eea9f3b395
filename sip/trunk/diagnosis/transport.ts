/** Diagnoses unreachable carriers: no response, or the signalling server reports why it could not send. Pure. */
import type { Diagnosis, DiagnosisCode } from '../../../media/contract/sip-trace.ts'
import { type Case, type Exchange, type Facts, finalOf, type Read, saidBy, statusOf } from './facts.ts'

export type Found = {
  readonly exchange: Exchange
  readonly final: Read | null
  readonly facts: Facts
  readonly given: Case
}

export const makeDiagnosis = (
  code: DiagnosisCode,
  message: string,
  advice: string | null,
  ...evidence: (Read | null)[]
): Diagnosis => ({ code, message, advice, evidence: evidence.flatMap(read => (read === null ? [] : [read.index])) })

const ASK_FOR_CERTIFICATE =
  'Set the host to the name that the carrier documents for TLS, or ask the carrier for a valid certificate.'

/** Maps the error text of a TLS or TCP stack to a diagnosis. Null when unknown. */
export function transportDiagnosis(message: string, host: string): Omit<Diagnosis, 'evidence'> | null {
  const certificate = /certificate is (?:only )?for (.+?), not for/.exec(message)?.[1]
  if (certificate !== undefined || /altname|ERR_TLS_CERT_ALTNAME/i.test(message)) {
    const named = certificate === undefined ? '' : ` It is for ${certificate}.`
    const text = `The TLS certificate at ${host} is not for that name.${named}`
    return { code: 'tls_name_mismatch', message: text, advice: ASK_FOR_CERTIFICATE }
  }
  if (/expired|not valid yet|NOT_YET_VALID/i.test(message)) {
    const text = `The TLS certificate at ${host} has expired or is not valid yet, or a clock is wrong.`
    return {
      code: 'tls_expired',
      message: text,
      advice: 'Ask the carrier to renew it, and check this machine’s clock.',
    }
  }
  if (/self-signed|not trusted|UNABLE_TO_|SELF_SIGNED/i.test(message)) {
    const text = `The TLS certificate at ${host} is not signed by a trusted authority.`
    const advice =
      'Add the signing authority to the SIP server’s CA certificates, or use the carrier’s public host name.'
    return { code: 'tls_untrusted', message: text, advice }
  }
  if (/TLS|EPROTO|SSL|handshake/i.test(message)) {
    const text = `The TLS handshake with ${host} failed.`
    return {
      code: 'tls_failed',
      message: text,
      advice: 'TLS usually has its own port, 5061. Check the port and the transport.',
    }
  }
  if (/ECONNREFUSED|connection refused/i.test(message)) {
    const text = `${host} refused the connection.`
    return { code: 'transport_refused', message: text, advice: 'Check the trunk’s host, port and transport.' }
  }
  if (/no route|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|reset|timeout/i.test(message)) {
    const text = `Couldn’t reach ${host}.`
    return {
      code: 'transport_unreachable',
      message: text,
      advice: 'Check the address, the firewall and this machine’s network.',
    }
  }
  return null
}

/** The request's target; a host name has no port. */
const targetOf = ({ request }: Exchange): string => request.seen.target

export function unreachableHost({ exchange, final, facts }: Found): Diagnosis | null {
  if (!exchange.request.seen.sent) return null
  if (final === null) return exchange.answers.length > 0 ? null : silence(exchange, facts)
  if (!final.seen.generated) return null
  if (statusOf(final) === 408) return exchange.answers.length > 1 ? null : silence(exchange, facts, final)
  const said = saidBy(final)
  const host = targetOf(exchange)
  if (/DNS/i.test(said)) {
    const message = `${host} could not be resolved.`
    return makeDiagnosis(
      'dns_failed',
      message,
      'Check the host’s spelling and this machine’s DNS.',
      exchange.request,
      final,
    )
  }
  const known = transportDiagnosis(said, host)
  if (known !== null) return { ...known, evidence: [exchange.request.index, final.index] }
  const message = `The message could not be sent to ${host}.`
  const advice = 'Check the trunk’s host, port and transport, and this machine’s firewall.'
  return makeDiagnosis('transport_unreachable', message, advice, exchange.request, final)
}

function silence(exchange: Exchange, facts: Facts, final: Read | null = null): Diagnosis {
  const host = targetOf(exchange)
  const before = facts.exchanges.some(
    other => other !== exchange && other.request.seen.sent && finalOf(other)?.seen.generated === false,
  )
  const udp = exchange.request.seen.transport === 'udp'
  const size = exchange.request.seen.text.length
  const message = before
    ? `${host} answered earlier requests, but not this ${exchange.method}.`
    : `${host} never answered our ${exchange.method}.`
  const long = udp && size > 1300 ? ` Our message has ${size} bytes, which UDP may not carry: try TCP.` : ''
  const advice = udp
    ? `Check the host and port. Many carriers ignore unknown addresses: ask the carrier to allow ours.${long}`
    : 'The connection is open, but the host does not speak SIP: check the port and the transport.'
  return makeDiagnosis('no_response', message, advice, exchange.request, final)
}
