/** Contents of the SIP trace of a call, and data that it omits. */
import { describe, expect, it } from 'vitest'
import { readFrame } from '../../../sip/trunk/trace/frame.ts'
import { maskSecrets } from '../../../sip/trunk/trace/mask.ts'
import { Traces } from '../../../sip/trunk/trace/trace.ts'
import { effortOf } from '../../support/effort.ts'

const message = (first: string, callId: string, extra: readonly string[] = [], body = '') =>
  [first, `Call-ID: ${callId}`, 'CSeq: 1 INVITE', ...extra, '', body].join('\r\n')
const came = (text: string, txn = 't') =>
  `id|sip|network|9|udp|192.0.2.9|5060|08:00:00.000000|${txn}||192.0.2.1|5070|\r\n${text}`
const sent = (text: string, txn = 't') =>
  `id|response|m|OK|application|9|udp|192.0.2.1|5070|08:00:00.000000|${txn}|Msg sent:|\r\n${text}`

let nowMs = 0
const clock = { now: () => nowMs, wall: () => 1_000_000 + nowMs, after: () => () => {} }

describe('secrets', () => {
  it.each([
    [
      'Authorization: Digest username="u", realm="r", nonce="SECRET", uri="sip:a", response="SECRET", cnonce=SECRET, nc=00000001',
      ['username="u"', 'realm="r"', 'nc=00000001'],
    ],
    ['Proxy-Authorization: Digest username="u",\r\n response="SECRET\\"SECRET"', ['username="u"']],
    ['authorization : Basic SECRET', ['Basic']],
    ['WWW-Authenticate: Digest realm="r", nonce="SECRET", opaque="SECRET", stale=true', ['realm="r"', 'stale=true']],
    ['Authentication-Info: nextnonce="SECRET", rspauth="SECRET"', ['nextnonce']],
    ['Contact: <sip:user:SECRET@192.0.2.1>', ['sip:user:', '@192.0.2.1']],
    ['X-Api-Key: SECRET', ['X-Api-Key']],
  ])('in %s are masked, the rest is not', (line, kept) => {
    const masked = maskSecrets(message('INVITE sip:a SIP/2.0', 'c', [line]))
    expect(masked).not.toContain('SECRET')
    for (const text of kept) expect(masked).toContain(text)
    expect(masked).toContain('Call-ID: c')
  })

  it('of the sound are masked in descriptions', () => {
    const lines = [
      'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:SECRET|2^31',
      'a=ice-pwd:SECRET',
      'k=base64:SECRET',
      'a=ptime:20',
    ]
    const masked = maskSecrets(message('INVITE sip:a SIP/2.0', 'c', [], lines.join('\r\n')))
    expect(masked).not.toContain('SECRET')
    expect(masked).toContain('a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:***')
    expect(masked).toContain('a=ptime:20')
  })

  it('that are typed as keys are masked', () => {
    const relay = message(
      'INFO sip:a SIP/2.0',
      'c',
      ['Content-Type: application/dtmf-relay'],
      'Signal=7\r\nDuration=160\r\n',
    )
    expect(maskSecrets(relay)).toContain('Signal=***\r\nDuration=160')
    expect(maskSecrets(message('INFO sip:a SIP/2.0', 'c', ['Content-Type: application/dtmf'], '7'))).not.toContain('7')
  })

  it('are masked in no time, whatever a stranger writes', () => {
    for (const text of ['nonce="'.repeat(20_000), `Authorization: ${'a,'.repeat(50_000)}`, 'sip:'.repeat(50_000)]) {
      expect(effortOf(() => maskSecrets(message('INVITE sip:a SIP/2.0', 'c', [text])))).toBeLessThan(1000)
    }
  })
})

