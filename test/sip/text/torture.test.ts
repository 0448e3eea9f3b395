/** Messages after RFC 4475 (torture tests) and RFC 5118 (IPv6), written anew from the description in each section. */
import { describe, expect, it } from 'vitest'
import { headerOf, listOf, type SipMessage, serialise } from '../../../sip/text/message.ts'
import { parseMessage } from '../../../sip/text/parse.ts'
import { parseNameAddr, parseUri } from '../../../sip/text/uri.ts'
import { parseVia } from '../../../sip/text/validate.ts'
import { changed, message, OPTIONS } from './samples.ts'

function read(bytes: Buffer): SipMessage {
  const result = parseMessage(bytes)
  if (!result.ok) throw result.error
  return result.message
}
const refused = (bytes: Buffer): string | null => {
  const result = parseMessage(bytes)
  return result.ok ? null : result.error.code
}

describe('RFC 4475 §3.1.1: valid', () => {
  it('wsinv: white space and folding everywhere', () => {
    const body = 'v=0\r\no=mhandley 29739 7272939 IN IP4 192.0.2.3\r\n'
    const wild = read(
      message(
        [
          'INVITE sip:vivekg@chair-dnrc.example.com;unknownparam SIP/2.0',
          'TO :',
          ' sip:vivekg@chair-dnrc.example.com ;   tag    = 1918181833n',
          'from   : "J Rosenberg \\\\\\""       <sip:jdrosen@example.com>',
          '  ;',
          '  tag = 98asjd8',
          'MaX-fOrWaRdS: 0068',
          'Call-ID: wsinv.ndaksdj@192.0.2.1',
          `Content-Length   : ${body.length}`,
          'cseq: 0009',
          '  INVITE',
          'Via  : SIP  /   2.0',
          ' /UDP',
          '    192.0.2.2;branch=390skdjuw',
          's :',
          'NewFangledHeader:   newfangled value',
          ' continued newfangled value',
          'UnknownHeaderWithUnusualValue: ;;,,;;,;',
          'Content-Type: application/sdp',
          'Route:',
          ' <sip:services.example.com;lr;unknownwith=value;unknown-no-value>',
          'v:  SIP  / 2.0  / TCP     spindle.example.com   ;',
          '  branch  =   z9hG4bK9ikj8  ,',
          ' SIP  /    2.0   / UDP  192.168.255.111   ; branch=',
          ' z9hG4bK30239',
          'm:"Quoted string \\"\\"" <sip:jdrosen@example.com> ; newparam =',
          '      newvalue ;',
          '  secondparam ; q = 0.33',
        ],
        body,
      ),
    )
    expect(listOf(wild, 'Via').map(via => parseVia(via)?.host)).toEqual([
      '192.0.2.2',
      'spindle.example.com',
      '192.168.255.111',
    ])
    expect(parseNameAddr(headerOf(wild, 'To')!)?.params.get('tag')).toBe('1918181833n')
    expect(parseNameAddr(headerOf(wild, 'From')!)?.params.get('tag')).toBe('98asjd8')
    expect(wild.body.toString()).toBe(body)
  })

  it('intmeth: unusual characters in method, user, display name and parameters', () => {
    const method = "!interesting-Method0123456789_*+`.%indeed'~"
    const wild = read(
      message([
        `${method} sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com SIP/2.0`,
        "Via: SIP/2.0/TCP host1.example.com;branch=z9hG4bK-.!%66*_+`'~",
        'To: "BEL:\\\u0007 NUL:\\\u0000 DEL:\\\u007F" <sip:1_unusual.URI~(to-be!sure)&isn\'t+it$/crazy?,/;;*@example.com>',
        "From: token1~` token2'+_ token3*%!.- <sip:mundane@example.com>;fromParam''~+*_!.-%=\"\u00e9\";tag=_token~1'+`*%!-.",
        'Call-ID: intmeth.word%ZK-!.*_+\'@word`~)(><:\\/"][?}{',
        `CSeq: 139122385 ${method}`,
        'Max-Forwards: 255',
        "extensionHeader-!.%*+_`'~: value",
        'Content-Length: 0',
      ]),
    )
    expect(wild.kind === 'request' && wild.method).toBe(method)
    expect(parseUri(wild.kind === 'request' ? wild.uri : '')).toMatchObject({ scheme: 'sip', host: 'example.com' })
    expect(parseNameAddr(headerOf(wild, 'From')!)?.params.get('tag')).toBe("_token~1'+`*%!-.")
  })

  it('esc01, escnull: escapes are kept as they are', () => {
    const uri = 'sip:sips%3Auser%40example.com@example.net'
    const wild = read(
      message([`OPTIONS ${uri} SIP/2.0`, ...OPTIONS.slice(1), 'Contact: <sip:null-%00-null@example.com>']),
    )
    expect(wild.kind === 'request' && wild.uri).toBe(uri)
    expect(parseUri(uri)).toMatchObject({ user: 'sips%3Auser%40example.com', host: 'example.net' })
    expect(serialise(wild).toString('latin1')).toContain('null-%00-null')
  })

  it('esc02: an escaped method is another method', () => {
    const wild = read(
      message(['RE%47IST%45R sip:registrar.example.com SIP/2.0', ...changed('CSeq', 'CSeq: 1 RE%47IST%45R').slice(1)]),
    )
    expect(wild.kind === 'request' && wild.method).toBe('RE%47IST%45R')
  })

  it('lwsdisp: no blank between display name and bracket', () => {
    const wild = read(message(changed('From', 'From: caller<sip:caller@example.com>;tag=323')))
    expect(parseNameAddr(headerOf(wild, 'From')!)).toMatchObject({ display: 'caller', uri: 'sip:caller@example.com' })
  })

  it('longreq: long values', () => {
    const long = 'long'.repeat(2000)
    const wild = read(message([...changed('Call-ID', `Call-ID: ${long}`), `${long}: ${long}`]))
    expect(headerOf(wild, 'Call-ID')).toBe(long)
  })

  it('dblreq: a second request behind the first is dropped', () => {
    const wild = read(Buffer.concat([message([...OPTIONS, 'Content-Length: 0']), message(OPTIONS)]))
    expect(wild.body.length).toBe(0)
  })

  it('semiuri: semicolons in the user part', () => {
    expect(parseUri('sip:user;par=u%40example.net@example.com')).toMatchObject({
      user: 'user;par=u%40example.net',
      host: 'example.com',
    })
  })

  it('transports: any transport name', () => {
    const wild = read(
      message([
        OPTIONS[0]!,
        'Via: SIP/2.0/UDP t1.example.com;branch=z9hG4bKkdjuw',
        'Via: SIP/2.0/UNKNOWN t4.example.com;branch=z9hG4bKkdjuw',
        'Via: SIP/2.0/TLS t5.example.com;branch=z9hG4bK',
        ...OPTIONS.slice(2),
      ]),
    )
    expect(listOf(wild, 'Via').map(via => parseVia(via)?.transport)).toEqual(['UDP', 'UNKNOWN', 'TLS'])
  })

  it('mpart01: a binary body', () => {
    const body = Buffer.from([0x2d, 0x2d, 0, 0x0d, 0x0a, 0x0d, 0x0a, 0xff, 0x80])
    const wild = read(
      message([...OPTIONS, 'Content-Type: multipart/mixed;boundary=7a', `Content-Length: ${body.length}`], body),
    )
    expect(wild.body.equals(body)).toBe(true)
  })

  it('unreason, noreason: reason phrases of UTF-8, or none', () => {
    const phrase = Buffer.from('= 2**3 * 5**2 но сто девяносто девять - простое', 'utf8').toString('latin1')
    const wild = read(message([`SIP/2.0 200 ${phrase}`, ...OPTIONS.slice(1)]))
    expect(wild.kind === 'response' && Buffer.from(wild.reason, 'latin1').toString()).toContain('простое')
    const none = read(message(['SIP/2.0 100 ', ...OPTIONS.slice(1)]))
    expect(none.kind === 'response' && [none.status, none.reason]).toEqual([100, ''])
  })
})

