import { describe, expect, it } from 'vitest'
import { allowList, CidrError, readCidrLines, standingBesideTrunks, standingOf } from '../../../sip/server/allow.ts'
import { localise, newRequest, PolicyError, stampVia } from '../../../sip/server/headers.ts'
import { bestLocal, commonOctets } from '../../../sip/server/network.ts'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'
import { parseMessage } from '../../../sip/text/parse.ts'
import { message, OPTIONS } from '../text/samples.ts'

const self = { local: { host: '127.0.0.1', port: 5090 }, protocol: 'udp' as const }

function app(head: string[], body = ''): SipRequest {
  const parsed = parseMessage(message(head, body), { lax: true, bodyIsRest: true })
  if (!parsed.ok || parsed.message.kind !== 'request') throw new Error('no request')
  return parsed.message
}

describe('header policy', () => {
  it('fills in what the application left out', () => {
    const made = newRequest(app(['INVITE sip:a@h SIP/2.0']), self)
    expect(headerOf(made, 'From')).toMatch(/^<sip:127\.0\.0\.1:5090>;tag=\w+$/)
    expect(headerOf(made, 'To')).toBe('<sip:a@h>')
    expect(headerOf(made, 'Contact')).toBe('<sip:127.0.0.1:5090>')
    expect(headerOf(made, 'Max-Forwards')).toBe('70')
    expect(headerOf(made, 'CSeq')).toMatch(/^\d+ INVITE$/)
  })

  it('honours Call-ID, CSeq, From with its tag, To and Contact; drops what is ours', () => {
    const made = newRequest(
      app(
        [
          'INVITE sip:a@h SIP/2.0',
          'call-id: mine',
          'cseq: 7 INVITE',
          'from: "A" <sip:1000@localhost>;tag=9',
          'To: sip:b@localhost',
          'contact: sip:1000@localhost',
          'Via: SIP/2.0/UDP evil',
          'Route: <sip:evil;lr>',
          'Content-Length: 1',
          'X-Kept: yes@localhost',
        ],
        'v=0 and more',
      ),
      self,
    )
    const seen = new Map(made.headers)
    expect([...seen.keys()]).not.toContain('Route')
    expect([...seen.keys()]).not.toContain('Via')
    expect(seen.get('Call-ID')).toBe('mine')
    expect(seen.get('CSeq')).toBe('7 INVITE')
    expect(seen.get('From')).toBe('"A" <sip:1000@127.0.0.1:5090>;tag=9')
    expect(seen.get('To')).toBe('<sip:b@127.0.0.1:5090>')
    expect(seen.get('Contact')).toBe('<sip:1000@127.0.0.1:5090>')
    expect(seen.get('X-Kept')).toBe('yes@localhost')
    expect(seen.get('Content-Type')).toBe('application/sdp')
  })

  it('does not guess a content type', () => {
    expect(() => newRequest(app(['MESSAGE sip:a@h SIP/2.0'], 'hello'), self)).toThrow(PolicyError)
  })

  it('rewrites the host localhost only', () => {
    expect(localise('<sip:a@localhost.example.com>, <sip:b@localhost;x=1>', self)).toBe(
      '<sip:a@localhost.example.com>, <sip:b@127.0.0.1:5090;x=1>',
    )
  })

  it('notes in Via where a request came from', () => {
    const stamped = stampVia(app(OPTIONS), { host: '198.51.100.7', port: 40_000 })
    expect(headerOf(stamped, 'Via')).toBe(
      'SIP/2.0/UDP host1.example.com:5060;branch=z9hG4bKkdjuw;received=198.51.100.7;rport=40000',
    )
  })
})

describe('choice of interface', () => {
  it('counts common octets', () => {
    expect(commonOctets('10.1.2.3', '10.1.9.3')).toBe(2)
    expect(commonOctets('10.1.2.3', '11.1.2.3')).toBe(0)
  })

  it('selects the longest match, loopback last', () => {
    expect(bestLocal(['127.0.0.1', '192.168.1.5', '10.0.0.5'], '10.0.7.7')).toBe('10.0.0.5')
    expect(bestLocal(['127.0.0.1', '192.168.1.5'], '8.8.8.8')).toBe('192.168.1.5')
    expect(bestLocal(['192.168.1.5', '127.0.0.1'], '127.0.0.1')).toBe('127.0.0.1')
    expect(bestLocal([], '1.1.1.1')).toBeNull()
  })
})

describe('allowed sources', () => {
  it('knows networks of both families', () => {
    const list = allowList(['192.0.2.0/24', '198.51.100.7', '2001:db8::/32'])
    const of = (...addresses: string[]) => addresses.map(address => standingOf(list, address))
    expect(of('192.0.2.255', '198.51.100.7', '2001:db8:1::1')).toEqual(['known', 'known', 'known'])
    expect(of('192.0.3.1', '198.51.100.8', '2001:db9::1')).toEqual(['out', 'out', 'out'])
    expect(standingOf(null, '203.0.113.1')).toBe('unrestricted')
    expect(standingOf(allowList([]), '203.0.113.1')).toBe('out')
  })

  it('separate strangers and block some, never known ones', () => {
    const list = allowList([
      '?0.0.0.0/0',
      '?::/0',
      '203.0.113.1',
      '2001:db8::5',
      '!203.0.113.1',
      ' !2001:db8:0:0::/64 ',
    ])
    const standing = (address: string) => standingOf(list, address)
    expect(['203.0.113.2', '2001:db8:0:1::1'].map(standing)).toEqual(['stranger', 'stranger'])
    expect(['2001:db8::1', '2001:db8::6'].map(standing)).toEqual(['out', 'out'])
    expect(['203.0.113.1', '2001:db8::5'].map(standing)).toEqual(['known', 'known'])
  })

  it('let sources of trunks place calls, and are strangers for the rest', () => {
    const list = allowList([
      '@203.0.113.0/24',
      '@2001:db8::/48',
      '127.0.0.0/8',
      '?2001::/16',
      '!2001:db8::/64',
      '=tabc',
    ])!
    const standing = (address: string) => [standingOf(list, address), standingBesideTrunks(list, address)]
    expect(standing('203.0.113.9')).toEqual(['trunk', 'out'])
    expect(standing('2001:db8:0:1::1')).toEqual(['trunk', 'stranger'])
    // Its calls continue, although a guesser in its network is banned.
    expect(standing('2001:db8::1')).toEqual(['trunk', 'out'])
    expect(standingOf(list, '127.0.0.1')).toBe('known')
    expect([...list.contacts]).toEqual(['tabc'])
  })

  it.each(['', 'host', '1.2.3', '1.2.3.4/33', '1.2.3.4/x', '::1/129'])('rejects "%s"', cidr => {
    expect(() => allowList([cidr])).toThrow(CidrError)
  })

  it('reads a file of one CIDR a line', () => {
    expect(readCidrLines('# trunks\n192.0.2.1\n\n 10.0.0.0/8 # office\n')).toEqual(['192.0.2.1', '10.0.0.0/8'])
  })
})
