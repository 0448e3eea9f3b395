/** Offers and answers of codecs, as real peers write them (RFC 3264, 3551, 4733, 7587). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerOffer, type CodecName, type LocalAudio, makeOffer, readAnswer } from '../../../sip/text/offer.ts'
import { rtpParams, sampleRateOf } from '../../../sip/trunk/legs/media.ts'

const ALL: readonly CodecName[] = ['PCMU', 'PCMA', 'G722', 'opus']
const local = (codecs: readonly CodecName[] = ALL): LocalAudio => ({
  address: '192.0.2.1',
  port: 4000,
  codecs,
  sessionId: '7',
  version: 1,
})
const sdp = (...media: string[]): string =>
  `${['v=0', 'o=- 1 1 IN IP4 198.51.100.9', 's=-', 'c=IN IP4 198.51.100.9', 't=0 0', ...media].join('\r\n')}\r\n`
const answer = (offer: string, codecs?: readonly CodecName[]) => {
  const result = answerOffer(offer, local(codecs))
  if (!result.ok) throw new Error(result.code)
  return result
}

/** SDP as Linphone 5 writes it. */
const LINPHONE = sdp(
  'm=audio 7078 RTP/AVP 96 97 0 8 9 18 101 98',
  'a=rtpmap:96 opus/48000/2',
  'a=fmtp:96 useinbandfec=1; maxaveragebitrate=20000',
  'a=rtpmap:97 speex/16000',
  'a=rtpmap:101 telephone-event/48000',
  'a=rtpmap:98 telephone-event/8000',
)

describe('an offer with Opus', () => {
  it('is answered under its own numbers, with telephone-event of the same clock', () => {
    const { audio, sdp: text } = answer(LINPHONE)
    expect(audio).toMatchObject({
      codec: 'opus',
      payloadType: 96,
      receive: [{ codec: 'opus', payloadType: 96 }],
      dtmf: { send: 101, receive: [101], clockRate: 48_000 },
      opus: { fec: true, maxBitrate: 20_000 },
    })
    expect(text.split('\r\n').slice(5, -1)).toEqual([
      'm=audio 4000 RTP/AVP 96 101',
      'a=rtpmap:96 opus/48000/2',
      'a=fmtp:96 maxplaybackrate=16000;sprop-maxcapturerate=16000;useinbandfec=1',
      'a=rtpmap:101 telephone-event/48000',
      'a=fmtp:101 0-16',
      'a=ptime:20',
      'a=maxptime:60',
      'a=sendrecv',
    ])
  })

  it('falls back to the next codec with its telephone-event clock', () => {
    expect(answer(LINPHONE, ['PCMA', 'PCMU']).audio).toMatchObject({
      codec: 'PCMU',
      payloadType: 0,
      dtmf: { send: 98, receive: [98], clockRate: 8000 },
    })
  })

  it('with telephone-event of another clock is accepted', () => {
    const offer = sdp('m=audio 7078 RTP/AVP 107 101', 'a=rtpmap:107 OPUS/48000/2', 'a=rtpmap:101 telephone-event/8000')
    const { audio, sdp: text } = answer(offer)
    expect(audio).toMatchObject({
      codec: 'opus',
      opus: { fec: false, maxBitrate: null },
      dtmf: { send: 101, clockRate: 8000 },
    })
    expect(text).toContain('a=rtpmap:101 telephone-event/8000')
  })

  it.each(['opus/16000', 'opus/8000/2', 'opus/48000/2x', 'opus'])('is not recognised as %s', name => {
    expect(answerOffer(sdp('m=audio 6000 RTP/AVP 96', `a=rtpmap:96 ${name}`), local())).toEqual({
      ok: false,
      code: 'no_common_codec',
    })
  })
})

describe('G.722', () => {
  it.each([
    ['by its number alone', ['m=audio 6000 RTP/AVP 9']],
    ['by the clock of the rule', ['m=audio 6000 RTP/AVP 9', 'a=rtpmap:9 G722/8000']],
    ['by the rate that it really has', ['m=audio 6000 RTP/AVP 99', 'a=rtpmap:99 g722/16000']],
  ])('is recognised %s', (_name, media) => {
    expect(answer(sdp(...media)).audio).toMatchObject({ codec: 'G722' })
    expect(answer(sdp(...media)).sdp).toMatch(/a=rtpmap:\d+ G722\/8000\r\n/)
  })

  it('yields a 16 kHz leg', () => {
    const { audio } = answer(sdp('m=audio 6000 RTP/AVP 9'))
    expect([sampleRateOf(audio, local()), sampleRateOf(null, local()), sampleRateOf(null, local(['PCMA']))]).toEqual([
      16_000, 16_000, 8000,
    ])
  })
})