describe('RFC 4475 §3.1.2: invalid', () => {
  it.each<[string, Buffer, string]>([
    ['clerr: Content-Length too large', message([...OPTIONS, 'Content-Length: 9999'], 'v=0\r\n'), 'truncated'],
    ['ncl: negative Content-Length', message([...OPTIONS, 'Content-Length: -999'], 'v=0\r\n'), 'bad_content_length'],
    ['scalar02: overlarge CSeq', message(changed('CSeq', 'CSeq: 36893488147419103232 OPTIONS')), 'bad_cseq'],
    ['quotbal: unbalanced quote', message(changed('To', 'To: "Mr. J. User <sip:j@example.com>')), 'bad_address'],
    [
      'ltgtruri: brackets around the Request-URI',
      message(['OPTIONS <sip:user@example.com> SIP/2.0', ...OPTIONS.slice(1)]),
      'bad_uri',
    ],
    [
      'lwsruri: blank inside the Request-URI',
      message(['OPTIONS sip:user@example.com; lr SIP/2.0', ...OPTIONS.slice(1)]),
      'bad_uri',
    ],
    [
      'lwsstart: many blanks in the start line',
      message(['OPTIONS  sip:user@example.com  SIP/2.0', ...OPTIONS.slice(1)]),
      'bad_uri',
    ],
    [
      'badaspec: blank inside an addr-spec',
      message(changed('To', 'To: "Watson" <sip:t.watson@example.org >x')),
      'bad_address',
    ],
    [
      'badvers: unknown version',
      message(['OPTIONS sip:t.watson@example.org SIP/7.0', ...OPTIONS.slice(1)]),
      'bad_version',
    ],
    ['mismatch01: CSeq of another method', message(changed('CSeq', 'CSeq: 8 INVITE')), 'cseq_mismatch'],
    [
      'mismatch02: unknown method and CSeq',
      message(['NEWMETHOD sip:u@h SIP/2.0', ...changed('CSeq', 'CSeq: 8 INVITE').slice(1)]),
      'cseq_mismatch',
    ],
    [
      'bigcode: overlarge status',
      message(['SIP/2.0 4294967301 better not break', ...OPTIONS.slice(1)]),
      'bad_start_line',
    ],
    [
      'insuf: mandatory headers missing',
      message([OPTIONS[0]!, 'CSeq: 193942 OPTIONS', 'Via: SIP/2.0/UDP 192.0.2.95;branch=z9hG4bKkdj.insuf']),
      'missing_header',
    ],
    [
      'multi01: single headers repeated',
      message([...OPTIONS, 'CSeq: 59 OPTIONS', 'Call-ID: 2@h', 'To: <sip:b@h>']),
      'duplicate_header',
    ],
    [
      'mcl01: two Content-Lengths',
      message([...OPTIONS, 'Content-Length: 13', 'Content-Length: 5'], 'There is no way'),
      'bad_content_length',
    ],
  ])('%s', (_name, bytes, code) => {
    expect(refused(bytes) ?? 'ok').toBe(code)
  })

  it('badinv01: stray separators in Via', () => {
    expect(refused(message(changed('Via', 'Via: SIP/2.0/UDP 192.0.2.15;;,;,,')))).toBe('bad_via')
  })

  it('escruri, regbadct: headers where a URI may have none', () => {
    const escaped = 'sip:user@example.com?Route=%3Csip:example.com%3E'
    expect(refused(message([`OPTIONS ${escaped} SIP/2.0`, ...OPTIONS.slice(1)]))).toBe('bad_uri')
    expect(refused(message([...OPTIONS, `Contact: ${escaped}`]))).toBe('bad_address')
    expect(refused(message([...OPTIONS, `Contact: <${escaped}>`]))).toBeNull()
  })

  it('trws: blanks behind the version are overlooked', () => {
    expect(refused(message(['OPTIONS sip:remote-target@example.com SIP/2.0  ', ...OPTIONS.slice(1)]))).toBeNull()
  })

  it('unkscm, novelsc: unknown schemes are read and left to be answered with 416', () => {
    for (const uri of ['nobodyKnowsThisScheme:totallyopaquecontent', 'soap.beep://192.0.2.103:3002']) {
      const wild = read(message([`OPTIONS ${uri} SIP/2.0`, ...OPTIONS.slice(1)]))
      expect(parseUri(wild.kind === 'request' ? wild.uri : '')).toMatchObject({ scheme: 'other' })
    }
  })

  it('zeromf: Max-Forwards 0 is let through; one that is no number is not', () => {
    expect(refused(message(changed('Max-Forwards', 'Max-Forwards: 0')))).toBeNull()
    expect(refused(message(changed('Max-Forwards', 'Max-Forwards: many')))).toBe('bad_header')
  })
})

