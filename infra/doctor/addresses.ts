/** Findings about destinations that the policy for addresses refused, at all processes and at the SIP server. */
import type { EgressRefusal } from '../../media/shared/egress.ts'
import { about, type Finding, many, time } from './finding.ts'

const say = about('Addresses')
/** Targets named in the report; the rest is summed up. */
const MOST_NAMED = 5
const TODO =
  'If these are yours: add the network to TRUNK_PRIVATE_HOSTS (SIP, RTP), or host:port to FETCH_ALLOW (HTTP). ' +
  'Otherwise somebody named addresses where nothing may be sent.'

export function judgeRefusals(refusals: readonly EgressRefusal[], nowMs: number): Finding[] {
  if (refusals.length === 0) return []
  const named = refusals.slice(0, MOST_NAMED).map(({ kind, target, count, at }) => {
    const what = kind === 'http' ? many(count, 'request') : many(count, 'packet')
    return `${kind.toUpperCase()} to ${target} (${what}, ${time(Math.max(0, nowMs - at))} ago)`
  })
  const rest = refusals.length - named.length
  const more = rest > 0 ? `, and ${many(rest, 'further destination')}` : ''
  return [say.warning(`Refused: ${named.join(', ')}${more}.`, TODO)]
}
