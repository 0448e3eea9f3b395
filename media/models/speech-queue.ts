/** Queue between a vendor's callbacks and an async iterator of audio: ordered, with deadlines, ended by abort. */

import type { SpeechChunk } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import { VendorError } from './vendor-error.ts'

/**
 * Milliseconds to the first audio, including the connection: the caller hears silence, and another vendor may take
 * over.
 */
const FIRST_SOUND_MS = 4000
/** Milliseconds between two chunks. A sentence that never ends would keep the agent from hanging up. */
const NEXT_SOUND_MS = 5000

export interface SpeechDeadlines {
  firstSoundMs?: number | undefined
  nextSoundMs?: number | undefined
}

export interface SpeechQueue {
  push(chunk: SpeechChunk): void
  /** Ends the utterance. Without any audio the reader gets a `bad_answer`. */
  end(): void
  /** Chunks pushed before are still returned. */
  fail(error: VendorError): void
  /** Throws the failure or a `timeout`; ends without error on abort. Call it once. */
  read(): AsyncIterable<SpeechChunk>
}

export function createSpeechQueue(
  vendor: string,
  clock: Clock,
  signal: AbortSignal,
  deadlines: SpeechDeadlines = {},
): SpeechQueue {
  const chunks: SpeechChunk[] = []
  let end: { error: VendorError | null } | null = null
  let given = 0
  let sounded = false
  let wake = () => {}
  const finish = (error: VendorError | null) => {
    end ??= { error }
    wake()
  }
  const change = async (): Promise<void> => {
    const waitMs = given === 0 ? (deadlines.firstSoundMs ?? FIRST_SOUND_MS) : (deadlines.nextSoundMs ?? NEXT_SOUND_MS)
    const cancel = clock.after(waitMs, () => finish(new VendorError(vendor, 'timeout', 'sent no audio in time')))
    await new Promise<void>(resolve => (wake = resolve))
    cancel()
  }
  return {
    push(chunk) {
      if (end || (chunk.pcm.length === 0 && !chunk.words)) return
      if (chunk.pcm.length > 0) sounded = true
      chunks.push(chunk)
      wake()
    },
    end: () => finish(null),
    fail: finish,
    async *read() {
      const onAbort = () => wake()
      signal.addEventListener('abort', onAbort)
      try {
        while (!signal.aborted) {
          const chunk = chunks.shift()
          if (chunk) {
            given++
            yield chunk
          } else if (end?.error) throw end.error
          else if (!end) await change()
          else if (sounded) return
          else throw new VendorError(vendor, 'bad_answer', 'ended without audio', { retryable: true })
        }
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
  }
}

/** Reads little-endian 16-bit samples from chunks that may be split anywhere. */
export function createPcmReader(): (bytes: Uint8Array) => Int16Array {
  let odd: number | null = null
  return bytes => {
    const all = odd === null ? bytes : Uint8Array.from([odd, ...bytes])
    odd = all.length % 2 === 1 ? all[all.length - 1]! : null
    const view = new DataView(all.buffer, all.byteOffset, all.length - (all.length % 2))
    return Int16Array.from({ length: view.byteLength / 2 }, (_, i) => view.getInt16(i * 2, true))
  }
}

/** True for a file (WAV, Ogg, MP3 with ID3) instead of raw samples; played as samples it would be noise. */
export function isContainer(bytes: Uint8Array): boolean {
  const magic = Buffer.from(bytes.subarray(0, 4)).toString('latin1')
  return magic === 'RIFF' || magic === 'OggS' || magic.startsWith('ID3')
}