describe('RFC 5118: IPv6', () => {
  it.each<[string, string[], string | null]>([
    [
      '§4.1 valid reference',
      ['REGISTER sip:[2001:db8::10] SIP/2.0', 'Via: SIP/2.0/UDP [2001:db8::9:1];branch=z9hG4bKas3-111'],
      null,
    ],
    [
      '§4.2 no brackets',
      ['REGISTER sip:2001:db8::10 SIP/2.0', 'Via: SIP/2.0/UDP [2001:db8::9:1];branch=z9hG4bKas3-111'],
      'bad_uri',
    ],
    [
      '§4.3 port inside the address',
      ['REGISTER sip:[2001:db8::10:5070] SIP/2.0', 'Via: SIP/2.0/UDP [2001:db8::9:1];branch=z9hG4bKas3-111'],
      null,
    ],
    [
      '§4.4 port behind the brackets',
      ['REGISTER sip:[2001:db8::10]:5070 SIP/2.0', 'Via: SIP/2.0/UDP [2001:db8::9:1]:5080;branch=z9hG4bKas3-111'],
      null,
    ],
    [
      '§4.5 received with and without brackets',
      [
        'REGISTER sip:[2001:db8::10] SIP/2.0',
        'Via: SIP/2.0/UDP [2001:db8::9:1];received=2001:db8::9:255;branch=z9hG4bK1, SIP/2.0/UDP [2001:db8::9:2];received=[2001:db8::9:255];branch=z9hG4bK2',
      ],
      null,
    ],
    [
      '§4.8 IPv4-mapped',
      ['REGISTER sip:user@example.com SIP/2.0', 'Via: SIP/2.0/UDP [::ffff:192.0.2.10]:19823;branch=z9hG4bKbh19'],
      null,
    ],
  ])('%s', (_name, head, code) => {
    const rest = changed('CSeq', 'CSeq: 98176 REGISTER').slice(2)
    expect(refused(message([...head, ...rest]))).toBe(code)
  })
})
