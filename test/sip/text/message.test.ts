import { describe, expect, it } from 'vitest'
import { headerOf, listOf, type SipMessage, SipParseError, serialise } from '../../../sip/text/message.ts'
import { parseMessage } from '../../../sip/text/parse.ts'
import { parseCSeq, parseVia } from '../../../sip/text/validate.ts'
import { changed, lines, message, OPTIONS } from './samples.ts'

function parsed(bytes: Buffer): SipMessage {
  const result = parseMessage(bytes)
  if (!result.ok) throw result.error
  return result.message
}

function codeOf(bytes: Buffer): string {
  const result = parseMessage(bytes)
  return result.ok ? 'ok' : result.error.code
}

describe('a message is read byte for byte', () => {
  it('reads compact forms under their long names', () => {
    const read = parsed(
      message([
        'OPTIONS sip:u@h SIP/2.0',
        'v: SIP/2.0/UDP h;branch=z9hG4bK1',
        'f: <sip:a@h>;tag=1',
        't: <sip:u@h>',
        'i: 1@h',
        'CSeq: 1 OPTIONS',
        'm: <sip:a@h>',
        'k: timer, 100rel',
        'l: 0',
      ]),
    )
    expect(read.headers.map(([name]) => name)).toEqual([
      'Via',
      'From',
      'To',
      'Call-ID',
      'CSeq',
      'Contact',
      'Supported',
      'Content-Length',
    ])
    expect(listOf(read, 'Supported')).toEqual(['timer', '100rel'])
  })

  it('unfolds continued lines and tolerates blanks around the colon', () => {
    const read = parsed(message([...OPTIONS, 'Subject  :  I know', ' you are there,', '\tpick up']))
    expect(headerOf(read, 'Subject')).toBe('I know you are there, pick up')
  })

  it('keeps repeated headers in order and splits lists outside quotes and brackets', () => {
    const read = parsed(
      message([
        ...OPTIONS,
        'Route: <sip:a;lr>, "A, B" <sip:b,c;lr>',
        'Route: <sip:d;lr>',
        'Contact: "x\\",y" <sip:e@f>;q=0.1',
      ]),
    )
    expect(listOf(read, 'Route')).toEqual(['<sip:a;lr>', '"A, B" <sip:b,c;lr>', '<sip:d;lr>'])
    expect(listOf(read, 'Contact')).toEqual(['"x\\",y" <sip:e@f>;q=0.1'])
  })

  it('cuts the body at Content-Length in bytes, not characters', () => {
    const body = Buffer.from('grüß 🙂', 'utf8')
    const read = parsed(
      message([...OPTIONS, `Content-Length: ${body.length}`], Buffer.concat([body, Buffer.from('tail')])),
    )
    expect(read.body.toString('utf8')).toBe('grüß 🙂')
  })

  it('passes bytes that are no UTF-8 through unchanged', () => {
    const name = Buffer.from([0x22, 0x4a, 0xf6, 0x72, 0x67, 0x22])
    const from = Buffer.concat([
      Buffer.from('From: '),
      name,
      Buffer.from(' <sip:j@h>;tag=1\r\nContent-Length: 0\r\n\r\n'),
    ])
    const bytes = Buffer.concat([lines(...changed('From', null)), from])
    expect(serialise(parsed(bytes)).includes(name)).toBe(true)
  })

  it('skips line ends in front of the start line', () => {
    expect(codeOf(Buffer.concat([Buffer.from('\r\n\r\n'), message(OPTIONS)]))).toBe('ok')
  })

  it('reads IPv6 in URI, Via and received', () => {
    const read = parsed(
      message([
        'OPTIONS sip:[2001:db8::10]:5070 SIP/2.0',
        'Via: SIP/2.0/UDP [2001:db8::9:1]:5061;received=[2001:db8::9:255];branch=z9hG4bKas3-111',
        ...OPTIONS.slice(2),
      ]),
    )
    expect(parseVia(headerOf(read, 'Via')!)).toMatchObject({ host: '2001:db8::9:1', port: 5061, transport: 'UDP' })
  })

  it('writes Content-Length itself, last and right', () => {
    const read = parsed(message([...OPTIONS, 'Content-Length: 2'], 'hi'))
    expect(serialise({ ...read, body: Buffer.from('longer') }).toString()).toMatch(/Content-Length: 6\r\n\r\nlonger$/)
  })
})

