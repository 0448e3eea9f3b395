import { describe, expect, it } from 'vitest'
import { formatNameAddr, formatUri, parseNameAddr, parseUri } from '../../../sip/text/uri.ts'

describe('URIs', () => {
  it.each([
    'sip:alice@atlanta.com',
    'sip:alice:secretword@atlanta.com;transport=tcp',
    'sips:alice@atlanta.com?subject=project%20x&priority=urgent',
    'sip:+1-212-555-1212:1234@gateway.com;user=phone',
    'sips:1212@gateway.com',
    'sip:alice@192.0.2.4',
    'sip:atlanta.com;method=REGISTER?to=alice%40atlanta.com',
    'sip:alice;day=tuesday@atlanta.com',
    'sip:[2001:db8::1]:5070;lr',
    'tel:+1-201-555-0123;phone-context=example.com',
    'urn:service:sos',
  ])('round-trips %s', text => {
    const uri = parseUri(text)
    expect(uri).not.toBeNull()
    expect(formatUri(uri!)).toBe(text)
  })

  it.each([
    '',
    'sip:',
    'sip:@host',
    'sip:a@h:99999',
    'sip:a@h:x',
    'sip:a b@h',
    'alice@h',
    'tel:',
    'sip:[::1',
    'sip:a@b@c',
    ':x',
  ])('rejects "%s"', text => expect(parseUri(text)).toBeNull())

  it('keeps parameters apart by flag and value', () => {
    const uri = parseUri('sip:h;lr;transport=TCP')
    expect(uri?.scheme === 'sip' && [...uri.params]).toEqual([
      ['lr', null],
      ['transport', 'TCP'],
    ])
  })
})

describe('name-addr', () => {
  it.each([
    [
      '"Anonymous; <x>" <sip:c8oqz84zk7z@privacy.org>;tag=hyh8',
      '"Anonymous; <x>"',
      'sip:c8oqz84zk7z@privacy.org',
      'hyh8',
    ],
    ['sip:+12125551212@phone2net.com;tag=887s', null, 'sip:+12125551212@phone2net.com', '887s'],
    ['<sip:a@b;x=y>', null, 'sip:a@b;x=y', undefined],
  ])('%s', (text, display, uri, tag) => {
    const addr = parseNameAddr(text)
    expect(addr).toMatchObject({ display, uri })
    expect(addr?.params.get('tag')).toBe(tag)
    expect(parseNameAddr(formatNameAddr(addr!))).toEqual(addr)
  })

  it.each(['<sip:a@b', '"a <sip:a@b>', '<sip:a@b> junk', 'nothing'])('rejects %s', text => {
    expect(parseNameAddr(text)).toBeNull()
  })
})
