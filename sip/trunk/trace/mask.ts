/** Removes secrets from a SIP message before anybody reads its trace: credentials, passwords, keys. Pure. */

const MASK = '***'

/** A header with its folded lines. The bounds here and below keep matching linear for any input. */
const HEADER = /^([^\s:=]{1,64})([ \t]*:[ \t]*)([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/gm
const PROOF = /^(?:(?:proxy-|www-)?(?:authorization|authenticate)|(?:proxy-)?authentication-info)$/i
/** Headers of carriers and PBXs that carry a password. */
const PASSWORD = /token|secret|passw|api-?key|cookie/i
/** Secret parameters of digests (RFC 7616); realm, algorithm and user stay readable. */
const DIGEST_SECRETS =
  /\b(response|rspauth|nonce|nextnonce|cnonce|opaque)\s{0,9}=\s{0,9}(?:"(?:[^"\\]|\\.)*(?:"|$)|[^\s,;"]+)/gi
/** `sip:user:password@host` (RFC 3261 §19.1.1). */
const URI_PASSWORD = /(sips?:[^\s<>@:;"]{0,128}):[^\s<>@"]{1,512}@/gi
/** Media keys: RFC 4568, RFC 8839, RFC 4567, and `k=` of RFC 4566. */
const SDP_SECRETS: readonly (readonly [RegExp, string])[] = [
  [/^(a=crypto:[^\r\n:]{0,128}inline:)[^\r\n]*/gim, `$1${MASK}`],
  [/^(a=(?:ice-pwd|key-mgmt):)[^\r\n]*/gim, `$1${MASK}`],
  [/^k=[^\r\n]*/gm, `k=${MASK}`],
]
/** A pressed key may be part of a PIN. */
const PRESSED = /^([ \t]*Signal[ \t]*=[ \t]*)[^\r\n]*/gim
const DTMF_TYPE = /^(?:Content-Type|c)[ \t]*:[ \t]*application\/dtmf\b(?!-relay)/im
/** Longest text kept, in characters. It is cut between lines, so that no part of a secret stays. */
const LONGEST = 16_384

export function maskSecrets(whole: string): string {
  const text = whole.length > LONGEST ? whole.slice(0, Math.max(0, whole.lastIndexOf('\n', LONGEST))) : whole
  // Also masks a body that is part of a SIP message (`message/sipfrag`).
  const masked = text.replace(HEADER, maskHeader).replace(URI_PASSWORD, `$1:${MASK}@`)
  const end = masked.search(/\r?\n\r?\n/)
  if (end < 0) return masked
  const [head, body] = [masked.slice(0, end), masked.slice(end)]
  if (DTMF_TYPE.test(head)) return head + body.replace(/\S[^\r\n]*/g, MASK)
  const silent = SDP_SECRETS.reduce((part, [secret, instead]) => part.replace(secret, instead), body)
  return head + silent.replace(PRESSED, `$1${MASK}`)
}

function maskHeader(all: string, name: string, colon: string, value: string): string {
  if (PASSWORD.test(name)) return `${name}${colon}${MASK}`
  if (!PROOF.test(name)) return all
  // The fields of a scheme other than Digest are unknown, so all are masked.
  const scheme = /^([^\s=,]{1,64})\s+\S/.exec(value)?.[1]
  if (scheme !== undefined && scheme.toLowerCase() !== 'digest') return `${name}${colon}${scheme} ${MASK}`
  return `${name}${colon}${value.replace(DIGEST_SECRETS, `$1="${MASK}"`)}`
}
