import { describe, expect, it } from 'vitest'
import { MasterKey } from '../../../media/rtp/srtp-keys.ts'
import { formatCrypto, parseCrypto, parseFingerprint } from '../../../sip/text/crypto.ts'
import { localSecurity, type SrtpPolicy } from '../../../sip/text/crypto-agree.ts'
import { answerOffer, type LocalAudio, makeOffer, readAnswer, withAgreedRole } from '../../../sip/text/offer.ts'
import { parseSdp } from '../../../sip/text/sdp.ts'

const KEY = 'd0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj'
const KEY_256 = Buffer.alloc(46, 7).toString('base64')
const OURS = Array.from({ length: 32 }, () => 'AB').join(':')
const THEIRS = Array.from({ length: 32 }, () => '0F').join(':')

const local = (policy: SrtpPolicy, fingerprint: string | null = OURS): LocalAudio => ({
  address: '192.0.2.1',
  port: 4000,
  codecs: ['PCMU'],
  sessionId: '7',
  version: 1,
  security: localSecurity(policy, fingerprint),
})
function sdp(protocol: string, lines: string[], session: string[] = []): string {
  const head = ['v=0', 'o=- 1 1 IN IP4 198.51.100.9', 's=-', 'c=IN IP4 198.51.100.9', 't=0 0', ...session]
  return `${[...head, `m=audio 6000 ${protocol} 0`, ...lines].join('\r\n')}\r\n`
}
const crypto = (tag = 1, suite = 'AES_CM_128_HMAC_SHA1_80', key = KEY) => `a=crypto:${tag} ${suite} inline:${key}`
const DTLS = ['a=setup:actpass', `a=fingerprint:sha-256 ${THEIRS}`]

const linesOf = (text: string, name: string) => text.split('\r\n').filter(line => line.startsWith(`a=${name}`))

