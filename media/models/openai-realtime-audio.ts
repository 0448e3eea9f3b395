/** Converts between a leg's frames and the audio formats of OpenAI's Realtime API: µ-law, or PCM at 24 kHz. */
import { decodeG711 } from '../audio/g711.ts'
import { createResampler } from '../audio/resample.ts'
import type { AudioFrame } from '../ports/leg.ts'

const API_RATE = 24_000

/** Returns the resampled frame in base64; empty while the resampler fills. */
export function toPcm24(sampleRate: number): (frame: AudioFrame) => string {
  const resampler = createResampler(sampleRate, API_RATE)
  return ({ pcm }) => {
    const out = resampler.push(pcm)
    const bytes = Buffer.alloc(out.length * 2)
    for (const [i, sample] of out.entries()) bytes.writeInt16LE(sample, i * 2)
    return bytes.toString('base64')
  }
}

export interface Sound {
  pcm: Int16Array
  ulaw: Uint8Array | null
}
export interface SpeechDecoder {
  push(bytes: Buffer): Sound
  flush(): Sound
}

/** Creates a decoder for one spoken item. */
export function createSpeechDecoder(to: 'ulaw' | { sampleRate: number }): SpeechDecoder {
  if (to === 'ulaw') {
    return {
      push: bytes => ({ pcm: decodeG711('PCMU', bytes), ulaw: bytes }),
      flush: () => ({ pcm: new Int16Array(0), ulaw: null }),
    }
  }
  const resampler = createResampler(API_RATE, to.sampleRate)
  let odd: Buffer = Buffer.alloc(0)
  return {
    push(bytes) {
      const all = Buffer.concat([odd, bytes])
      const pcm = new Int16Array(all.length >> 1)
      for (let i = 0; i < pcm.length; i++) pcm[i] = all.readInt16LE(i * 2)
      odd = all.subarray(pcm.length * 2)
      return { pcm: resampler.push(pcm), ulaw: null }
    },
    flush: () => ({ pcm: resampler.flush(), ulaw: null }),
  }
}
