/**
 * Converts the far end's packets to 20 ms frames at the leg's rate: order, decoding, concealment of losses, and comfort
 * noise while the far end suppresses silence. No socket; time is an argument.
 */

import { AudioQueue } from '../audio/audio-queue.ts'
import { CODECS, type CodecFacts, createDecoder } from '../audio/codec.ts'
import type { Decoder } from '../audio/coder.ts'
import { COMFORT_NOISE, makeNoise, noiseLevel } from '../audio/comfort-noise.ts'
import { createSteadyResampler } from '../audio/frame-resampler.ts'
import { FRAME_MS, frameSamples } from '../audio/frames.ts'
import type { CodecName } from '../contract/plan.ts'
import type { AudioFrame } from '../ports/leg.ts'
import { JitterBuffer, type JitterOutput, type JitterStats } from './jitter.ts'
import type { RtpPacket } from './packet.ts'
import { kindOf, mayReceive, type RtpParams } from './params.ts'

/** Milliseconds without packets after which silence is emitted; longer than the jitter buffer waits. */
const SILENT_AFTER_MS = 300
/** Longest own stall in ms for which frames are caught up. */
const MAX_BEHIND_MS = 200
/** Longest concealment of a gap in ms. */
const MAX_CONCEALED_MS = 500
/** Noise level in −dBov that means silence. */
const NO_NOISE = 127

/** Audio to emit while the far end sends nothing. */
interface Pause {
  /** Time at which its next frame is due. */
  dueMs: number
  make(): Int16Array
  rate: number
}

export class AudioReceiver {
  readonly #rate: number
  readonly #random: () => number
  readonly #jitter = new JitterBuffer<RtpPacket>(8000)
  readonly #queue: AudioQueue
  readonly #resamplers = new Map<number, (pcm: Int16Array) => Int16Array>()
  #params: RtpParams
  #decoder: { codec: CodecName; facts: CodecFacts; decoder: Decoder } | null = null
  #ssrc: number | null = null
  /** Samples of the last audio packet; a lost one is assumed to be as long. */
  #packetSamples = 0
  /** Milliseconds concealed since the last packet. */
  #concealedMs = 0
  #pause: Pause | null = null
  #lastArrivalMs: number | null = null

  /** `sampleRate`: Hz of the emitted frames. `random`: 0 to 1, for noise. */
  constructor(params: RtpParams, sampleRate: number, random: () => number = Math.random) {
    this.#params = params
    this.#rate = sampleRate
    this.#random = random
    this.#queue = new AudioQueue(sampleRate === CODECS.PCMU.sampleRate)
    this.#decoderFor(params.codec)
  }

  get stats(): JitterStats {
    return this.#jitter.stats
  }

  /** SSRC of the current stream; null before the first packet. */
  get ssrc(): number | null {
    return this.#ssrc
  }

