/** Sound on its way from a vendor's callbacks to the one who iterates: in order, with deadlines, ended by abort. */

import type { SpeechChunk } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import { VendorError } from './vendor-error.ts'

/** Until the first sound, connecting included: a caller listens to silence, and another vendor may be asked. */
const FIRST_SOUND_MS = 4000
/** Between two pieces. A sentence that is never finished would keep the agent from ever hanging up. */
const NEXT_SOUND_MS = 5000

export interface SpeechDeadlines {
  firstSoundMs?: number | undefined
  nextSoundMs?: number | undefined
}

export interface SpeechQueue {
  push(chunk: SpeechChunk): void
  /** The utterance is whole. Without any sound it is a `bad_answer`. */
  end(): void
  /** What was pushed before is still given out. */
  fail(error: VendorError): void
  /** Throws the failure, a `timeout`, or ends quietly when aborted. Once. */
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
    const cancel = clock.after(waitMs, () => finish(new VendorError(vendor, 'timeout', 'no sound in time')))
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
          else throw new VendorError(vendor, 'bad_answer', 'ended without sound', { retryable: true })
        }
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
  }
}

/** Little-endian 16-bit samples from pieces that may be cut anywhere. */
export function createPcmReader(): (bytes: Uint8Array) => Int16Array {
  let odd: number | null = null
  return bytes => {
    const all = odd === null ? bytes : Uint8Array.from([odd, ...bytes])
    odd = all.length % 2 === 1 ? all[all.length - 1]! : null
    const view = new DataView(all.buffer, all.byteOffset, all.length - (all.length % 2))
    return Int16Array.from({ length: view.byteLength / 2 }, (_, i) => view.getInt16(i * 2, true))
  }
}

/** True for a file (WAV, Ogg, MP3 with ID3) where bare samples were asked for: played, it would be noise. */
export function isContainer(bytes: Uint8Array): boolean {
  const magic = Buffer.from(bytes.subarray(0, 4)).toString('latin1')
  return magic === 'RIFF' || magic === 'OggS' || magic.startsWith('ID3')
}
