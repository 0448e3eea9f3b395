import { describe, expect, it } from 'vitest'
import { answerOffer, type LocalAudio, makeOffer, readAnswer } from '../../../sip/text/offer.ts'
import { type Direction, parseSdp } from '../../../sip/text/sdp.ts'

const local: LocalAudio = { address: '192.0.2.1', port: 4000, codecs: ['PCMU', 'PCMA'], sessionId: '7', version: 1 }

function offer(media: string[], session: string[] = ['c=IN IP4 198.51.100.9']): string {
  return `${['v=0', 'o=- 1 1 IN IP4 198.51.100.9', 's=-', ...session, 't=0 0', ...media].join('\r\n')}\r\n`
}

describe('an offer is answered', () => {
  it('takes the first common codec of the peer, and its telephone-event', () => {
    const result = answerOffer(
      offer(['m=audio 6000 RTP/AVP 18 8 0 96', 'a=rtpmap:96 telephone-event/8000', 'a=ptime:30', 'a=rtcp:7001']),
      local,
    )
    expect(result).toMatchObject({
      ok: true,
      audio: {
        codec: 'PCMA',
        payloadType: 8,
        dtmf: { send: 96, receive: [96], clockRate: 8000 },
        remote: { address: '198.51.100.9', port: 6000 },
        rtcp: { address: '198.51.100.9', port: 7001 },
        direction: 'sendrecv',
        ptime: 30,
      },
    })
    expect(result.ok && result.sdp).toBe(
      [
        'v=0',
        'o=- 7 1 IN IP4 192.0.2.1',
        's=-',
        'c=IN IP4 192.0.2.1',
        't=0 0',
        'm=audio 4000 RTP/AVP 8 96',
        'a=rtpmap:8 PCMA/8000',
        'a=rtpmap:96 telephone-event/8000',
        'a=fmtp:96 0-16',
        'a=ptime:20',
        'a=sendrecv',
        '',
      ].join('\r\n'),
    )
  })

  it('understands G.711 under a dynamic payload type', () => {
    const result = answerOffer(offer(['m=audio 6000 RTP/AVP 98', 'a=rtpmap:98 pcmu/8000/1']), local)
    expect(result).toMatchObject({ ok: true, audio: { codec: 'PCMU', payloadType: 98, dtmf: null } })
  })

  it('believes rtpmap rather than the number', () => {
    const result = answerOffer(offer(['m=audio 6000 RTP/AVP 0', 'a=rtpmap:0 PCMU/16000']), local)
    expect(result).toEqual({ ok: false, code: 'no_common_codec' })
  })

  it('prefers the address of the section and takes IPv6', () => {
    const result = answerOffer(offer(['m=audio 6000 RTP/AVP 0', 'c=IN IP6 2001:db8::5']), local)
    expect(result).toMatchObject({ ok: true, audio: { remote: { address: '2001:db8::5', port: 6000 } } })
  })

  it('refuses every other stream with port 0, in its place', () => {
    const result = answerOffer(
      offer(['m=video 5000 RTP/AVP 31', 'm=audio 6000 RTP/SAVP 0', 'm=audio 6002 RTP/AVP 0', 'm=image 9 udptl t38']),
      local,
    )
    expect(result.ok && parseSdp(result.sdp)?.media.map(({ kind, port }) => [kind, port])).toEqual([
      ['video', 0],
      ['audio', 0],
      ['audio', 4000],
      ['image', 0],
    ])
  })

  const cases: [Direction, Direction, Direction][] = [
    ['sendrecv', 'sendrecv', 'sendrecv'],
    ['sendonly', 'sendrecv', 'recvonly'],
    ['recvonly', 'sendrecv', 'sendonly'],
    ['inactive', 'sendrecv', 'inactive'],
    ['sendrecv', 'sendonly', 'sendonly'],
    ['sendonly', 'sendonly', 'inactive'],
    ['sendrecv', 'inactive', 'inactive'],
  ]
  it.each(cases)('offered %s, willing %s: %s', (theirs, willing, want) => {
    const result = answerOffer(offer(['m=audio 6000 RTP/AVP 0', `a=${theirs}`]), { ...local, direction: willing })
    expect(result).toMatchObject({ ok: true, audio: { direction: want } })
  })

  it('takes 0.0.0.0 as hold and a direction at session level', () => {
    const held = answerOffer(offer(['m=audio 6000 RTP/AVP 0'], ['c=IN IP4 0.0.0.0']), local)
    expect(held).toMatchObject({ ok: true, audio: { direction: 'recvonly' } })
    const session = answerOffer(offer(['m=audio 6000 RTP/AVP 0'], ['c=IN IP4 198.51.100.9', 'a=inactive']), local)
    expect(session).toMatchObject({ ok: true, audio: { direction: 'inactive' } })
  })

  it.each([
    ['nothing', '', 'malformed'],
    ['no session description', 'hello', 'malformed'],
    ['no address', offer(['m=audio 6000 RTP/AVP 0'], []), 'malformed'],
    ['no origin', 'v=0\r\nm=audio 6000 RTP/AVP 0\r\n', 'malformed'],
    ['a wild port', offer(['m=audio 600000 RTP/AVP 0']), 'malformed'],
    ['a stray line', offer(['this is no line']), 'malformed'],
    ['no audio', offer(['m=video 6000 RTP/AVP 31']), 'no_audio'],
    ['audio switched off', offer(['m=audio 0 RTP/AVP 0']), 'no_audio'],
    ['SRTP only', offer(['m=audio 6000 RTP/SAVP 0']), 'unsupported_profile'],
    ['no codec of ours', offer(['m=audio 6000 RTP/AVP 18 3']), 'no_common_codec'],
  ])('%s', (_name, text, code) => {
    expect(answerOffer(text, local)).toEqual({ ok: false, code })
  })

  it('restricts itself to the codecs of the trunk', () => {
    const result = answerOffer(offer(['m=audio 6000 RTP/AVP 0 8']), { ...local, codecs: ['PCMA'] })
    expect(result).toMatchObject({ ok: true, audio: { codec: 'PCMA' } })
  })
})

describe('our own offer', () => {
  it('lists our codecs and telephone-event, and reads the answer', () => {
    const text = makeOffer({ ...local, direction: 'sendonly' })
    expect(text).toContain('m=audio 4000 RTP/AVP 0 8 101\r\n')
    expect(text).toContain('a=sendonly\r\n')
    const answer = offer(['m=audio 6000 RTP/AVP 8 97', 'a=rtpmap:97 telephone-event/8000'])
    expect(readAnswer(answer, local)).toMatchObject({
      ok: true,
      audio: { codec: 'PCMA', dtmf: { send: 97, receive: [101, 97] }, direction: 'sendrecv' },
    })
  })

  it('agrees with itself', () => {
    const answered = answerOffer(makeOffer(local), { ...local, port: 5000 })
    expect(answered.ok && readAnswer(answered.sdp, local)).toMatchObject({
      ok: true,
      audio: { codec: 'PCMU', remote: { port: 5000 } },
    })
  })
})
