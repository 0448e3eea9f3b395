/** From packets to frames and back, without a network: lengths, codecs, silence, loss, clock drift. */
import { beforeAll, describe, expect, it } from 'vitest'
import { CODECS, createDecoder, createEncoder } from '../../../media/audio/codec.ts'
import type { Encoder } from '../../../media/audio/coder.ts'
import { concatPcm, rms } from '../../../media/audio/frames.ts'
import { decodeG711, encodeG711 } from '../../../media/audio/g711.ts'
import { loadOpus } from '../../../media/audio/opus.ts'
import type { CodecName } from '../../../media/contract/plan.ts'
import type { AudioFrame } from '../../../media/ports/leg.ts'
import { AudioReceiver } from '../../../media/rtp/audio-receiver.ts'
import { AudioSender, type OutgoingPacket } from '../../../media/rtp/audio-sender.ts'
import type { RtpPacket } from '../../../media/rtp/packet.ts'
import type { RtpParams } from '../../../media/rtp/params.ts'
import { seeded, shareOf, speech, tone } from '../audio/sound.ts'

const NUMBERS: Record<CodecName, number> = { PCMU: 0, PCMA: 8, G722: 9, opus: 111 }
const CODEC_NAMES = Object.keys(NUMBERS) as CodecName[]

const params = (codec: CodecName, more: Partial<RtpParams> = {}): RtpParams => ({
  remote: { address: '192.0.2.1', port: 4000 },
  codec,
  payloadType: NUMBERS[codec],
  dtmfPayloadType: 101,
  receive: { formats: new Map(CODEC_NAMES.map(name => [NUMBERS[name], name])), dtmfPayloadTypes: [101] },
  direction: 'sendrecv',
  ...more,
})

beforeAll(loadOpus)
/** Opus is made in the background. */
const made = () => new Promise<void>(resolve => setImmediate(resolve))

/** An independent sender, whose packets get sequence numbers as on a network. */
class Wire {
  sequence = 100
  readonly #sender: AudioSender
  readonly #rate: number
  #at = 0

  constructor(codec: CodecName, more: Partial<RtpParams> = {}, rate = CODECS[codec].sampleRate) {
    this.#rate = rate
    this.#sender = new AudioSender(params(codec, more), rate, 5000)
  }

