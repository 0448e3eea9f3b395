/**
 * Messages of RFC 4475 (torture tests) and RFC 5118 (IPv6), by their names there, written anew. `want` is what has
 * to become of it: the status that the server answers by itself, `app` when an application is asked, `silence` when
 * there is no response.
 */
export type Torture = {
  readonly name: string
  readonly want: number | 'app' | 'silence'
  readonly head: readonly string[]
  readonly body?: string
  /** Bytes that follow the complete message in the same datagram. */
  readonly behind?: string
}

const SDP =
  'v=0\r\no=mhandley 29739 7272939 IN IP4 192.0.2.3\r\ns=-\r\nc=IN IP4 192.0.2.4\r\nt=0 0\r\nm=audio 49217 RTP/AVP 0\r\n'
const SDP6 = SDP.replaceAll('IP4 192.0.2.3', 'IP6 2001:db8::20').replaceAll('IP4 192.0.2.4', 'IP6 2001:db8::20')

type Changes = Readonly<Record<string, string | readonly string[] | null>>

/** A sound request of that method, but for the changes: a header by its name, null to leave it out, or more of it. */
function request(method: string, changes: Changes = {}, body = ''): string[] {
  const usual: Record<string, string | readonly string[] | null> = {
    start: `${method} sip:user@example.com SIP/2.0`,
    Via: 'SIP/2.0/UDP host1.example.com:5060;branch=z9hG4bKkdjuw',
    'Max-Forwards': '70',
    From: '<sip:caller@example.net>;tag=323',
    To: '<sip:user@example.com>',
    'Call-ID': 'torture.1234@example.net',
    CSeq: `60 ${method}`,
    Contact: '<sip:caller@host5.example.net>',
    ...(body === '' ? {} : { 'Content-Type': 'application/sdp' }),
    'Content-Length': String(body.length),
    ...changes,
  }
  const { start, ...headers } = usual
  const lines = Object.entries(headers).flatMap(([name, value]) => {
    if (value === null) return []
    return (typeof value === 'string' ? [value] : value).map(one => `${name}: ${one}`)
  })
  return [String(start), ...lines]
}

const UNUSUAL = "!interesting-Method0123456789_*+`.%indeed'~"
const BINARY = Buffer.from([0x2d, 0x2d, 0x37, 0, 0x0d, 0x0a, 0x0d, 0x0a, 0xff, 0x80, 0x30, 0x82]).toString('latin1')
const LONG = 'long'.repeat(700)

