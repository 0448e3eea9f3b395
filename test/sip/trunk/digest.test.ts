import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Credentials } from '../../../sip/trunk/requests/credentials.ts'
import {
  authorization,
  type Challenge,
  digestResponse,
  nextNonce,
  parseChallenges,
  strongest,
} from '../../../sip/trunk/requests/digest.ts'

const challenge = (over: Partial<Challenge> = {}): Challenge => ({
  realm: 'r',
  nonce: 'n',
  opaque: null,
  algorithm: null,
  qop: ['auth'],
  stale: false,
  ...over,
})
const input = { username: 'u', password: 'p', method: 'REGISTER', uri: 'sip:h', cnonce: 'c', nonceCount: 1 }
const md5 = (text: string): string => createHash('md5').update(text).digest('hex')

describe('responses', () => {
  const mufasa = { ...input, username: 'Mufasa', method: 'GET', uri: '/dir/index.html' }

  it('of RFC 2617 §3.5', () => {
    const asked = challenge({ realm: 'testrealm@host.com', nonce: 'dcd98b7102dd2f0e8b11d0f600bfb0c093' })
    const answer = { ...mufasa, password: 'Circle Of Life', cnonce: '0a4f113b' }
    expect(digestResponse(asked, answer)).toBe('6629fae49393a05397450978507c4ef1')
    // The example of RFC 2069, which had no qop.
    const old = { ...answer, password: 'CircleOfLife' }
    expect(digestResponse({ ...asked, qop: [] }, old)).toBe('1949323746fe6a43ef61f9606e7febea')
  })

  it.each([
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ])('of RFC 7616 §3.9.1, %s', (algorithm, response) => {
    const asked = challenge({
      realm: 'http-auth@example.org',
      nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
      algorithm,
    })
    const cnonce = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ'
    expect(digestResponse(asked, { ...mufasa, password: 'Circle of Life', cnonce })).toBe(response)
  })

  it('of RFC 7616 §3.9.2 as corrected by erratum 4897: SHA-512-256, and a name beyond ASCII', () => {
    const asked = challenge({
      realm: 'api@example.org',
      nonce: '5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK',
      algorithm: 'SHA-512-256',
    })
    const answer = {
      username: 'Jäsøn Doe',
      password: 'Secret, or not?',
      method: 'GET',
      uri: '/doe.json',
      nonceCount: 1,
      cnonce: 'NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v',
    }
    expect(digestResponse(asked, answer)).toBe('3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5')
  })

  it('of a session hash nonce and cnonce into the secret', () => {
    const key = md5(`${md5('u:r:p')}:n:c`)
    const expected = md5(`${key}:n:000000ff:c:auth:${md5('REGISTER:sip:h')}`)
    expect(digestResponse(challenge({ algorithm: 'MD5-sess' }), { ...input, nonceCount: 255 })).toBe(expected)
  })

  it('are written with quotes where they belong, and escaped', () => {
    const asked = challenge({ realm: 'a "b" \\', opaque: 'o', algorithm: 'SHA-256' })
    expect(authorization(asked, { ...input, username: 'j"d' })).toMatch(
      /^Digest username="j\\"d", realm="a \\"b\\" \\\\", nonce="n", uri="sip:h", response="[0-9a-f]{64}", algorithm=SHA-256, cnonce="c", opaque="o", qop=auth, nc=00000001$/,
    )
    expect(authorization(challenge({ qop: [] }), input)).not.toMatch(/qop|nc=|cnonce|algorithm|opaque/)
  })
})