  /** 20 ms of a tone, or of silence. */
  tick(hz: number | null): RtpPacket[] {
    const samples = this.#rate / 50
    const pcm = hz === null ? null : tone(hz, this.#rate, samples, 8000, this.#at)
    this.#at += samples
    return this.#sender.tick(() => pcm && { pcm, ulaw: null }).map(packet => this.number(packet))
  }

  number(packet: OutgoingPacket): RtpPacket {
    return { ...packet, ssrc: 7, sequence: this.sequence++ & 0xffff }
  }
}
const joined = (frames: AudioFrame[]) => concatPcm(frames.map(frame => frame.pcm))

describe.each(CODEC_NAMES)('%s', codec => {
  const { clockRate, sampleRate } = CODECS[codec]

  it.each([10, 20, 40, 60, ...(codec === 'opus' ? [] : [30, 50])])(
    'in packets of %i ms plays in frames of 20 ms',
    async ptimeMs => {
      const wire = new Wire(codec, { ptimeMs })
      const receiver = new AudioReceiver(params(codec), sampleRate)
      await made()
      const packets: RtpPacket[] = []
      const frames: AudioFrame[] = []
      for (let n = 0; n < 60; n++) {
        const sent = wire.tick(440)
        packets.push(...sent)
        for (const packet of sent) frames.push(...receiver.receive(packet, n * 20))
      }
      const steps = packets.slice(1).map((packet, i) => packet.timestamp - packets[i]!.timestamp)
      expect(new Set(steps)).toEqual(new Set([(clockRate * ptimeMs) / 1000]))
      expect(packets).toHaveLength(Math.floor(1200 / ptimeMs))
      expect(packets.map(({ marker }) => marker)).toEqual([true, ...Array(packets.length - 1).fill(false)])
      expect(new Set(frames.map(frame => frame.pcm.length))).toEqual(new Set([sampleRate / 50]))
      expect(frames).toHaveLength(Math.floor((packets.length * ptimeMs) / 20))
      const heard = joined(frames.slice(10))
      expect(shareOf(440, heard, sampleRate)).toBeGreaterThan(0.97)
      expect(Math.abs(rms(heard) / 5657 - 1)).toBeLessThan(0.15)
      expect(receiver.stats.lost).toBe(0)
    },
  )

  it("plays at the leg's rate", async () => {
    for (const rate of [8000, 16_000]) {
      const wire = new Wire(codec, {}, rate)
      const receiver = new AudioReceiver(params(codec), rate)
      await made()
      const frames: AudioFrame[] = []
      for (let n = 0; n < 40; n++) for (const packet of wire.tick(700)) frames.push(...receiver.receive(packet, n * 20))
      expect(frames).toHaveLength(40)
      expect(shareOf(700, joined(frames.slice(10)), rate)).toBeGreaterThan(0.97)
    }
  })

  it('with a lost packet reports concealed audio', async () => {
    const wire = new Wire(codec)
    const receiver = new AudioReceiver(params(codec), sampleRate)
    await made()
    const frames: AudioFrame[] = []
    for (let n = 0; n < 30; n++) {
      const [packet] = wire.tick(300)
      if (n !== 20) frames.push(...receiver.receive(packet!, n * 20))
      frames.push(...receiver.tick(n * 20 + 10))
    }
    frames.push(...receiver.tick(620))
    expect(frames.map(({ concealed }) => concealed)).toEqual(Array.from({ length: 30 }, (_, n) => n === 20))
    expect(rms(frames[20]!.pcm)).toBeGreaterThan(2500)
    expect(receiver.stats.lost).toBe(1)
  })
})

describe('a far end that changes the codec', () => {
  it('in mid-stream continues at the same rate', async () => {
    const receiver = new AudioReceiver(params('PCMU'), 8000)
    const frames: AudioFrame[] = []
    let sequence = 1
    let atMs = 0
    for (const codec of ['PCMU', 'G722', 'opus', 'PCMA'] as const) {
      const wire = new Wire(codec, {}, 8000)
      receiver.configure(params(codec))
      await made()
      wire.sequence = sequence
      for (let n = 0; n < 25; n++, atMs += 20)
        for (const packet of wire.tick(500)) frames.push(...receiver.receive(packet, atMs))
      sequence = wire.sequence
      expect(shareOf(500, joined(frames.slice(-15)), 8000)).toBeGreaterThan(0.97)
    }
    expect(Math.abs(frames.length - 100)).toBeLessThanOrEqual(1)
    expect(receiver.stats).toMatchObject({ lost: 0, late: 0 })
    // Another clock is not jitter (RFC 7160).
    expect(receiver.stats.jitterMs).toBeLessThan(1)
  })

  it('after a re-INVITE continues sequence numbers and timestamps', async () => {
    const sender = new AudioSender(params('PCMU'), 8000, 0xffff_ff00)
    const say = () => sender.tick(() => ({ pcm: tone(500, 8000, 160), ulaw: null }))
    const before = [say(), say()].flat()
    sender.configure(params('opus', { payloadType: 96, ptimeMs: 20 }))
    await made()
    const after = [say(), say()].flat()
    const times = [...before, ...after].map(({ timestamp }) => timestamp)
    expect(times).toEqual([0xffff_ff00, 0xffff_ffa0, 0x40, 0x40 + 960])
    expect(after.map(({ payloadType }) => payloadType)).toEqual([96, 96])
  })
})

describe('intended silence', () => {
  const voice = (n: number): RtpPacket => {
    const payload = new Uint8Array(160)
    encodeG711('PCMU', tone(440, 8000, 160, 8000, n * 160), payload)
    return { payloadType: 0, marker: false, sequence: n, timestamp: n * 160, ssrc: 7, payload }
  }
  const noise = (n: number, level: number): RtpPacket => ({
    ...voice(n),
    payloadType: 13,
    payload: Uint8Array.of(level),
  })

  it('signalled by comfort noise is filled at its level', () => {
    const receiver = new AudioReceiver(params('PCMU'), 8000, seeded(3))
    const frames: AudioFrame[] = []
    for (let n = 0; n < 5; n++) frames.push(...receiver.receive(voice(n), n * 20))
    frames.push(...receiver.receive(noise(5, 50), 100))
    for (let atMs = 105; atMs < 1100; atMs += 20) frames.push(...receiver.tick(atMs))
    // The next sound has the next number, and a time a second later.
    frames.push(...receiver.receive({ ...voice(6), timestamp: 55 * 160, marker: true }, 1100))
    expect(frames).toHaveLength(56)
    const filled = joined(frames.slice(5, 55))
    expect(20 * Math.log10(rms(filled) / 32_768)).toBeCloseTo(-50, 0)
    expect(frames.slice(5, 55).every(frame => frame.concealed)).toBe(true)
    expect(receiver.stats).toMatchObject({ lost: 0, late: 0, jitterMs: 0 })
  })

  it('of loud comfort noise is attenuated', () => {
    const receiver = new AudioReceiver(params('PCMU'), 8000, seeded(3))
    receiver.receive(voice(0), 0)
    receiver.receive(noise(1, 0), 20)
    expect(rms(joined(receiver.tick(40)))).toBeLessThan(40)
  })

  it('without a signal becomes silence and counts no loss', () => {
    const receiver = new AudioReceiver(params('PCMU'), 8000)
    const frames: AudioFrame[] = []
    for (let n = 0; n < 5; n++) frames.push(...receiver.receive(voice(n), n * 20))
    for (let atMs = 90; atMs < 1000; atMs += 20) frames.push(...receiver.tick(atMs))
    const silent = frames.slice(5)
    expect(silent.length).toBeGreaterThan(25)
    expect(silent.every(frame => frame.concealed && rms(frame.pcm) === 0)).toBe(true)
    frames.push(...receiver.receive({ ...voice(5), timestamp: 50 * 160, marker: true }, 1000))
    expect(frames.at(-1)!.concealed).toBe(false)
    expect(receiver.stats).toMatchObject({ lost: 0, late: 0 })
  })

  it('is discarded before reception starts, or while sending is disallowed', () => {
    const receiver = new AudioReceiver(params('PCMU'), 8000)
    expect(receiver.tick(5000)).toEqual([])
    receiver.receive(voice(0), 5000)
    receiver.configure(params('PCMU', { direction: 'sendonly' }))
    expect(receiver.tick(9000)).toEqual([])
  })

  it('of Opus DTX continues with comfort noise', async () => {
    const receiver = new AudioReceiver(params('opus'), 16_000)
    const wire = new Wire('opus')
    await made()
    const frames: AudioFrame[] = []
    for (let n = 0; n < 25; n++) for (const packet of wire.tick(300)) frames.push(...receiver.receive(packet, n * 20))
    const toc = wire.tick(null)[0]!
    frames.push(...receiver.receive({ ...toc, payload: toc.payload.slice(0, 1) }, 500))
    for (let atMs = 510; atMs < 900; atMs += 20) frames.push(...receiver.tick(atMs))
    expect(Math.abs(frames.length - 45)).toBeLessThanOrEqual(1)
    expect(receiver.stats.lost).toBe(0)
  })
})

describe('Opus', () => {
  /** Loses every tenth packet. Returns the distance of the received audio from that of a lossless line. */
  async function errorWith(fec: boolean): Promise<number> {
    const [encoder, whole, holed] = [
      createEncoder('opus', { fec, maxBitrate: null }),
      createDecoder('opus'),
      createDecoder('opus'),
    ]
    await made()
    encoder.expectLoss(0.1)
    const pcm = speech(16_000)
    const packets = Array.from(
      { length: Math.floor(pcm.length / 320) },
      (_, n) => encoder.encode(pcm.subarray(n * 320, n * 320 + 320))!,
    )
    let [error, signal] = [0, 0]
    for (const [n, packet] of packets.entries()) {
      const said = whole.decode(packet)
      const heard = n % 10 === 9 ? holed.conceal(320, packets[n + 1] ?? null) : holed.decode(packet)
      for (let i = 0; i < 320; i++) {
        error += (said[i]! - heard[i]!) ** 2
        signal += said[i]! ** 2
      }
    }
    for (const thing of [encoder, whole, holed]) thing.close()
    return error / signal
  }

  it('recovers lost packets by in-band FEC', async () => {
    const [without, with_] = [await errorWith(false), await errorWith(true)]
    expect(with_).toBeLessThan(without * 0.6)
  })

  it('tolerates invalid and empty packets', async () => {
    const decoder = createDecoder('opus')
    await made()
    const random = seeded(9)
    for (let n = 0; n < 2000; n++) {
      const bytes = Uint8Array.from({ length: Math.floor(random() * 60) }, () => random() * 256)
      expect(decoder.decode(bytes).length).toBeLessThanOrEqual(1920)
      decoder.conceal(Math.floor(random() * 4000), n % 2 ? bytes : null)
    }
    decoder.close()
    expect(decoder.decode(Uint8Array.of(1, 2, 3))).toHaveLength(0)
  })

  it('respects maxaveragebitrate', async () => {
    const size = async (maxBitrate: number | null) => {
      const encoder: Encoder = createEncoder('opus', { fec: false, maxBitrate })
      await made()
      const pcm = speech(16_000, 1)
      let bytes = 0
      for (let at = 0; at + 320 <= pcm.length; at += 320) bytes += encoder.encode(pcm.subarray(at, at + 320))!.length
      encoder.close()
      return (bytes * 8) / (pcm.length / 16_000)
    }
    expect(await size(8000)).toBeLessThan(11_000)
    expect(await size(null)).toBeGreaterThan(14_000)
  })
})

describe('keys', () => {
  it('between 60 ms packets keep timestamps in the codec clock', async () => {
    const sender = new AudioSender(
      params('opus', { ptimeMs: 60, dtmfPayloadType: 96, dtmfClockRate: 48_000 }),
      16_000,
      0,
    )
    await made()
    const say = () => sender.tick(() => ({ pcm: new Int16Array(320), ulaw: null }))
    const packets = [say(), say()].flat()
    void sender.press('5')
    for (let n = 0; n < 30; n++) packets.push(...say())
    const events = packets.filter(({ payloadType }) => payloadType === 96)
    expect(new Set(events.map(({ timestamp }) => timestamp))).toEqual(new Set([2 * 960]))
    expect(events.map(({ payload }) => Buffer.from(payload).readUInt16BE(2)).slice(0, 3)).toEqual([960, 1920, 2880])
    const sound = packets.filter(({ payloadType }) => payloadType === 111)
    for (const [i, packet] of sound.entries())
      if (i > 0) expect(packet.timestamp - sound[i - 1]!.timestamp).toBeGreaterThanOrEqual(2880)
    expect(sound[0]!.timestamp).toBeGreaterThan(2 * 960)
  })
})

describe.each([200, -200])('an hour with a clock that is off by %i ppm', ppm => {
  it('plays without clicks, gaps or growing delay', () => {
    const receiver = new AudioReceiver(params('PCMA'), 8000)
    const packets = 180_000
    const intervalMs = 20 * (1 + ppm / 1e6)
    const period = 160 // samples of one frame are one period, so that every joint can be looked at
    const payload = new Uint8Array(period)
    encodeG711('PCMA', tone(50, 8000, period), payload)
    const expected = decodeG711('PCMA', payload)
    let [frames, late, wrong, tickAt] = [0, 0, 0, 0]
    const random = seeded(1)
    for (let n = 0; n < packets; n++) {
      // A network of some milliseconds, without reordering.
      const atMs = n * intervalMs + random() * 8
      for (; tickAt <= atMs; tickAt += 20) frames += receiver.tick(tickAt).length
      const packet = {
        payloadType: 8,
        marker: n === 0,
        sequence: n & 0xffff,
        timestamp: (n * period) >>> 0,
        ssrc: 7,
        payload,
      }
      for (const frame of receiver.receive(packet, atMs)) {
        frames++
        if (frame.concealed || frame.pcm.some((sample, i) => sample !== expected[i])) wrong++
        if (atMs - frame.atMs > 0) late++
      }
    }
    expect({ frames, late, wrong }).toEqual({ frames: packets, late: 0, wrong: 0 })
    expect(receiver.stats).toMatchObject({ received: packets, lost: 0, late: 0 })
    expect(receiver.stats.jitterMs).toBeLessThan(8)
  })
})
