/**
 * Registrations of softphones, without a network: authentication, and the effect of a REGISTER (RFC 3261 §10.3, RFC
 * 7616).
 */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { SoftphoneState } from '../../../media/contract/softphones.ts'
import { networkOf } from '../../../sip/text/source-network.ts'
import { contactHeader, liveContacts, type Registering, register } from '../../../sip/trunk/registrar/contacts.ts'
import {
  challenges,
  isProven,
  judgeNonce,
  makeNonce,
  NONCE_MS,
  readProof,
} from '../../../sip/trunk/registrar/digest.ts'
import { sourcesWith } from '../../../sip/trunk/registrar/sources.ts'
import { MOST_POINTS, POINTS, Suspects } from '../../../sip/trunk/registrar/suspects.ts'
import { authorization, parseChallenges } from '../../../sip/trunk/requests/digest.ts'

const secret = Buffer.from('secret')
const ha1 = (password: string) => {
  const text = `phone-abcdefgh:parley:${password}`
  return {
    md5: createHash('md5').update(text).digest('hex'),
    sha256: createHash('sha256').update(text).digest('hex'),
  }
}
const input = {
  username: 'phone-abcdefgh',
  password: 'right',
  method: 'REGISTER',
  uri: 'sip:127.0.0.1',
  cnonce: 'c',
  nonceCount: 1,
}

describe('credentials', () => {
  const offered = challenges(makeNonce(secret, 1000), false).map(text => parseChallenges(text)[0]!)

  it('offers SHA-256 and MD5', () => {
    expect(offered.map(({ algorithm }) => algorithm)).toEqual(['SHA-256', 'MD5'])
    for (const challenge of offered) {
      const proof = readProof(authorization(challenge, input))!
      expect(proof).toMatchObject({ username: 'phone-abcdefgh', nonceCount: 1, algorithm: challenge.algorithm })
      expect(isProven(proof, ha1('right'), 'REGISTER')).toBe(true)
      expect(isProven(proof, ha1('wrong'), 'REGISTER')).toBe(false)
      expect(isProven(proof, ha1('right'), 'INVITE')).toBe(false)
    }
  })

  it('offers MD5 alone to clients that fail at unknown algorithms', () => {
    expect(challenges('n', false, 'baresip v1.0.0 (x86_64/linux)')).toHaveLength(1)
    expect(challenges('n', false, 'baresip v3.10.1 (x86_64/linux)')).toHaveLength(2)
    expect(challenges('n', true, 'baresip v1.0.0')[0]).toMatch(/stale=true, algorithm=MD5$/)
  })

  it.each([
    ['of another realm', { realm: 'other' }],
    ['without quality of protection, which could be repeated', { qop: [] as string[] }],
    ['by an algorithm we did not offer', { algorithm: 'SHA-512-256' }],
  ])('%s is none', (_name, over) => {
    expect(readProof(authorization({ ...offered[0]!, ...over }, input))).toBeNull()
  })

  it.each([
    undefined,
    '',
    'Digest',
    'Basic cGhvbmU6cGFzcw==',
    'Digest username="a", realm="parley"',
    'Digest ,,,=,"',
    `Digest username="${'a'.repeat(9000)}", realm="parley", qop=auth, nc=00000001, cnonce="x", nonce="y", uri="z"`,
    'Digest username="a", realm="parley", nonce="n", uri="u", response="", qop=auth, nc=1, cnonce="c"',
  ])('%s is none', header => {
    expect(readProof(header)).toBeNull()
  })

  it('selects the one for our realm', () => {
    const theirs = authorization({ ...offered[0]!, realm: 'proxy.example' }, input)
    const ours = authorization(offered[1]!, input)
    expect(readProof(`${theirs}, ${ours}`)?.algorithm).toBe('MD5')
  })
})