describe('the order', () => {
  it('follows the offerer', () => {
    expect(answer(sdp('m=audio 6000 RTP/AVP 8 9 0')).audio.codec).toBe('PCMA')
    expect(answer(sdp('m=audio 6000 RTP/AVP 9 8 0')).audio.codec).toBe('G722')
  })

  it('of ours is that of the trunk', () => {
    expect(makeOffer(local(['opus', 'G722', 'PCMA']))).toContain('m=audio 4000 RTP/AVP 111 9 8 110 101\r\n')
    expect(makeOffer(local(['PCMA', 'PCMU']))).toContain('m=audio 4000 RTP/AVP 8 0 101\r\n')
    expect(makeOffer(local(['PCMA', 'PCMU']))).not.toMatch(/opus|48000|maxptime/)
  })
})

describe('comfort noise', () => {
  it('is not accepted from the far end', () => {
    expect(answer(sdp('m=audio 6000 RTP/AVP 0 13', 'a=rtpmap:13 CN/8000')).sdp).toContain('m=audio 4000 RTP/AVP 0\r\n')
    expect(makeOffer(local())).not.toContain(' 13')
  })
})

describe('an answer to our offer', () => {
  it('may list several codecs with own payload types', () => {
    const text = sdp(
      'm=audio 6000 RTP/AVP 120 9 0 97',
      'a=rtpmap:120 opus/48000/2',
      'a=fmtp:120 useinbandfec=1',
      'a=rtpmap:97 telephone-event/48000',
    )
    const result = readAnswer(text, local())
    if (!result.ok) throw new Error(result.code)
    expect(result.audio).toMatchObject({ codec: 'opus', payloadType: 120, opus: { fec: true } })
    const params = rtpParams(result.audio)
    expect(params).toMatchObject({ payloadType: 120, dtmfPayloadType: 97, dtmfClockRate: 48_000 })
    expect(Object.fromEntries(params.receive!.formats)).toEqual({ 111: 'opus', 9: 'G722', 0: 'PCMU', 120: 'opus' })
    expect(params.receive!.dtmfPayloadTypes).toEqual([101, 110, 97])
  })

  it('with a codec that was not offered is rejected', () => {
    expect(readAnswer(sdp('m=audio 6000 RTP/AVP 9'), local(['PCMU']))).toEqual({ ok: false, code: 'no_common_codec' })
  })
})

describe('packet times', () => {
  it.each([
    ['a=ptime:30', 'PCMU', 30],
    ['a=ptime:10', 'PCMU', 10],
    ['a=ptime:60', 'PCMU', 60],
    ['a=ptime:50', 'PCMU', 50],
    ['a=ptime:25', 'PCMU', 20],
    ['a=ptime:5', 'PCMU', 10],
    ['a=ptime:200', 'PCMU', 60],
    ['a=ptime:0', 'PCMU', 20],
    ['a=ptime:-20', 'PCMU', 20],
    ['a=ptime:x', 'PCMU', 20],
    ['a=maxptime:10', 'PCMU', 10],
    ['a=maxptime:150', 'PCMU', 20],
    ['a=ptime:30', 'opus', 20],
    ['a=ptime:50', 'opus', 40],
    ['a=ptime:60', 'opus', 60],
    ['a=maxptime:10', 'opus', 10],
  ])('packet time of %s for %s is %i ms', (line, codec, ptime) => {
    const media =
      codec === 'opus' ? ['m=audio 6000 RTP/AVP 96', 'a=rtpmap:96 opus/48000/2'] : ['m=audio 6000 RTP/AVP 0']
    expect(answer(sdp(...media, line)).audio.ptime).toBe(ptime)
  })

  it('is the smaller of both preferences', () => {
    expect(answer(sdp('m=audio 6000 RTP/AVP 0', 'a=ptime:60', 'a=maxptime:40')).audio.ptime).toBe(40)
  })
})

it('is agreed between two of our own', () => {
  const some = fc.shuffledSubarray([...ALL], { minLength: 1 })
  fc.assert(
    fc.property(some, some, (ours, theirs) => {
      const answered = answerOffer(makeOffer(local(ours)), local(theirs))
      const common = ours.find(codec => theirs.includes(codec))
      if (common === undefined) {
        expect(answered).toEqual({ ok: false, code: 'no_common_codec' })
        return
      }
      if (!answered.ok) throw new Error(answered.code)
      const agreed = readAnswer(answered.sdp, local(ours))
      if (!agreed.ok) throw new Error(agreed.code)
      expect([answered.audio.codec, agreed.audio.codec]).toEqual([common, common])
      const [a, b] = [rtpParams(answered.audio), rtpParams(agreed.audio)]
      expect(b.receive!.formats.get(a.payloadType)).toBe(common)
      expect(a.receive!.formats.get(b.payloadType)).toBe(common)
      expect(b.receive!.dtmfPayloadTypes).toContain(a.dtmfPayloadType)
      expect(a.receive!.dtmfPayloadTypes).toContain(b.dtmfPayloadType)
    }),
  )
})
