/**
 * Converts 20 ms frames at the leg's rate to packets for the far end: encoding, the requested packet time, keys. No
 * socket, no clock; times are RTP timestamps.
 */

import { AudioQueue, type Sound } from '../audio/audio-queue.ts'
import { CODECS, createEncoder } from '../audio/codec.ts'
import type { Encoder } from '../audio/coder.ts'
import { createSteadyResampler } from '../audio/frame-resampler.ts'
import { FRAME_MS, frameSamples } from '../audio/frames.ts'
import type { CodecName } from '../contract/plan.ts'
import { DtmfSender } from './dtmf-sender.ts'
import type { RtpPacket } from './packet.ts'
import { maySend, type RtpParams } from './params.ts'

export type OutgoingPacket = Pick<RtpPacket, 'payloadType' | 'marker' | 'timestamp' | 'payload'>

/** Returns the next 20 ms to send; null is silence. */
export type Pull = () => { pcm: Int16Array; ulaw: Uint8Array | null } | null

interface Stream {
  codec: CodecName
  encoder: Encoder
  resample: (pcm: Int16Array) => Int16Array
  queue: AudioQueue
}

export class AudioSender {
  readonly #rate: number
  readonly #keys: DtmfSender
  #params: RtpParams
  #stream: Stream
  /** RTP timestamp of the sample that is pulled next. */
  #timestamp: number
  /** RTP timestamp of the first sample that waits to be sent. */
  #packetTimestamp: number
  #marker = true

  /** `sampleRate`: Hz of the pulled frames. `timestamp`: that of the first sample, random (RFC 3550 §5.1). */
  constructor(params: RtpParams, sampleRate: number, timestamp: number) {
    this.#params = params
    this.#rate = sampleRate
    this.#keys = new DtmfSender(sampleRate)
    this.#timestamp = timestamp
    this.#packetTimestamp = timestamp
    this.#stream = this.#open(params)
  }

  /** Current RTP timestamp. */
  get timestamp(): number {
    return this.#timestamp
  }

  configure(params: RtpParams): void {
    const changed =
      params.codec !== this.#params.codec ||
      params.ptimeMs !== this.#params.ptimeMs ||
      params.opus?.fec !== this.#params.opus?.fec ||
      params.opus?.maxBitrate !== this.#params.opus?.maxBitrate
    this.#params = params
    if (!changed) return
    this.#stream.encoder.close()
    this.#stream = this.#open(params)
    this.#drop()
  }

  press(keys: string): Promise<void> {
    return this.#keys.press(keys)
  }

  expectLoss(fraction: number): void {
    this.#stream.encoder.expectLoss(fraction)
  }

  /**
   * Returns the packets of the next 20 ms. Pulled audio counts as played: on hold nothing is sent, so nothing is
   * pulled.
   */
  tick(pull: Pull): OutgoingPacket[] {
    const params = this.#params
    const startsAt = this.#timestamp
    const clockRate = CODECS[params.codec].clockRate
    this.#timestamp = (startsAt + frameSamples(clockRate)) >>> 0
    if (!maySend(params)) {
      this.#drop()
      this.#marker = true
      return []
    }
    const key = this.#keys.next(startsAt, params.dtmfPayloadType !== null, params.dtmfClockRate ?? clockRate)
    if (key?.kind === 'event') {
      this.#drop()
      const { marker, timestamp, payload } = key
      return [{ payloadType: params.dtmfPayloadType!, marker, timestamp, payload }]
    }
    const sound = key ? { pcm: key.kind === 'tone' ? key.pcm : null, ulaw: null } : pull()
    // Silence is sent as well: it keeps NAT bindings open and shows the far end that the stream is alive.
    return this.#send(sound?.pcm ?? new Int16Array(frameSamples(this.#rate)), sound?.ulaw ?? null)
  }

  close(): void {
    this.#keys.close()
    this.#stream.encoder.close()
  }

  #send(pcm: Int16Array, ulaw: Uint8Array | null): OutgoingPacket[] {
    const { codec, encoder, resample, queue } = this.#stream
    const { clockRate, sampleRate } = CODECS[codec]
    const ptimeMs = this.#params.ptimeMs ?? FRAME_MS
    queue.push(resample(pcm), ulaw)
    const packets: OutgoingPacket[] = []
    const samples = (sampleRate * ptimeMs) / 1000
    for (let sound = queue.take(samples); sound; sound = queue.take(samples)) {
      const timestamp = this.#packetTimestamp
      this.#packetTimestamp = (timestamp + (clockRate * ptimeMs) / 1000) >>> 0
      const payload = encoded(sound, encoder)
      if (!payload) continue
      packets.push({ payloadType: this.#params.payloadType, marker: this.#marker, timestamp, payload })
      this.#marker = false
    }
    return packets
  }

  /** Drops buffered audio of less than one packet. */
  #drop(): void {
    this.#stream.queue.clear()
    this.#packetTimestamp = this.#timestamp
  }

  #open({ codec, opus }: RtpParams): Stream {
    return {
      codec,
      encoder: createEncoder(codec, opus ?? { fec: false, maxBitrate: null }),
      resample: createSteadyResampler(this.#rate, CODECS[codec].sampleRate),
      queue: new AudioQueue(codec === 'PCMU'),
    }
  }
}

/** Sends µ-law bytes unchanged. */
const encoded = ({ pcm, ulaw }: Sound, encoder: Encoder) => ulaw ?? encoder.encode(pcm)
