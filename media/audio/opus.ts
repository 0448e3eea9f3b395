/**
 * Opus (RFC 6716, RFC 7587), one voice. The only file that knows the package: libopus as WebAssembly, which is loaded
 * with the first call that speaks Opus.
 */
import type { OpusDecoderHandle, OpusEncoderHandle } from 'libopus-wasm'
import type { Decoder, Encoder, OpusSending } from './coder.ts'

/**
 * Opus takes any rate. At 16 kHz it is what speech-to-text use, one rate with G.722, and its own redundancy (FEC) works there: above
 * wideband it codes by transform, which has none.
 */
export const OPUS_SAMPLE_RATE = 16_000
/** RFC 7587 §3.1.1 has 16–20 kbit/s for wideband speech; redundancy takes some of ours. */
const BITRATE = 28_000
const LEAST_BITRATE = 6000
/** Of 10. With redundancy, 20 ms take 0.2 ms of a core at 1 and 0.5 ms at 5 (measured): one thread codes for all calls. */
const COMPLEXITY = 1
/** Without any expectation of loss libopus sends no redundancy; reports of the far end raise it. */
const LEAST_LOSS_PERCENT = 5
const MOST_LOSS_PERCENT = 30
/** RFC 6716 §3.2.1: 120 ms. */
const MOST_MS = 120
/** A packet without a frame's content, from a sender that pauses (RFC 7587 §3.1.3). */
const PAUSE_BYTES = 2

let loading: Promise<typeof import('libopus-wasm')> | null = null

/** May be called early, so that the first call that speaks Opus loses nothing; rejects when the package is not there. */
export function loadOpus(): Promise<typeof import('libopus-wasm')> {
  loading ??= import('libopus-wasm').then(async libopus => {
    await libopus.loadLibopus()
    return libopus
  })
  return loading
}

export function createOpusEncoder({ fec, maxBitrate }: OpusSending): Encoder {
  const slot = createSlot<OpusEncoderHandle>(async () => {
    const { createEncoder, Application, Signal } = await loadOpus()
    return createEncoder({
      channels: 1,
      sampleRate: OPUS_SAMPLE_RATE,
      application: Application.Voip,
      signal: Signal.Voice,
      bitrate: Math.max(LEAST_BITRATE, Math.min(BITRATE, maxBitrate ?? BITRATE)),
      complexity: COMPLEXITY,
      fec,
      packetLossPercent: fec ? LEAST_LOSS_PERCENT : 0,
    })
  })
  return {
    encode: pcm => slot.handle?.encode(pcm, { frameSize: pcm.length }).slice() ?? null,
    expectLoss(fraction) {
      if (!fec) return
      const percent = Math.max(LEAST_LOSS_PERCENT, Math.min(MOST_LOSS_PERCENT, Math.round(fraction * 100)))
      slot.handle?.setPacketLossPercent(percent)
    },
    close: slot.close,
  }
}

export function createOpusDecoder(): Decoder {
  const maxFrameSize = (OPUS_SAMPLE_RATE * MOST_MS) / 1000
  const slot = createSlot<OpusDecoderHandle>(async () =>
    (await loadOpus()).createDecoder({ channels: 1, sampleRate: OPUS_SAMPLE_RATE, maxFrameSize }),
  )
  const run = (decode: (handle: OpusDecoderHandle) => Int16Array): Int16Array => {
    try {
      return slot.handle ? decode(slot.handle).slice() : new Int16Array(0)
    } catch {
      return new Int16Array(0) // no Opus packet; what a peer sends is not ours to vouch for
    }
  }
  const step = OPUS_SAMPLE_RATE / 400
  return {
    decode: payload => (payload.length === 0 ? new Int16Array(0) : run(handle => handle.decode(payload))),
    conceal(samples, next) {
      // Whole steps of 2.5 ms, no more than a packet can hold.
      const frameSize = Math.min(maxFrameSize, Math.max(step, samples - (samples % step)))
      // A packet without redundancy is concealed as if there were none (RFC 6716 §2.1.7).
      return run(handle =>
        next ? handle.decode(next, { decodeFec: true, frameSize }) : handle.decodePacketLoss(frameSize),
      )
    },
    pauses: payload => payload.length <= PAUSE_BYTES,
    close: slot.close,
  }
}

/** Made in the background, as WebAssembly wants it; freed also when it is closed before it was made. */
function createSlot<T extends { free(): void }>(make: () => Promise<T>): { readonly handle: T | null; close(): void } {
  let handle: T | null = null
  let closed = false
  make().then(
    made => {
      if (closed) made.free()
      else handle = made
    },
    () => {}, // the call goes on in silence; `loadOpus` at the start tells why
  )
  return {
    get handle() {
      return handle
    },
    close() {
      closed = true
      handle?.free()
      handle = null
    },
  }
}
