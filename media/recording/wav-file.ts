/**
 * A WAVE file that grows during its call. It contains 16-bit PCM instead of µ-law. That is twice the size (115 MB an
 * hour in stereo), but every player, browser, STT and script reads it, and decoded and concealed audio is kept as it
 * was heard. Until the file is finished, its header states an unknown length: players accept that, and `repairWav`
 * corrects it.
 */
import { type FileHandle, open } from 'node:fs/promises'

export interface WavFormat {
  sampleRate: number
  channels: number
}

export interface WavSize {
  duration_ms: number
  /** Size of the whole file. */
  bytes: number
}

const HEADER_BYTES = 44
const SAMPLE_BYTES = 2
const UNKNOWN = 0xffff_ffff
/** A RIFF length has 32 bits; many readers treat it as signed. */
export const MAX_BYTES = 2 ** 31 - 1
/** Limit of unwritten data: half a minute of a telephone call. */
const MAX_WAITING_BYTES = 1_048_576

export class WavError extends Error {
  readonly code: 'too_slow' | 'not_wav' | 'empty'
  constructor(code: WavError['code'], message: string) {
    super(message)
    this.name = 'WavError'
    this.code = code
  }
}

function header({ sampleRate, channels }: WavFormat, dataBytes: number | null): Buffer {
  const buffer = Buffer.alloc(HEADER_BYTES)
  buffer.write('RIFF', 0, 'latin1')
  buffer.writeUInt32LE(dataBytes === null ? UNKNOWN : HEADER_BYTES - 8 + dataBytes, 4)
  buffer.write('WAVEfmt ', 8, 'latin1')
  buffer.writeUInt32LE(16, 16)
  buffer.writeUInt16LE(1, 20)
  buffer.writeUInt16LE(channels, 22)
  buffer.writeUInt32LE(sampleRate, 24)
  buffer.writeUInt32LE(sampleRate * channels * SAMPLE_BYTES, 28)
  buffer.writeUInt16LE(channels * SAMPLE_BYTES, 32)
  buffer.writeUInt16LE(8 * SAMPLE_BYTES, 34)
  buffer.write('data', 36, 'latin1')
  buffer.writeUInt32LE(dataBytes ?? UNKNOWN, 40)
  return buffer
}

function sizeOf({ sampleRate, channels }: WavFormat, dataBytes: number): WavSize {
  const duration_ms = Math.round((dataBytes / (sampleRate * channels * SAMPLE_BYTES)) * 1000)
  return { duration_ms, bytes: HEADER_BYTES + dataBytes }
}

export class WavFile {
  readonly #format: WavFormat
  readonly #maxBytes: number
  readonly #opened: Promise<FileHandle>
  /** Settles when everything is written; rejects with the first error. */
  #written: Promise<unknown>
  #waitingBytes = 0
  #dataBytes = 0
  #failure: Error | null = null

  /** Opens a new file; errors appear in `failure` and reject `finish`. */
  constructor(file: string, format: WavFormat, maxBytes = MAX_BYTES) {
    this.#format = format
    this.#maxBytes = maxBytes
    this.#opened = open(file, 'wx', 0o600)
    this.#written = this.#opened.then(handle => handle.write(header(format, null)))
    this.#written.catch(error => this.#fail(error))
  }

  get failure(): Error | null {
    return this.#failure
  }

  /** Never waits. Beyond the maximum size, audio is dropped, and the file stays valid. */
  write(pcm: Int16Array): void {
    if (this.#failure) return
    const room = this.#maxBytes - HEADER_BYTES - this.#dataBytes
    const frameBytes = this.#format.channels * SAMPLE_BYTES
    const bytes = Buffer.from(pcm.buffer, pcm.byteOffset, Math.min(pcm.byteLength, room - (room % frameBytes)))
    if (bytes.length === 0) return
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#fail(new WavError('too_slow', 'The disk is too slow for the recording'))
      return
    }
    this.#waitingBytes += bytes.length
    this.#dataBytes += bytes.length
    this.#written = this.#written.then(() => this.#append(bytes))
    this.#written.catch(error => this.#fail(error))
  }

  async #append(bytes: Buffer): Promise<void> {
    const handle = await this.#opened
    for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten
    this.#waitingBytes -= bytes.length
  }

  /** Completes and closes the file. Rejects with the first error; the file is closed nevertheless. */
  async finish(): Promise<WavSize> {
    const handle = await this.#opened
    try {
      await this.#written
      if (this.#failure) throw this.#failure
      await handle.write(header(this.#format, this.#dataBytes), 0, HEADER_BYTES, 0)
      await handle.sync()
    } finally {
      await handle.close()
    }
    return sizeOf(this.#format, this.#dataBytes)
  }

  #fail(error: Error): void {
    this.#failure ??= error
  }
}

/** Completes the header of an unfinished file. Throws a `WavError` when it is not a recording or contains no audio. */
export async function repairWav(file: string): Promise<WavSize> {
  const handle = await open(file, 'r+')
  try {
    const { size } = await handle.stat()
    const start = Buffer.alloc(HEADER_BYTES)
    await handle.read(start, 0, HEADER_BYTES, 0)
    const format = { channels: start.readUInt16LE(22), sampleRate: start.readUInt32LE(24) }
    if (start.toString('latin1', 0, 4) !== 'RIFF' || format.channels === 0 || format.sampleRate === 0) {
      throw new WavError(size < HEADER_BYTES ? 'empty' : 'not_wav', 'The file is not a recording')
    }
    const frameBytes = format.channels * SAMPLE_BYTES
    const frames = Math.floor((size - HEADER_BYTES) / frameBytes)
    if (frames <= 0) throw new WavError('empty', 'The file contains no audio')
    await handle.truncate(HEADER_BYTES + frames * frameBytes)
    await handle.write(header(format, frames * frameBytes), 0, HEADER_BYTES, 0)
    await handle.sync()
    return sizeOf(format, frames * frameBytes)
  } finally {
    await handle.close()
  }
}