const VALID: Torture[] = [
  {
    // Its To has a tag, which proves that all of it was read: it is in no dialog of ours.
    name: '3.1.1.1 wsinv: white space and folding everywhere',
    want: 481,
    head: [
      'INVITE sip:vivekg@chair-dnrc.example.com;unknownparam SIP/2.0',
      'TO :',
      ' sip:vivekg@chair-dnrc.example.com ;   tag    = 1918181833n',
      'from   : "J Rosenberg \\\\\\""       <sip:jdrosen@example.com>',
      '  ;',
      '  tag = 98asjd8',
      'MaX-fOrWaRdS: 0068',
      'Call-ID: wsinv.ndaksdj@192.0.2.1',
      `Content-Length   : ${SDP.length}`,
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
    body: SDP,
  },
  {
    name: '3.1.1.2 intmeth: a method, user, names and values of unusual characters',
    want: 501,
    head: request(UNUSUAL, {
      start: `${UNUSUAL} sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com SIP/2.0`,
      Via: "SIP/2.0/TCP host1.example.com;branch=z9hG4bK-.!%66*_+`'~",
      To: '"BEL:\\\u0007 NUL:\\\u0000 DEL:\\\u007F" <sip:1_unusual.URI~(to-be!sure)&isn\'t+it$/crazy?,/;;*@example.com>',
      From: "token1~` token2'+_ token3*%!.- <sip:mundane@example.com>;fromParam''~+*_!.-%=\"\u00e9\";tag=_token~1'+`*%!-.",
      'Call-ID': 'intmeth.word%ZK-!.*_+\'@word`~)(><:\\/"][?}{',
      'Max-Forwards': '255',
      "extensionHeader-!.%*+_`'~": 'value',
    }),
  },
  {
    name: '3.1.1.3 esc01: escapes that hide a scheme and an @',
    want: 'app',
    head: request('INVITE', { start: 'INVITE sip:sips%3Auser%40example.com@example.net SIP/2.0' }, SDP),
    body: SDP,
  },
  {
    name: '3.1.1.4 escnull: escaped NUL in URIs',
    want: 'app',
    head: request('REGISTER', {
      To: 'sip:null-%00-null@example.com',
      Contact: ['<sip:%00@host5>', '<sip:%00%00@host5>'],
    }),
  },
  { name: '3.1.1.5 esc02: a percent is no escape in a method', want: 501, head: request('RE%47IST%45R') },
  {
    name: '3.1.1.6 lwsdisp: no blank between display name and bracket',
    want: 'app',
    head: request('OPTIONS', { From: 'caller<sip:caller@example.com>;tag=323' }),
  },
  {
    name: '3.1.1.7 longreq: long values',
    want: 'app',
    head: request('INVITE', { To: `"${LONG}" <sip:${LONG}@example.com>`, 'Call-ID': LONG, [LONG]: LONG }, SDP),
    body: SDP,
  },
  {
    name: '3.1.1.8 dblreq: a second request behind the first in the datagram',
    want: 'app',
    head: request('REGISTER'),
    behind: `${request('INVITE', { 'Call-ID': 'second', Via: 'SIP/2.0/UDP h;branch=z9hG4bKsecond' }).join('\r\n')}\r\n\r\n`,
  },
  {
    name: '3.1.1.9 semiuri: semicolons in the user part',
    want: 'app',
    head: request('OPTIONS', { start: 'OPTIONS sip:user;par=u%40example.net@example.com SIP/2.0' }),
  },
  {
    name: '3.1.1.10 transports: transports of all kinds',
    want: 'app',
    head: request('OPTIONS', {
      Via: [
        ...['UDP t1', 'SCTP t2', 'TLS t3', 'UNKNOWN t4', 'TCP t5'].map(
          at => `SIP/2.0/${at}.example.com;branch=z9hG4bKkdjuw`,
        ),
      ],
    }),
  },
  {
    name: '3.1.1.11 mpart01: a body of several parts, one binary',
    want: 'app',
    head: request('MESSAGE', { 'Content-Type': 'multipart/mixed;boundary=7', 'Content-Length': String(BINARY.length) }),
    body: BINARY,
  },
  {
    name: '3.1.1.12 unreason: a response nobody asked for, its reason in UTF-8',
    want: 'silence',
    head: request('INVITE', {
      start: Buffer.from('SIP/2.0 200 = 2**3 * 5**2 но сто девяносто девять - простое').toString('latin1'),
    }),
  },
  {
    name: '3.1.1.13 noreason: a response without a reason',
    want: 'silence',
    head: request('INVITE', { start: 'SIP/2.0 100 ' }),
  },
]

const INVALID: Torture[] = [
  {
    name: '3.1.2.1 badinv01: separators with nothing between',
    want: 400,
    head: request('INVITE', { Via: 'SIP/2.0/UDP 192.0.2.15;;,;,,', Contact: '"Joe" <sip:joe@example.org>;;;;' }, SDP),
    body: SDP,
  },
  {
    name: '3.1.2.2 clerr: a body shorter than it says',
    want: 400,
    head: request('INVITE', { 'Content-Length': '9999' }),
    body: SDP,
  },
  {
    name: '3.1.2.3 ncl: a length below zero',
    want: 400,
    head: request('INVITE', { 'Content-Length': '-999' }),
    body: SDP,
  },
  {
    name: '3.1.2.4 scalar02: numbers too large',
    want: 400,
    head: request('REGISTER', {
      CSeq: '36893488147419103232 REGISTER',
      'Max-Forwards': '300',
      Expires: '10000000000000000000000000',
    }),
  },
  {
    name: '3.1.2.5 scalarlg: a response of numbers too large',
    want: 'silence',
    head: request('INVITE', {
      start: 'SIP/2.0 503 Service Unavailable',
      CSeq: '9292394834772304023312 OPTIONS',
      'Retry-After': '949302838503028349304023988',
    }),
  },
  {
    name: '3.1.2.6 quotbal: a quote that does not end',
    want: 400,
    head: request('INVITE', { To: '"Mr. J. User <sip:j.user@example.com>' }),
  },
  {
    name: '3.1.2.7 ltgtruri: the Request-URI in brackets',
    want: 400,
    head: request('INVITE', { start: 'INVITE <sip:user@example.com> SIP/2.0' }),
  },
  {
    name: '3.1.2.8 lwsruri: a blank in the Request-URI',
    want: 400,
    head: request('INVITE', { start: 'INVITE sip:user@example.com; lr SIP/2.0' }),
  },
  {
    name: '3.1.2.9 lwsstart: several blanks in the start line',
    want: 400,
    head: request('INVITE', { start: 'INVITE  sip:user@example.com  SIP/2.0' }),
  },
  {
    name: '3.1.2.10 trws: blanks at the end of the start line',
    want: 'app',
    head: request('OPTIONS', { start: 'OPTIONS sip:remote-target@example.com SIP/2.0  ' }),
  },
  {
    name: '3.1.2.11 escruri: headers in the Request-URI',
    want: 400,
    head: request('INVITE', { start: 'INVITE sip:user@example.com?Route=%3Csip:example.com%3E SIP/2.0' }),
  },
  {
    name: '3.1.2.12 baddate: a date in no known zone',
    want: 'app',
    head: request('INVITE', { Date: 'Fri, 01 Jan 2010 16:00:00 EST' }),
  },
  {
    name: '3.1.2.13 regbadct: a Contact with headers and no brackets',
    want: 400,
    head: request('REGISTER', { Contact: 'sip:user@example.com?Route=%3Csip:sip.example.com%3E' }),
  },
  {
    name: '3.1.2.14 badaspec: blanks inside the brackets',
    want: 'app',
    head: request('OPTIONS', { To: '"Watson, Thomas" < sip:t.watson@example.org >' }),
  },
  {
    name: '3.1.2.15 baddn: a display name that needs quotes',
    want: 'app',
    head: request('OPTIONS', {
      From: 'Bell, Alexander <sip:a.g.bell@example.com>;tag=43',
      To: 'Watson, Thomas <sip:t.watson@example.org>',
    }),
  },
  {
    name: '3.1.2.16 badvers: SIP/7.0',
    want: 505,
    head: request('OPTIONS', { start: 'OPTIONS sip:t.watson@example.org SIP/7.0' }),
  },
  { name: '3.1.2.17 mismatch01: a CSeq of another method', want: 400, head: request('OPTIONS', { CSeq: '8 INVITE' }) },
  {
    name: '3.1.2.18 mismatch02: the same with a method unknown',
    want: 400,
    head: request('NEWMETHOD', { CSeq: '8 INVITE' }),
  },
  {
    name: '3.1.2.19 bigcode: a status of ten digits',
    want: 'silence',
    head: request('INVITE', { start: 'SIP/2.0 4294967301 better not break the receiver' }),
  },
]

const BEYOND_SYNTAX: Torture[] = [
  {
    name: '3.2.1 badbranch: a branch of the cookie alone',
    want: 'app',
    head: request('OPTIONS', { Via: 'SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK' }),
  },
  {
    name: '3.3.1 insuf: headers that must be there are not',
    want: 400,
    head: request('INVITE', { 'Call-ID': null, From: null, To: null, 'Max-Forwards': null }),
  },
  {
    name: '3.3.2 unkscm: a scheme nobody knows',
    want: 416,
    head: request('OPTIONS', { start: 'OPTIONS nobodyKnowsThisScheme:totallyopaquecontent SIP/2.0' }),
  },
  {
    name: '3.3.3 novelsc: a known scheme of another protocol',
    want: 416,
    head: request('OPTIONS', { start: 'OPTIONS soap.beep://192.0.2.103:3002 SIP/2.0' }),
  },
  {
    name: '3.3.4 unksm2: unknown schemes in headers, which are the registrar’s',
    want: 'app',
    head: request('REGISTER', {
      To: 'isbn:2983792873',
      From: '<http://www.example.com>;tag=3234233',
      Contact: '<name:John_Smith>',
    }),
  },
  {
    name: '3.3.5 bext01: extensions unknown to us and to proxies',
    want: 420,
    head: request('OPTIONS', {
      Require: ['nothingSupportsThis, nothingSupportsThisEither'],
      'Proxy-Require': 'noProxiesSupportThis, norDoAnyProxiesSupportThis',
    }),
  },
  {
    name: '3.3.6 invut: a body of unknown type, which is the application’s',
    want: 'app',
    head: request('INVITE', { 'Content-Type': 'application/unknownformat', 'Content-Length': '8' }),
    body: '<audio/>',
  },
  {
    name: '3.3.7 regaut01: an unknown scheme of authorization, likewise',
    want: 'app',
    head: request('REGISTER', { Authorization: 'NoOneKnowsThisScheme opaque-data=here' }),
  },
  {
    name: '3.3.8 multi01: headers twice that may be there once',
    want: 400,
    head: [
      ...request('INVITE'),
      'CSeq: 59 INVITE',
      'Call-ID: other@h',
      'To: <sip:b@h>',
      'From: <sip:c@h>;tag=3',
      'Max-Forwards: 5',
    ],
  },
  {
    name: '3.3.9 mcl01: two lengths',
    want: 400,
    head: [...request('OPTIONS', { 'Content-Length': '13' }), 'Content-Length: 5'],
    body: 'There’s no way to know',
  },
  {
    name: '3.3.10 bcast: a response whose second Via is a broadcast address',
    want: 'silence',
    head: request('INVITE', {
      start: 'SIP/2.0 200 OK',
      Via: ['SIP/2.0/UDP 192.0.2.198;branch=z9hG4bK1324923', 'SIP/2.0/UDP 255.255.255.255;branch=z9hG4bK1saber23'],
    }),
  },
  {
    name: '3.3.11 zeromf: Max-Forwards 0, and it has arrived',
    want: 'app',
    head: request('OPTIONS', { 'Max-Forwards': '0' }),
  },
  {
    name: '3.3.12 cparam01: a parameter of Contact',
    want: 'app',
    head: request('REGISTER', { Contact: 'sip:+19725552222@gw1.example.net;unknownparam' }),
  },
  {
    name: '3.3.13 cparam02: a parameter of the URI in it',
    want: 'app',
    head: request('REGISTER', { Contact: '<sip:+19725552222@gw1.example.net;unknownparam>' }),
  },
  {
    name: '3.3.14 regescrt: headers in the URI of a Contact',
    want: 'app',
    head: request('REGISTER', { Contact: '<sip:user@example.com?Route=%3Csip:sip.example.com%3E>' }),
  },
  {
    name: '3.3.15 sdp01: Accept of what we don’t make, which is the application’s',
    want: 'app',
    head: request('INVITE', { Accept: 'text/nobodyKnowsThis' }, SDP),
    body: SDP,
  },
  {
    name: '3.4.1 inv2543: an INVITE of RFC 2543',
    want: 'app',
    head: [
      'INVITE sip:UserB@example.com SIP/2.0',
      'Via: SIP/2.0/UDP iftgw.example.com',
      'From: <sip:+13035551111@ift.client.example.net;user=phone>',
      'Record-Route: <sip:UserB@example.com;maddr=ss1.example.com>',
      'To: sip:+16505552222@ss1.example.net;user=phone',
      'Call-ID: inv2543.1717@ift.client.example.com',
      'CSeq: 56 INVITE',
      'Content-Type: application/sdp',
      '',
    ].slice(0, -1),
    body: SDP,
  },
]

const VIA6 = 'SIP/2.0/UDP [2001:db8::9:1];branch=z9hG4bKas3-111'

const IPV6: Torture[] = [
  {
    name: 'RFC 5118 4.1: a reference in brackets',
    want: 'app',
    head: request('REGISTER', { start: 'REGISTER sip:[2001:db8::10] SIP/2.0', Via: VIA6 }),
  },
  {
    name: 'RFC 5118 4.2: none',
    want: 400,
    head: request('REGISTER', { start: 'REGISTER sip:2001:db8::10 SIP/2.0', Via: VIA6 }),
  },
  {
    name: 'RFC 5118 4.3: a port that is taken for a part of the address',
    want: 'app',
    head: request('REGISTER', { start: 'REGISTER sip:[2001:db8::10:5070] SIP/2.0', Via: VIA6 }),
  },
  {
    name: 'RFC 5118 4.4: a port behind the brackets',
    want: 'app',
    head: request('REGISTER', { start: 'REGISTER sip:[2001:db8::10]:5070 SIP/2.0', Via: VIA6 }),
  },
  {
    name: 'RFC 5118 4.5: received with brackets and without',
    want: 'app',
    head: request('BYE', {
      start: 'OPTIONS sip:[2001:db8::10] SIP/2.0',
      CSeq: '321 OPTIONS',
      Via: [
        'SIP/2.0/UDP [2001:db8::9:1];received=2001:db8::9:255;branch=z9hG4bKas3-111',
        'SIP/2.0/UDP [2001:db8::9:2];received=[2001:db8::9:255];branch=z9hG4bKas3',
      ],
    }),
  },
  {
    name: 'RFC 5118 4.6: IPv6 over all in signalling and description',
    want: 'app',
    head: request(
      'INVITE',
      { start: 'INVITE sip:user@[2001:db8::10] SIP/2.0', Via: VIA6, Contact: '<sip:caller@[2001:db8::9:1]>' },
      SDP6,
    ),
    body: SDP6,
  },
  {
    name: 'RFC 5118 4.7: both families in the headers',
    want: 'app',
    head: request('OPTIONS', {
      Via: [VIA6, 'SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKjhja8781hjuaij65144'],
      Contact: '"Caller" <sip:caller@[2001:db8::1]>, <sip:caller@192.0.2.1>',
    }),
  },
  {
    name: 'RFC 5118 4.8: both families in the description',
    want: 'app',
    head: request('INVITE', { Via: VIA6 }, SDP + SDP6.slice(SDP6.indexOf('m='))),
    body: SDP + SDP6.slice(SDP6.indexOf('m=')),
  },
  {
    name: 'RFC 5118 4.9: IPv4-mapped addresses',
    want: 'app',
    head: request(
      'INVITE',
      {
        Via: 'SIP/2.0/UDP [::ffff:192.0.2.10]:19823;branch=z9hG4bKbh19',
        Contact: '"T. desk phone" <sip:ted@[::ffff:192.0.2.2]>',
      },
      SDP6,
    ),
    body: SDP6,
  },
  {
    name: 'RFC 5118 4.10: the same with three colons, as RFC 3261’s grammar would have it',
    want: 'app',
    head: request('OPTIONS', { start: 'OPTIONS sip:user@[2001:db8:::192.0.2.1] SIP/2.0', Via: VIA6 }),
  },
]

export const TORTURE: readonly Torture[] = [...VALID, ...INVALID, ...BEYOND_SYNTAX, ...IPV6]