describe('a bad message gives a typed error', () => {
  const cases: [string, Buffer, string][] = [
    ['nothing', Buffer.alloc(0), 'empty'],
    ['line ends only', Buffer.from('\r\n\r\n'), 'empty'],
    ['binary', Buffer.from([0, 1, 2, 255, 254]), 'bad_start_line'],
    ['HTTP', message(['GET / HTTP/1.1', 'Host: x']), 'bad_start_line'],
    ['another version', message(['OPTIONS sip:u@h SIP/7.0', ...OPTIONS.slice(1)]), 'bad_version'],
    ['a status of 99', message(['SIP/2.0 099 No', ...OPTIONS.slice(1)]), 'bad_start_line'],
    ['a status of 4294967301', message(['SIP/2.0 4294967301 better not', ...OPTIONS.slice(1)]), 'bad_start_line'],
    ['no Call-ID', message(changed('Call-ID', null)), 'missing_header'],
    ['no Via', message(changed('Via', null)), 'missing_header'],
    ['an empty To', message(changed('To', 'To:')), 'missing_header'],
    ['two Call-IDs', message([...OPTIONS, 'Call-ID: 2']), 'duplicate_header'],
    ['another CSeq method', message(changed('CSeq', 'CSeq: 60 INVITE')), 'cseq_mismatch'],
    ['a CSeq of 2**32', message(changed('CSeq', 'CSeq: 4294967296 OPTIONS')), 'bad_cseq'],
    ['a Via without host', message(changed('Via', 'Via: SIP/2.0/UDP ;branch=1')), 'bad_via'],
    ['a line without colon', message([...OPTIONS, 'no colon here']), 'bad_header'],
    ['a negative Content-Length', message([...OPTIONS, 'Content-Length: -999']), 'bad_content_length'],
    [
      'two Content-Lengths',
      message([...OPTIONS, 'Content-Length: 1', 'Content-Length: 2'], 'abc'),
      'bad_content_length',
    ],
    ['a short body', message([...OPTIONS, 'Content-Length: 9999'], 'v=0'), 'truncated'],
    ['no blank line', lines(...OPTIONS), 'truncated'],
    ['an open quote', message(changed('To', 'To: "Mr. J. User <sip:j.user@example.com>')), 'bad_address'],
    ['a bracketed Request-URI', message(['OPTIONS <sip:u@h> SIP/2.0', ...OPTIONS.slice(1)]), 'bad_uri'],
    ['blanks in the Request-URI', message(['OPTIONS sip:u@h; lr SIP/2.0', ...OPTIONS.slice(1)]), 'bad_uri'],
    ['300 kB', Buffer.alloc(300_000, 65), 'too_large'],
  ]
  it.each(cases)('%s', (_name, bytes, code) => {
    expect(codeOf(bytes)).toBe(code)
  })

  it('keeps what is needed to answer', () => {
    const result = parseMessage(message(changed('CSeq', 'CSeq: 60 INVITE')))
    expect(result.ok).toBe(false)
    if (result.ok) return
    expect(result.error).toBeInstanceOf(SipParseError)
    expect(result.error.status).toBe(400)
    expect(headerOf(result.error.request!, 'Call-ID')).toBe('1234@example.net')
  })

  it('answers another version with 505', () => {
    const result = parseMessage(message(['OPTIONS sip:u@h SIP/7.0', ...OPTIONS.slice(1)]))
    expect(result.ok ? 0 : result.error.status).toBe(505)
  })
})

describe('CSeq', () => {
  it.each([
    ['1 INVITE', { seq: 1, method: 'INVITE' }],
    ['0009 INVITE', { seq: 9, method: 'INVITE' }],
    ['2147483648 INVITE', null],
    ['INVITE', null],
    ['1', null],
  ])('%s', (text, want) => expect(parseCSeq(text)).toEqual(want))
})