describe('frames', () => {
  it('without a message are passed over', () => {
    for (const frame of [
      '',
      'id|response|m|OK',
      'id|response|m|OK|pong\r\n',
      'id|cdr:start|network|t\r\nINVITE',
      'x'.repeat(5000),
    ]) {
      expect(readFrame(frame)).toBeNull()
    }
    expect(readFrame(`id|response|m|NOK|no\r\n${message('INVITE a', 'c')}`)).toBeNull()
  })

  it('of the real server may lack the protocol of an ACK, and tell of a BYE of its own', () => {
    expect(readFrame(`id|sip|network|9||192.0.2.9|5060|t|x|d|\r\n${message('ACK sip:a SIP/2.0', 'c')}`)).toMatchObject({
      way: 'came',
      protocol: '',
      at: '192.0.2.9:5060',
      callId: 'c',
    })
    const bye = `id|sip|application|0|udp|192.0.2.9|5060|t|unsolicited|d|\r\n${message('BYE sip:a SIP/2.0', 'c')}`
    expect(readFrame(bye)).toMatchObject({ way: 'sent' })
    const nobody = `id|sip|network|0|udp||0|t|x|d|\r\n${message('SIP/2.0 408 Request Timeout', 'c')}`
    expect(readFrame(nobody)).toMatchObject({ way: 'generated' })
  })
})

describe('traces', () => {
  it('learn from the answer where a request had gone', () => {
    const traces = new Traces(clock)
    traces.frame(sent(message('INVITE sip:1@carrier.example SIP/2.0', 'c')))
    expect(traces.peek('c').messages[0]).toMatchObject({ source: '192.0.2.1:5070', target: 'carrier.example:5060' })
    traces.frame(came(message('SIP/2.0 180 Ringing', 'c')))
    expect(traces.peek('c').messages.map(({ target }) => target)).toEqual(['192.0.2.9:5060', '192.0.2.1:5070'])
  })

  it('of a call are taken once, over all of its dialogs', () => {
    const traces = new Traces(clock)
    for (const id of ['a', 'b', 'other']) traces.frame(sent(message('INVITE sip:1@h SIP/2.0', id)))
    traces.bind('a', 'call', 'trunk')
    traces.bind('b', 'call', 'trunk')
    traces.bind('never', 'call', 'trunk')
    traces.bind(undefined, 'call', 'trunk')
    expect(traces.take('call')).toMatchObject({ trunkId: 'trunk', omitted: 0, messages: [{}, {}] })
    expect(traces.take('call')).toBeNull()
    expect(traces.peek('other').messages).toHaveLength(1)
  })

  it('are bounded: a long call keeps its beginning and its end, a long message its head', () => {
    const traces = new Traces(clock)
    for (let n = 0; n < 500; n++) traces.frame(came(message(`INFO sip:${n} SIP/2.0`, 'c')))
    const { messages, omitted } = traces.peek('c')
    expect(messages.length + omitted).toBe(500)
    expect(messages.length).toBeLessThanOrEqual(60)
    expect([messages[0]!.text, messages.at(-1)!.text]).toEqual([
      expect.stringMatching(/^INFO sip:0 /),
      expect.stringMatching(/^INFO sip:499 /),
    ])
    for (let n = 0; n < 40; n++) traces.frame(came(message('INFO sip:x SIP/2.0', 'large', [], 'x'.repeat(60_000))))
    const size = traces.peek('large').messages.reduce((sum, { text }) => sum + text.length, 0)
    expect(size).toBeLessThan(250_000)
  })

  it('of strangers are forgotten: by age and by number', () => {
    const traces = new Traces(clock)
    for (let n = 0; n < 2000; n++) traces.frame(came(message('OPTIONS sip:x SIP/2.0', `c${n}`)))
    expect(traces.peek('c0').messages).toEqual([])
    expect(traces.peek('c1999').messages).toHaveLength(1)
    nowMs += 3_600_000
    traces.frame(came(message('OPTIONS sip:x SIP/2.0', 'new')))
    expect(traces.peek('c1999').messages).toEqual([])
  })
})