  /** Clock rate of its timestamps in Hz. */
  get clockRate(): number {
    return (this.#decoder?.facts ?? CODECS[this.#params.codec]).clockRate
  }

  configure(params: RtpParams): void {
    if (params.codec !== this.#params.codec) this.#decoderFor(params.codec)
    this.#params = params
    if (!mayReceive(params)) this.#pause = null
  }

  /** Takes a packet of audio, comfort noise or telephone-events. */
  receive(packet: RtpPacket, nowMs: number): AudioFrame[] {
    const frames: AudioFrame[] = []
    const isKey = kindOf(this.#params, packet.payloadType) === 'dtmf'
    if (packet.ssrc !== this.#ssrc) {
      if (isKey) return frames // some gateways send events with another SSRC
      this.#ssrc = packet.ssrc
      this.#deliver(this.#jitter.startAnew(nowMs), frames)
    }
    if (!isKey) this.#lastArrivalMs = nowMs
    this.#deliver(this.#jitter.put(packet, nowMs), frames)
    return frames
  }

  /** Call it every 20 ms; returns frames that are due without a packet. */
  tick(nowMs: number): AudioFrame[] {
    const frames: AudioFrame[] = []
    this.#deliver(this.#jitter.poll(nowMs), frames)
    const since = this.#lastArrivalMs
    if (since === null || !mayReceive(this.#params)) return frames
    if (!this.#pause && nowMs - since > SILENT_AFTER_MS) this.#pause = this.#noise(NO_NOISE, nowMs)
    const pause = this.#pause
    if (!pause) return frames
    pause.dueMs = Math.max(pause.dueMs, nowMs - MAX_BEHIND_MS)
    for (; pause.dueMs <= nowMs; pause.dueMs += FRAME_MS) this.#emit(pause.make(), pause.rate, nowMs, true, frames)
    return frames
  }

  close(): void {
    this.#decoder?.decoder.close()
    this.#decoder = null
  }

  #deliver(outputs: JitterOutput<RtpPacket>[], frames: AudioFrame[]): void {
    for (const [index, output] of outputs.entries()) {
      if (output.kind === 'packet') {
        this.#take(output.packet, output.atMs, frames)
        continue
      }
      const behind = outputs[index + 1]
      const next = behind?.kind === 'packet' && this.#isOfDecoder(behind.packet) ? behind.packet.payload : null
      this.#conceal(next, output.atMs, frames)
    }
  }

  #take(packet: RtpPacket, atMs: number, frames: AudioFrame[]): void {
    const kind = kindOf(this.#params, packet.payloadType)
    this.#concealedMs = 0
    if (kind === null || kind === 'dtmf') {
      // An event replaces audio. A packet without a kind is comfort noise: all others were rejected before.
      this.#packetSamples = 0
      if (kind === null && packet.payloadType === COMFORT_NOISE)
        this.#pause = this.#noise(noiseLevel(packet.payload), atMs)
      return
    }
    const { decoder, facts } = this.#decoderFor(kind)
    const pcm = decoder.decode(packet.payload)
    if (pcm.length === 0) return
    this.#packetSamples = pcm.length
    this.#emit(pcm, facts.sampleRate, atMs, false, frames, kind === 'PCMU' ? packet.payload : null)
    this.#pause = decoder.pauses(packet.payload) ? this.#dtx(decoder, facts, pcm.length, atMs) : null
  }

  /** During DTX the decoder itself reproduces the background noise (RFC 7587 §3.1.3). */
  #dtx(decoder: Decoder, { sampleRate }: CodecFacts, samples: number, atMs: number): Pause {
    const make = () => decoder.conceal(frameSamples(sampleRate), null)
    return { dueMs: atMs + (samples * 1000) / sampleRate, make, rate: sampleRate }
  }

  #noise(level: number, dueMs: number): Pause {
    const make = () => makeNoise(frameSamples(this.#rate), level, this.#random)
    return { dueMs, make, rate: this.#rate }
  }

  #conceal(next: Uint8Array | null, atMs: number, frames: AudioFrame[]): void {
    if (!this.#decoder || this.#pause || this.#packetSamples === 0 || this.#concealedMs >= MAX_CONCEALED_MS) return
    const { decoder, facts } = this.#decoder
    const pcm = decoder.conceal(this.#packetSamples, next)
    this.#concealedMs += (pcm.length * 1000) / facts.sampleRate
    this.#emit(pcm, facts.sampleRate, atMs, true, frames)
  }

  #isOfDecoder(packet: RtpPacket): boolean {
    return this.#decoder !== null && kindOf(this.#params, packet.payloadType) === this.#decoder.codec
  }

  /** The far end may change between negotiated codecs with any packet (RFC 3264 §6.1). */
  #decoderFor(codec: CodecName): { facts: CodecFacts; decoder: Decoder } {
    if (this.#decoder?.codec === codec) return this.#decoder
    this.#decoder?.decoder.close()
    this.#decoder = { codec, facts: CODECS[codec], decoder: createDecoder(codec) }
    this.#jitter.setClockRate(CODECS[codec].clockRate)
    return this.#decoder
  }

  #emit(
    pcm: Int16Array,
    rate: number,
    atMs: number,
    concealed: boolean,
    frames: AudioFrame[],
    ulaw: Uint8Array | null = null,
  ): void {
    const resample = this.#resamplers.get(rate) ?? createSteadyResampler(rate, this.#rate)
    this.#resamplers.set(rate, resample)
    this.#queue.push(resample(pcm), ulaw)
    const samples = frameSamples(this.#rate)
    for (let sound = this.#queue.take(samples); sound; sound = this.#queue.take(samples)) {
      const bytes = sound.ulaw && this.#decoder?.codec === 'PCMU' ? { ulaw: sound.ulaw } : {}
      frames.push({ pcm: sound.pcm, atMs, concealed, ...bytes })
    }
  }
}
