/** The server side of digest authentication, independent of the product's code. */
import { createHash } from 'node:crypto'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'

export type Proof = { readonly params: Record<string, string>; readonly right: boolean }

/** Checks the credentials of a request. Null when it has none. */
export function proofIn(
  request: SipRequest,
  password: string,
  header: 'Authorization' | 'Proxy-Authorization' = 'Authorization',
): Proof | null {
  const value = headerOf(request, header)
  if (value === null) return null
  const found = [...value.matchAll(/(\w+)=(?:"([^"]*)"|([^\s,]+))/g)]
  const params = Object.fromEntries(found.map(([, name, quoted, bare]) => [name!, quoted ?? bare ?? '']))
  const hash = (text: string): string =>
    createHash((params['algorithm'] ?? 'MD5').startsWith('SHA-256') ? 'sha256' : 'md5')
      .update(text)
      .digest('hex')
  const { username, realm, nonce, nc, cnonce, qop, uri, response } = params
  const secret = hash(`${username}:${realm}:${password}`)
  const key = params['algorithm']?.endsWith('-sess') ? hash(`${secret}:${nonce}:${cnonce}`) : secret
  const middle = qop === undefined ? '' : `${nc}:${cnonce}:${qop}:`
  const expected = hash(`${key}:${nonce}:${middle}${hash(`${request.method}:${uri}`)}`)
  return { params, right: response === expected && uri === request.uri }
}

export const tagOf = (value: string | null): string | undefined => /;tag=([^;>]+)/.exec(value ?? '')?.[1]
export const seqOf = (request: SipRequest): number => Number.parseInt(headerOf(request, 'CSeq') ?? '', 10)