describe('a=crypto', () => {
  it.each([
    [`1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}`, 1, 'AES_CM_128_HMAC_SHA1_80'],
    [`007  AES_CM_128_HMAC_SHA1_32  inline:${KEY}|2^20`, 7, 'AES_CM_128_HMAC_SHA1_32'],
    [`2 AES_256_CM_HMAC_SHA1_80 inline:${KEY_256}|2147483648 WSH=128 -FOO=1`, 2, 'AES_256_CM_HMAC_SHA1_80'],
    [`3 AES_CM_256_HMAC_SHA1_80 inline:${KEY_256.replace(/=/g, '')} KDR=0`, 3, 'AES_256_CM_HMAC_SHA1_80'],
    [`4 aead_aes_128_gcm inline:${Buffer.alloc(28, 1).toString('base64')}`, 4, 'AEAD_AES_128_GCM'],
  ])('%s', (text, tag, suite) => {
    const parsed = parseCrypto(text)!
    expect([parsed.tag, parsed.key.suite]).toEqual([tag, suite])
    expect(parseCrypto(formatCrypto(parsed))!.key.equals(parsed.key)).toBe(true)
  })

  it.each([
    ['nothing', ''],
    ['no tag', `AES_CM_128_HMAC_SHA1_80 inline:${KEY}`],
    ['a tag too long', `1234567890 AES_CM_128_HMAC_SHA1_80 inline:${KEY}`],
    ['no key', '1 AES_CM_128_HMAC_SHA1_80'],
    ['an empty key', '1 AES_CM_128_HMAC_SHA1_80 inline:'],
    ['another method', `1 AES_CM_128_HMAC_SHA1_80 uri:${KEY}`],
    ['an unknown suite', `1 F8_128_HMAC_SHA1_80 inline:${KEY}`],
    ['a suite of every object', `1 constructor inline:${KEY}`],
    ['a prototype as suite', `1 __proto__ inline:${KEY}`],
    ['no encryption', `1 NULL_HMAC_SHA1_80 inline:${KEY}`],
    ['a key too short', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY.slice(0, 36)}`],
    ['a key too long', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_256}`],
    ['a key that is no base64', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY.slice(0, 39)}!`],
    ['a key with loose bits', `1 AES_256_CM_HMAC_SHA1_80 inline:${`${KEY_256.slice(0, 61)}x`}==`],
    ['an MKI', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}|2^20|1:4`],
    ['an MKI alone', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}|1:4`],
    ['two keys', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}|2^20|1:4;inline:${KEY}|2^20|2:4`],
    ['a lifetime that is none', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}|2^`],
    ['a lifetime of nothing', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}|0`],
    ['a lifetime too long', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}|2^49`],
    ['another key derivation', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY} KDR=1`],
    ['sound in the clear', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY} UNENCRYPTED_SRTP`],
    ['reports in the clear', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY} UNENCRYPTED_SRTCP`],
    ['no authentication', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY} UNAUTHENTICATED_SRTP`],
    ['what nobody knows', `1 AES_CM_128_HMAC_SHA1_80 inline:${KEY} FOO=BAR`],
  ])('is skipped with %s', (_name, text) => {
    expect(parseCrypto(text)).toBeNull()
  })
})

describe('a=fingerprint', () => {
  it.each([
    [`sha-256 ${THEIRS}`, true],
    [`SHA-256 ${THEIRS.toLowerCase()}`, true],
    [`sha-512 ${Array(64).fill('00').join(':')}`, true],
    [`sha-1 ${Array(20).fill('00').join(':')}`, false],
    [`sha-256 ${THEIRS}:00`, false],
    [`sha-256 ${THEIRS.replaceAll(':', '')}`, false],
    ['sha-256', false],
    ['constructor 00:11', false],
  ])('%s', (text, good) => {
    expect(parseFingerprint(text) !== null).toBe(good)
  })
})

describe('an offer is answered', () => {
  const kindOf = (policy: SrtpPolicy, text: string) => {
    const result = answerOffer(text, local(policy))
    return result.ok ? result.audio.security.kind : result.code
  }

  it.each<[string, string, string[], string, string, string]>([
    ['plain', 'RTP/AVP', [], 'none', 'none', 'not_secured'],
    ['plain with feedback', 'RTP/AVPF', [], 'none', 'none', 'not_secured'],
    ['SDES', 'RTP/SAVP', [crypto()], 'unsupported_profile', 'sdes', 'sdes'],
    ['SDES with feedback', 'RTP/SAVPF', [crypto()], 'unsupported_profile', 'sdes', 'sdes'],
    ['SDES if you like', 'RTP/AVP', [crypto()], 'none', 'sdes', 'sdes'],
    ['DTLS', 'UDP/TLS/RTP/SAVP', DTLS, 'unsupported_profile', 'dtls', 'dtls'],
    ['DTLS with feedback', 'UDP/TLS/RTP/SAVPF', DTLS, 'unsupported_profile', 'dtls', 'dtls'],
    ['DTLS as RFC 5763 writes it', 'RTP/SAVP', DTLS, 'unsupported_profile', 'dtls', 'dtls'],
    ['both', 'RTP/SAVP', [crypto(), ...DTLS], 'unsupported_profile', 'dtls', 'dtls'],
    [
      'SDES under the profile of DTLS',
      'UDP/TLS/RTP/SAVP',
      [crypto()],
      'unsupported_profile',
      'not_secured',
      'not_secured',
    ],
    ['no key', 'RTP/SAVP', [], 'unsupported_profile', 'not_secured', 'not_secured'],
    [
      'garbage for a key',
      'RTP/SAVP',
      [crypto(1, 'X'), 'a=crypto:', 'a=crypto'],
      'unsupported_profile',
      'not_secured',
      'not_secured',
    ],
    ['garbage that may be ignored', 'RTP/AVP', [crypto(1, 'X')], 'none', 'none', 'not_secured'],
    [
      'a weak fingerprint',
      'UDP/TLS/RTP/SAVP',
      ['a=setup:active', 'a=fingerprint:sha-1 00:11'],
      'unsupported_profile',
      'not_secured',
      'not_secured',
    ],
    [
      'a held connection',
      'UDP/TLS/RTP/SAVP',
      ['a=setup:holdconn', DTLS[1]!],
      'unsupported_profile',
      'not_secured',
      'not_secured',
    ],
    ['another profile', 'TCP/RTP/AVP', [], 'unsupported_profile', 'unsupported_profile', 'unsupported_profile'],
  ])('%s', (_name, protocol, lines, off, optional, required) => {
    const text = sdp(protocol, lines)
    expect([kindOf('off', text), kindOf('optional', text), kindOf('required', text)]).toEqual([off, optional, required])
  })

  it('with the first line that is known, its tag, a key of ours, under its profile', () => {
    const lines = [crypto(3, 'F8_128_HMAC_SHA1_80'), crypto(5, 'AES_CM_128_HMAC_SHA1_32'), crypto(6)]
    const ours = local('required')
    const result = answerOffer(sdp('RTP/SAVPF', lines), ours)
    if (!result.ok || result.audio.security.kind !== 'sdes') throw new Error('no SDES')
    const { send, receive } = result.audio.security
    expect(receive.equals(new MasterKey('AES_CM_128_HMAC_SHA1_32', Buffer.from(KEY, 'base64')))).toBe(true)
    expect(linesOf(result.sdp, 'crypto')).toEqual([`a=crypto:5 AES_CM_128_HMAC_SHA1_32 inline:${send.base64()}`])
    expect(parseSdp(result.sdp)!.media[0]!.protocol).toBe('RTP/SAVPF')
    expect(send.base64()).not.toBe(KEY)
  })

  it('keeps the spelling of the suite', () => {
    const result = answerOffer(sdp('RTP/SAVP', [crypto(1, 'AES_CM_256_HMAC_SHA1_80', KEY_256)]), local('optional'))
    expect(result.ok && linesOf(result.sdp, 'crypto')[0]).toMatch(/^a=crypto:1 AES_CM_256_HMAC_SHA1_80 /)
  })

  it('with our certificate, waiting where we may; and with one way for sound and reports where that was offered', () => {
    const answered = (setup: string, mux: string[]) => {
      const result = answerOffer(sdp('UDP/TLS/RTP/SAVP', [`a=setup:${setup}`, ...mux], [DTLS[1]!]), local('optional'))
      return result.ok ? ['setup', 'fingerprint', 'rtcp-mux'].flatMap(name => linesOf(result.sdp, name)) : result.code
    }
    const fingerprint = `a=fingerprint:sha-256 ${OURS}`
    expect(answered('actpass', ['a=rtcp-mux'])).toEqual(['a=setup:passive', fingerprint, 'a=rtcp-mux'])
    expect(answered('active', [])).toEqual(['a=setup:passive', fingerprint])
    expect(answered('passive', [])).toEqual(['a=setup:active', fingerprint])
  })

  it('keeps the DTLS role when actpass is offered again', () => {
    const ours = local('optional')
    const first = answerOffer(sdp('UDP/TLS/RTP/SAVP', ['a=setup:passive', DTLS[1]!]), ours)
    if (!first.ok) throw new Error(first.code)
    const again = answerOffer(sdp('UDP/TLS/RTP/SAVP', DTLS), withAgreedRole(ours, first.audio))
    expect(again.ok && again.audio.security).toMatchObject({ kind: 'dtls', role: 'client' })
  })

  it('prefers an encrypted stream', () => {
    const text = `${sdp('RTP/AVP', [])}m=audio 6002 RTP/SAVP 0\r\n${crypto()}\r\n`
    const ports = (policy: SrtpPolicy) => {
      const result = answerOffer(text, local(policy))
      return result.ok && parseSdp(result.sdp)!.media.map(({ port }) => port)
    }
    expect(ports('optional')).toEqual([0, 4000])
    expect(ports('off')).toEqual([4000, 0])
  })
})

describe('our offer', () => {
  it('is plain, plain with keys, or encrypted', () => {
    const seen = (['off', 'optional', 'required'] as const).map(policy => makeOffer(local(policy)))
    expect(seen.map(text => parseSdp(text)!.media[0]!.protocol)).toEqual(['RTP/AVP', 'RTP/AVP', 'RTP/SAVP'])
    expect(seen.map(text => linesOf(text, 'crypto').length)).toEqual([0, 2, 2])
    expect(seen.map(text => linesOf(text, 'fingerprint').length)).toEqual([0, 1, 1])
    expect(linesOf(seen[1]!, 'setup')).toEqual(['a=setup:actpass'])
  })

  it('has fresh keys per call', () => {
    const [a, b] = [local('required'), local('required')]
    expect(linesOf(makeOffer(a), 'crypto')).toEqual(linesOf(makeOffer({ ...a, version: 2 }), 'crypto'))
    expect(linesOf(makeOffer(a), 'crypto')).not.toEqual(linesOf(makeOffer(b), 'crypto'))
    const keys = linesOf(makeOffer(a), 'crypto').map(line => line.split('inline:')[1]!.slice(0, 20))
    expect(new Set(keys).size).toBe(2)
  })

  it.each<[string, string, string[], string, string]>([
    ['plain', 'RTP/AVP', [], 'none', 'not_secured'],
    ['one of our suites', 'RTP/SAVP', [crypto(2, 'AES_256_CM_HMAC_SHA1_80', KEY_256)], 'sdes', 'sdes'],
    ['one of our suites under RTP/AVP', 'RTP/AVP', [crypto(1)], 'sdes', 'sdes'],
    ['a tag of another suite', 'RTP/SAVP', [crypto(2)], 'not_secured', 'not_secured'],
    ['a suite we did not offer', 'RTP/SAVP', [crypto(3, 'AES_CM_128_HMAC_SHA1_32')], 'not_secured', 'not_secured'],
    ['a certificate', 'RTP/SAVP', ['a=setup:active', DTLS[1]!], 'dtls', 'dtls'],
    ['a profile without a key', 'RTP/SAVP', [], 'not_secured', 'not_secured'],
  ])('is answered with %s', (_name, protocol, lines, optional, required) => {
    const read = (policy: SrtpPolicy) => {
      const result = readAnswer(sdp(protocol, lines), local(policy))
      return result.ok ? result.audio.security.kind : result.code
    }
    expect([read('optional'), read('required')]).toEqual([optional, required])
  })

  it('yields the same keys at both ends', () => {
    const [a, b] = [local('required', null), local('optional', null)]
    const answer = answerOffer(makeOffer(a), b)
    if (!answer.ok) throw new Error(answer.code)
    const read = readAnswer(answer.sdp, a)
    if (!read.ok) throw new Error(read.code)
    const [left, right] = [read.audio.security, answer.audio.security]
    if (left.kind !== 'sdes' || right.kind !== 'sdes') throw new Error('no SDES')
    expect(left.send.equals(right.receive) && right.send.equals(left.receive)).toBe(true)
    expect(left.send.equals(left.receive)).toBe(false)
  })
})