describe('a nonce', () => {
  it('is fresh, stale or foreign', () => {
    const nonce = makeNonce(secret, 1000)
    expect(judgeNonce(secret, nonce, 2000)).toBe('good')
    expect(judgeNonce(secret, nonce, 1000 + NONCE_MS)).toBe('stale')
    expect(judgeNonce(Buffer.from('other'), nonce, 2000)).toBe('foreign')
    const turned = Buffer.from(nonce, 'base64url')
    turned[0]! ^= 1
    for (const text of [turned.toString('base64url'), '', 'x', `${nonce}=`, nonce.slice(1)]) {
      expect(judgeNonce(secret, text, 2000)).toBe('foreign')
    }
    expect(makeNonce(secret, 1000)).not.toBe(nonce)
  })
})

const at = 1_000_000
const base: Registering = {
  contact: '<sip:phone-abcdefgh@192.0.2.1:5070>',
  expires: '300',
  callId: 'one',
  cseq: 1,
  userAgent: 'Test/1',
  host: '192.0.2.1',
  port: 5070,
  transport: 'udp',
  atMs: at,
}
function stateAfter(before: SoftphoneState | null, over: Partial<Registering>): SoftphoneState {
  const outcome = register(before, { ...base, ...over })
  if (!outcome.ok) throw new Error(`refused with ${outcome.status}`)
  return outcome.state
}
const status = (before: SoftphoneState | null, over: Partial<Registering>) => {
  const outcome = register(before, { ...base, ...over })
  return outcome.ok ? 200 : outcome.status
}

describe('a REGISTER', () => {
  it('binds, refreshes and unbinds one Contact only', () => {
    const one = stateAfter(null, {})
    expect(one.contacts).toMatchObject([{ uri: 'sip:phone-abcdefgh@192.0.2.1:5070', expires_at: at + 300_000 }])
    const two = stateAfter(one, {
      contact: '<sip:phone-abcdefgh@192.0.2.2>',
      callId: 'two',
      host: '192.0.2.2',
      port: 5060,
    })
    expect(two.contacts).toHaveLength(2)
    const renewed = stateAfter(two, { cseq: 2, atMs: at + 1000, contact: '<sip:phone-abcdefgh@192.0.2.1:5070;ob>' })
    expect(renewed.contacts.map(({ expires_at }) => expires_at)).toEqual([at + 300_000, at + 301_000])
    const gone = stateAfter(renewed, { cseq: 3, contact: `${base.contact};expires=0` })
    expect(gone.contacts.map(({ host }) => host)).toEqual(['192.0.2.2'])
    expect(contactHeader(gone.contacts, at)).toBe('<sip:phone-abcdefgh@192.0.2.2>;expires=300')
  })

  it('unbinds all with * and Expires: 0 only', () => {
    const one = stateAfter(null, {})
    expect(stateAfter(one, { contact: '*', expires: '0', callId: 'other' }).contacts).toEqual([])
    expect(status(one, { contact: '*', expires: '300', callId: 'other' })).toBe(400)
    expect(status(one, { contact: '*', expires: null, callId: 'other' })).toBe(400)
    expect(status(one, { contact: '*, <sip:a@b>', expires: '0', callId: 'other' })).toBe(400)
  })

  it('lists contacts without a Contact header', () => {
    const one = stateAfter(null, {})
    const asked = stateAfter(one, { contact: null, atMs: at + 5000 })
    expect(asked).toEqual({ ...one, seen_at: at + 5000 })
  })

  it('ignores an older CSeq (step 7)', () => {
    const one = stateAfter(null, { cseq: 5 })
    expect(status(one, { cseq: 5 })).toBe(500)
    expect(status(one, { cseq: 4, contact: `${base.contact};expires=0` })).toBe(500)
    expect(status(one, { cseq: 4, contact: '*', expires: '0' })).toBe(500)
    expect(status(one, { cseq: 1, callId: 'after a restart' })).toBe(200)
  })

  it.each([
    ['too brief', { expires: '30' }, 423],
    ['too brief in the Contact', { contact: `${base.contact};expires=1` }, 423],
    ['no address', { contact: '<mailto:a@b>' }, 400],
    ['headers in it', { contact: '<sip:a@b?Replaces=x>' }, 400],
    ['broken', { contact: '<sip:a@b' }, 400],
    ['empty', { contact: '' }, 400],
    ['much too long', { contact: `<sip:${'a'.repeat(600)}@b>` }, 400],
    ['many at once', { contact: Array.from({ length: 9 }, (_, i) => `<sip:a@192.0.2.${i}>`).join(', ') }, 400],
  ])('rejects the Contact %s', (_name, over, refusal) => {
    expect(status(null, over)).toBe(refusal)
  })

  it('expires within an hour', () => {
    const seconds = (over: Partial<Registering>) => (stateAfter(null, over).contacts[0]!.expires_at - at) / 1000
    expect(seconds({ expires: '999999' })).toBe(3600)
    expect(seconds({ expires: null })).toBe(3600)
    expect(seconds({ expires: 'soon' })).toBe(3600)
    expect(seconds({ contact: `${base.contact};expires=120` })).toBe(120)
  })

  it('shortens expiry behind a UDP NAT, and stores the source address', () => {
    const behind = { contact: '<sip:phone-abcdefgh@10.0.0.4:5060>', host: '203.0.113.9', port: 40_111 }
    const [contact] = stateAfter(null, behind).contacts
    expect(contact).toMatchObject({ host: '203.0.113.9', port: 40_111, expires_at: at + 90_000 })
    expect(stateAfter(null, { ...behind, transport: 'tcp' }).contacts[0]!.expires_at).toBe(at + 300_000)
  })

  it('replaces a contact of the same instance', () => {
    const instance = ';+sip.instance="<urn:uuid:00000000-0000-1000-8000-AABBCCDDEEFF>"'
    const one = stateAfter(null, { contact: `${base.contact}${instance}` })
    const moved = stateAfter(one, { contact: `<sip:phone-abcdefgh@192.0.2.77>${instance}`, callId: 'moved' })
    expect(moved.contacts.map(({ uri }) => uri)).toEqual(['sip:phone-abcdefgh@192.0.2.77'])
  })

  it('rejects a ninth contact', () => {
    let state: SoftphoneState | null = null
    for (let i = 0; i < 8; i++) state = stateAfter(state, { contact: `<sip:p@192.0.2.${i}>`, callId: `${i}` })
    expect(status(state, { contact: '<sip:p@192.0.2.99>', callId: 'nine' })).toBe(403)
    expect(liveContacts(state, at + 300_000)).toEqual([])
    expect(
      stateAfter(state, { contact: '<sip:p@192.0.2.99>', callId: 'nine', atMs: at + 300_000 }).contacts,
    ).toHaveLength(1)
  })
})

