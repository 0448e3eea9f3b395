/** Computes the waveform of a recording while it downloads, because a long recording does not fit into memory. Pure. */

export interface Peaks {
  /** The peak sample of each of the equal-sized buckets, 0 to 1. */
  channels: Float32Array[]
  seconds: number
}

interface Format {
  channels: number
  frameBytes: number
  frames: number
  sampleRate: number
}

const HEADER_BYTES = 4096

/** Reads a WAV stream of 16-bit PCM. Rejects other formats. */
export async function readPeaks(stream: ReadableStream<Uint8Array>, parts: number): Promise<Peaks> {
  const reader = stream.getReader()
  let kept = new Uint8Array(0)
  let format: Format | null = null
  let channels: Float32Array[] = []
  let frame = 0
  for (;;) {
    const { value, done } = await reader.read()
    if (done) break
    kept = joined(kept, value)
    if (format === null) {
      const head = readHeader(kept)
      if (head === null) continue
      format = head.format
      channels = Array.from({ length: format.channels }, () => new Float32Array(Math.min(parts, format!.frames)))
      kept = kept.subarray(head.bytes)
    }
    const whole = Math.min(Math.floor(kept.length / format.frameBytes), format.frames - frame)
    take(kept, whole, frame, format, channels)
    frame += whole
    kept = kept.subarray(whole * format.frameBytes)
  }
  if (format === null || format.frames === 0) throw new Error('The recording contains no audio')
  return { channels, seconds: format.frames / format.sampleRate }
}

function take(bytes: Uint8Array, whole: number, first: number, format: Format, into: Float32Array[]): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let channel = 0; channel < format.channels; channel++) {
    const peaks = into[channel]!
    const scale = peaks.length / format.frames
    for (let i = 0; i < whole; i++) {
      const part = Math.floor((first + i) * scale)
      const level = Math.abs(view.getInt16(i * format.frameBytes + 2 * channel, true)) / 32768
      if (level > peaks[part]!) peaks[part] = level
    }
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}

/** Parses the header. Returns null if more bytes are needed. `bytes` is the offset of the audio data. */
function readHeader(file: Uint8Array): { format: Format; bytes: number } | null {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const word = (at: number) => String.fromCharCode(...file.subarray(at, at + 4))
  if (file.length < 12) return null
  if (word(0) !== 'RIFF' || word(8) !== 'WAVE') throw new Error('The recording is not a WAV file')
  let kind: { channels: number; sampleRate: number } | null = null
  for (let at = 12; at + 8 <= file.length; ) {
    const [id, size, body] = [word(at), view.getUint32(at + 4, true), at + 8]
    if (id === 'data' && kind !== null) {
      const frameBytes = kind.channels * 2
      return { format: { ...kind, frameBytes, frames: Math.floor(size / frameBytes) }, bytes: body }
    }
    if (id === 'fmt ' && body + 16 <= file.length) {
      if (view.getUint16(body, true) !== 1 || view.getUint16(body + 14, true) !== 16)
        throw new Error('The recording is not 16-bit PCM')
      kind = { channels: view.getUint16(body + 2, true), sampleRate: view.getUint32(body + 4, true) }
    }
    at = body + size + (size & 1)
  }
  if (file.length > HEADER_BYTES) throw new Error('The recording contains no audio')
  return null
}
