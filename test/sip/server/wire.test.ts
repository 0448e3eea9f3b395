import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeFrame, FrameDecoder, FrameError, leader, parseAppFrame, timeOfDay } from '../../../sip/server/wire.ts'

const frame = (payload: string): Buffer => Buffer.from(`${Buffer.byteLength(payload)}#${payload}`)

describe('frames', () => {
  it('are counted in bytes', () => {
    const encoded = encodeFrame('id', 'sip|x', Buffer.from('Subject: 🙂'))
    expect(encoded.toString()).toBe('23#id|sip|x\r\nSubject: 🙂')
    expect(new FrameDecoder(100).push(encoded)[0]?.toString()).toBe('id|sip|x\r\nSubject: 🙂')
  })

  it('come out whole, however the bytes arrive', () => {
    const payloads = ['a|ping', 'b|route|invite', `c|sip||\r\n${'#'.repeat(20_000)}`]
    const stream = Buffer.concat(payloads.map(frame))
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), size => {
        const decoder = new FrameDecoder(100_000)
        const seen: string[] = []
        for (let i = 0; i < stream.length; i += size) {
          seen.push(...decoder.push(stream.subarray(i, i + size)).map(bytes => bytes.toString()))
        }
        expect(seen).toEqual(payloads)
      }),
      { numRuns: 30 },
    )
  })

  it.each(['x#abc', '-1#a', '#a', '123456789', '99#'])('"%s" breaks the connection', text => {
    expect(() => new FrameDecoder(50).push(Buffer.from(text))).toThrow(FrameError)
  })

  it('bytes at random throw FrameError or nothing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), noise => {
        try {
          for (const payload of new FrameDecoder(1000).push(Buffer.from(noise))) parseAppFrame(payload)
        } catch (error) {
          expect(error).toBeInstanceOf(FrameError)
        }
      }),
    )
  })
})

describe('frames of the application', () => {
  it.each([
    ['1|authenticate|cymru|a,b', { type: 'authenticate', msgId: '1', secret: 'cymru', tags: ['a', 'b'] }],
    ['1|authenticate|gehëim|', { type: 'authenticate', secret: 'gehëim', tags: [] }],
    ['2|route|INVITE', { type: 'route', msgId: '2', verb: 'invite' }],
    ['2|remove_route|invite', { type: 'remove_route', verb: 'invite' }],
    ['3|ping', { type: 'ping', msgId: '3' }],
    ['4|sip|txn|\r\nSIP/2.0 200 OK\r\n\r\n', { type: 'sip', txnId: 'txn', dialogId: '', nextHop: '' }],
    [
      '5|sip||id;from-tag=1\r\nBYE sip:placeholder SIP/2.0\r\n\r\n',
      { type: 'sip', txnId: '', dialogId: 'id;from-tag=1' },
    ],
    [
      '6|sip|||sip:1.2.3.4;lr\r\nINVITE sip:x SIP/2.0\r\n\r\n',
      { type: 'sip', dialogId: '', nextHop: 'sip:1.2.3.4;lr' },
    ],
    [
      '7|proxy|txn|remainInDialog|fullResponse||serial|2s|1500ms|sip:a|sip:b\r\nINVITE sip:a SIP/2.0\r\n\r\n',
      {
        type: 'proxy',
        txnId: 'txn',
        remainInDialog: true,
        fullResponse: true,
        followRedirects: false,
        simultaneous: false,
        provisionalMs: 2000,
        finalMs: 1500,
        destinations: ['sip:a', 'sip:b'],
      },
    ],
    [
      '8|proxy|txn|||followRedirects|simultaneous|||sip:a',
      {
        type: 'proxy',
        remainInDialog: false,
        followRedirects: true,
        simultaneous: true,
        provisionalMs: null,
        finalMs: null,
      },
    ],
    ['9|fancy|x', { type: 'unknown', verb: 'fancy' }],
    ['', { type: 'unknown', msgId: '' }],
  ])('%s', (text, want) => expect(parseAppFrame(Buffer.from(text))).toMatchObject(want))
})

describe('frames of the server', () => {
  const stamp = { bytes: 506, protocol: 'udp', address: '127.0.0.1', port: 5071, time: '08:49:25.460279' }

  it('have each token where drachtio-srf looks for it', () => {
    expect(leader.newRequest(stamp, 'T', { host: '127.0.0.1', port: 5090 })).toBe(
      'sip|network|506|udp|127.0.0.1|5071|08:49:25.460279|T||127.0.0.1|5090|',
    )
    expect(leader.network(stamp, 'T', 'D')).toBe('sip|network|506|udp|127.0.0.1|5071|08:49:25.460279|T|D|')
    expect(leader.requestSent('m', stamp, 'T')).toBe(
      'response|m|OK|application|506|udp|127.0.0.1|5071|08:49:25.460279|T|Msg sent:|',
    )
    expect(leader.responseSent('m', stamp, 'T', 'D')).toBe(
      'response|m|OK|application|506|udp|127.0.0.1|5071|08:49:25.460279|T|D||Msg sent:|',
    )
    expect(leader.proxied('m', stamp)).toBe('response|m|OK|network|506|udp|127.0.0.1|5071|08:49:25.460279|||continue')
    expect(leader.cdr('attempt', 'network', '08:49:25.460279')).toBe('cdr:attempt|network|08:49:25.460279')
    expect(leader.cdr('stop', 'application', 'T', 'normal-release')).toBe('cdr:stop|application|T|normal-release')
    expect(leader.synthetic('08:49:25.460279', 'T', 'D')).toBe('sip|network|0|udp||0|08:49:25.460279|T|D|')
    expect(leader.unsolicited(stamp, 'D')).toBe('sip|application|506|udp|127.0.0.1|5071|08:49:25.460279|unsolicited|D|')
    expect(leader.authenticated('m', 'udp/a', 'v1', 'udp/b')).toBe('response|m|OK|udp/a|v1|udp/b')
    expect(leader.reply('m', 'NO', 'incorrect secret')).toBe('response|m|NO|incorrect secret')
  })

  it('tell the time in microseconds', () => {
    expect(timeOfDay(new Date('2026-01-02T03:04:05.678Z'))).toBe('03:04:05.678000')
  })
})