describe('challenges', () => {
  it('are parsed from combined headers', () => {
    const found = parseChallenges(
      'Negotiate, Basic realm="x", DIGEST Realm="a, \\"b\\"" , nonce="n=1,2",qop="auth,auth-int",stale=TRUE,' +
        'Digest realm="c", nonce=n2, algorithm=SHA-256, domain="sip:<x>", Digest realm="no nonce"',
    )
    expect(found).toEqual([
      { realm: 'a, "b"', nonce: 'n=1,2', opaque: null, algorithm: null, qop: ['auth', 'auth-int'], stale: true },
      { realm: 'c', nonce: 'n2', opaque: null, algorithm: 'SHA-256', qop: [], stale: false },
    ])
    for (const nonsense of ['', 'Digest', ',,', '="', 'Digest realm', 'realm="x", nonce="y"']) {
      expect(parseChallenges(nonsense)).toEqual([])
    }
  })

  it('selects the strongest supported challenge', () => {
    const of = (algorithm: string | null, qop = ['auth']) => challenge({ algorithm, qop })
    const [md, sha, session] = [of(null), of('sha-256'), of('SHA-256-sess')]
    expect(strongest([md, sha, session])).toBe(sha)
    expect(strongest([session, sha, md])).toBe(session)
    expect(strongest([sha, of('SHA-512-256')])?.algorithm).toBe('SHA-512-256')
    expect(strongest([of('SHA-256', ['auth-int']), md, of('token')])).toBe(md)
    expect(strongest([of('AKAv1-MD5'), of('MD5', ['auth-int'])])).toBeNull()
  })

  it('nextnonce is read', () => {
    expect(nextNonce('nextnonce="a\\"b", qop=auth')).toBe('a"b')
    expect(nextNonce('qop=auth,nextnonce = "x"')).toBe('x')
    expect(nextNonce('xnextnonce="x"')).toBeNull()
    expect(nextNonce('')).toBeNull()
  })
})

describe('credentials', () => {
  const response = (status: number, headers: Record<string, string>) => ({
    status,
    get: (name: string) => headers[name],
  })
  const asks = (challengeText: string) => response(401, { 'WWW-Authenticate': `Digest ${challengeText}` })
  const fresh = (realm: string | null = null) => {
    let made = 0
    return new Credentials({ username: 'u', password: 'p', realm }, () => `c${++made}`)
  }

  it('count nonce uses and restart with another', () => {
    const credentials = fresh()
    expect(credentials.headers('REGISTER', 'sip:h')).toEqual({})
    expect(credentials.exchange().challenged(asks('realm="r", nonce="a", qop="auth"'))).toBe('answer')
    expect(credentials.headers('REGISTER', 'sip:h')['Authorization']).toMatch(/cnonce="c1", qop=auth, nc=00000001/)
    expect(credentials.headers('REGISTER', 'sip:h')['Authorization']).toMatch(/nonce="a".*cnonce="c1".*nc=00000002/)
    credentials.accepted(response(200, { 'Authentication-Info': 'nextnonce="b"' }))
    expect(credentials.headers('REGISTER', 'sip:h')['Authorization']).toMatch(/nonce="b".*cnonce="c2".*nc=00000001/)
  })

  it('reports a wrong password at the second challenge; a stale nonce once more', () => {
    const wrong = fresh().exchange()
    expect([1, 2].map(n => wrong.challenged(asks(`realm="r", nonce="${n}"`)))).toEqual(['answer', 'rejected'])
    const stale = fresh().exchange()
    const results = [1, 2, 3, 4].map(n => stale.challenged(asks(`realm="r", nonce="${n}", stale=true`)))
    expect(results).toEqual(['answer', 'answer', 'rejected', 'rejected'])
  })

  it('answers a proxy and the server behind it', () => {
    const credentials = fresh()
    const exchange = credentials.exchange()
    const proxy = response(407, { 'Proxy-Authenticate': 'Digest realm="proxy", nonce="1"' })
    expect(exchange.challenged(proxy)).toBe('answer')
    expect(exchange.challenged(asks('realm="server", nonce="2"'))).toBe('answer')
    expect(Object.keys(credentials.headers('INVITE', 'sip:h')).sort()).toEqual(['Authorization', 'Proxy-Authorization'])
    expect(exchange.challenged(proxy)).toBe('rejected')
  })

  it('apply to their realm', () => {
    expect(fresh('mine').exchange().challenged(asks('realm="other", nonce="1"'))).toBe('other_realm')
    const both = asks('realm="other", nonce="1", algorithm=SHA-256, Digest realm="mine", nonce="2"')
    expect(fresh('mine').exchange().challenged(both)).toBe('answer')
  })

  it('reports unsupported challenges', () => {
    for (const text of ['realm="r", nonce="1", qop="auth-int"', 'realm="r", nonce="1", algorithm=Token', 'nonsense']) {
      expect(fresh().exchange().challenged(asks(text))).toBe('unsupported')
    }
    expect(fresh().exchange().challenged(response(401, {}))).toBe('unsupported')
  })
})
