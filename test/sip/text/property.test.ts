import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamFramer } from '../../../sip/text/framer.ts'
import { type Header, SipParseError, serialise } from '../../../sip/text/message.ts'
import { answerOffer } from '../../../sip/text/offer.ts'
import { parseMessage } from '../../../sip/text/parse.ts'
import { parseSdp } from '../../../sip/text/sdp.ts'
import { parseNameAddr, parseUri } from '../../../sip/text/uri.ts'
import { message, OPTIONS } from './samples.ts'

const require = createRequire(import.meta.url)
const SrfMessage = require('drachtio-srf/lib/sip-parser/message')

const token = fc.stringMatching(/^[A-Za-z0-9.!%*_+`'~-]{1,12}$/)
const value = fc.stringMatching(/^[!-~]([ -~]{0,30}[!-~])?$/)
const bytes = fc.uint8Array({ maxLength: 200 }).map(array => Buffer.from(array))
const extra = fc.array(
  fc.tuple(
    token.map(name => `X-${name}`),
    value,
  ),
  { maxLength: 6 },
)

const request = fc
  .record({
    method: fc.constantFrom('INVITE', 'BYE', 'OPTIONS', 'FANCY'),
    user: token,
    tag: token,
    seq: fc.nat(),
    extra,
    body: bytes,
  })
  .map(({ method, user, tag, seq, extra: more, body }) => ({
    kind: 'request' as const,
    method,
    uri: `sip:${user}@example.com`,
    headers: [
      ['Via', 'SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK1'],
      ['From', `<sip:a@example.com>;tag=${tag}`],
      ['To', '<sip:b@example.com>'],
      ['Call-ID', `${user}@x`],
      ['CSeq', `${seq} ${method}`],
      ...more,
    ] as Header[],
    body,
  }))

describe('properties of the text layer', () => {
  it('parse ∘ serialise gives the message back, and is stable', () => {
    fc.assert(
      fc.property(request, sent => {
        const once = parseMessage(serialise(sent))
        if (!once.ok) throw once.error
        expect({
          ...once.message,
          headers: once.message.headers.filter(([name]) => name !== 'Content-Length'),
        }).toEqual(sent)
        expect(serialise(once.message).equals(serialise(sent))).toBe(true)
      }),
    )
  })

  it('what we write, drachtio-srf can read', () => {
    fc.assert(
      fc.property(request, sent => {
        const read = new SrfMessage(serialise(sent).toString('utf8'))
        expect([read.method, read.uri, read.get('call-id')]).toEqual([sent.method, sent.uri, sent.headers[3]![1]])
      }),
    )
  })

  it('bytes at random never throw', () => {
    fc.assert(
      fc.property(bytes, fc.boolean(), (noise, lax) => {
        const result = parseMessage(noise, { lax, bodyIsRest: lax })
        if (!result.ok) expect(result.error).toBeInstanceOf(SipParseError)
      }),
      { numRuns: 1000 },
    )
  })

  it('a message damaged at random never throws, nor does anything that reads its parts', () => {
    const whole = message([...OPTIONS, 'Contact: <sip:a@b>', 'Content-Length: 5'], 'hello')
    const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(damage, fc.nat(whole.length), (places, cut) => {
        const copy = Buffer.from(whole)
        for (const [at, byte] of places) copy[at] = byte
        const result = parseMessage(copy.subarray(0, cut))
        if (!result.ok) expect(result.error).toBeInstanceOf(SipParseError)
        new StreamFramer().push(copy)
      }),
      { numRuns: 2000 },
    )
  })

  it('URIs, addresses and session descriptions at random never throw', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^(sip:|tel:|"|<|v=0\r\n)?[ -~\r\n]{0,60}$/))
    const local = { address: '1.2.3.4', port: 1, codecs: ['PCMU' as const], sessionId: '1', version: 1 }
    fc.assert(
      fc.property(text, noise => {
        parseUri(noise)
        parseNameAddr(noise)
        parseSdp(noise)
        answerOffer(noise, local)
      }),
      { numRuns: 2000 },
    )
  })
})