describe('strangers', () => {
  it('collect points that decay', () => {
    const suspects = new Suspects()
    for (let i = 0; i < 19; i++) suspects.add('192.0.2.1', POINTS.wrong, 0)
    expect(suspects.of('192.0.2.1', 0)).toBeLessThan(MOST_POINTS)
    expect(suspects.add('192.0.2.1', POINTS.wrong, 0)).toBe(MOST_POINTS)
    expect(suspects.of('192.0.2.1', 120_000)).toBe(MOST_POINTS / 2)
    expect(suspects.of('192.0.2.2', 0)).toBe(0)
    suspects.clear('192.0.2.1')
    expect(suspects.of('192.0.2.1', 0)).toBe(0)
  })

  it('are counted by address, IPv6 by network', () => {
    expect(networkOf('192.0.2.1')).toBe('192.0.2.1')
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64')
    expect(networkOf('2001:db8::5')).toBe('2001:db8:0:0::/64')
    expect(networkOf('::1')).toBe('0:0:0:0::/64')
  })

  it('are answered only where softphones exist, unless blocked', () => {
    const softphones = { any: () => true, banned: () => ['192.0.2.1'] }
    expect(sourcesWith(['198.51.100.1'], null)).toEqual(['198.51.100.1'])
    expect(sourcesWith(['198.51.100.1'], { ...softphones, any: () => false })).toEqual(['198.51.100.1'])
    expect(sourcesWith(['198.51.100.1'], softphones)).toEqual(['198.51.100.1', '?0.0.0.0/0', '?::/0', '!192.0.2.1'])
  })
})
