/**
 * Opus (RFC 6716, RFC 7587), mono. The only file that knows the package: libopus as WebAssembly, loaded with the first
 * call that uses Opus.
 */
import type { OpusDecoderHandle, OpusEncoderHandle } from 'libopus-wasm'
import type { Decoder, Encoder, OpusSending } from './coder.ts'

/**
 * Opus supports any rate. STT uses 16 kHz, G.722 has the same rate, and Opus' in-band FEC works there: above wideband
 * it switches to a transform codec without FEC.
 */
export const OPUS_SAMPLE_RATE = 16_000
/** Bit/s. RFC 7587 §3.1.1 recommends 16–20 kbit/s for wideband speech; FEC takes a part of ours. */
const BITRATE = 28_000
const LEAST_BITRATE = 6000
/**
 * From 0 to 10. With FEC, 20 ms take 0.2 ms of a core at 1 and 0.5 ms at 5 (measured); one thread encodes for all
 * calls.
 */
const COMPLEXITY = 1
/** libopus sends no FEC unless it expects loss; reports of the far end raise this percentage. */
const LEAST_LOSS_PERCENT = 5
const MOST_LOSS_PERCENT = 30
/** Longest packet: 120 ms (RFC 6716 §3.2.1). */
const MOST_MS = 120
/** Maximum size of a packet without audio data, which starts DTX (RFC 7587 §3.1.3). */
const PAUSE_BYTES = 2

let loading: Promise<typeof import('libopus-wasm')> | null = null

/** Call it early, so that the first Opus call loses no audio; rejects when the package is missing. */
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
      return new Int16Array(0) // invalid packets of a peer decode to nothing
    }
  }
  const step = OPUS_SAMPLE_RATE / 400
  return {
    decode: payload => (payload.length === 0 ? new Int16Array(0) : run(handle => handle.decode(payload))),
    conceal(samples, next) {
      // Whole steps of 2.5 ms, not more than a packet can contain.
      const frameSize = Math.min(maxFrameSize, Math.max(step, samples - (samples % step)))
      // A packet without FEC data is concealed like a missing one (RFC 6716 §2.1.7).
      return run(handle =>
        next ? handle.decode(next, { decodeFec: true, frameSize }) : handle.decodePacketLoss(frameSize),
      )
    },
    pauses: payload => payload.length <= PAUSE_BYTES,
    close: slot.close,
  }
}

/** Creates the codec asynchronously, as WebAssembly requires; frees it also when `close` comes first. */
function createSlot<T extends { free(): void }>(make: () => Promise<T>): { handle: T | null; close(): void } {
  let handle: T | null = null
  let closed = false
  make().then(
    made => {
      if (closed) made.free()
      else handle = made
    },
    () => {}, // the call continues without audio; `loadOpus` at startup reports the reason
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
