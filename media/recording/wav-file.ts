/**
 * A WAVE file that grows while its call goes on. 16-bit PCM, not µ-law: twice the size (115 MB an hour in stereo), but
 * every player, browser, recogniser and script reads it, and what was decoded, concealed or fitted in is kept as it was
 * heard. Until it is finished its header says "as long as there is": players take that, and `repairWav` puts it right.
 */
import { type FileHandle, open } from 'node:fs/promises'

export interface WavFormat {
  sampleRate: number
  channels: number
}

export interface WavSize {
  duration_ms: number
  /** Of the whole file. */
  bytes: number
}

const HEADER_BYTES = 44
const SAMPLE_BYTES = 2
const UNKNOWN = 0xffff_ffff
/** A RIFF length has 32 bits; many readers take it as signed. */
export const MAX_BYTES = 2 ** 31 - 1
/** The disk is that far behind: half a minute of a telephone call. */
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
  /** Settles when all that was given is written; rejects with what went wrong first. */
  #written: Promise<unknown>
  #waitingBytes = 0
  #dataBytes = 0
  #failure: Error | null = null

  /** Opens a new file; what goes wrong is told by `failure` and by `finish`. */
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

  /** Never waits. Beyond the largest size there is no more sound, and the file is whole. */
  write(pcm: Int16Array): void {
    if (this.#failure) return
    const room = this.#maxBytes - HEADER_BYTES - this.#dataBytes
    const frameBytes = this.#format.channels * SAMPLE_BYTES
    const bytes = Buffer.from(pcm.buffer, pcm.byteOffset, Math.min(pcm.byteLength, room - (room % frameBytes)))
    if (bytes.length === 0) return
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#fail(new WavError('too_slow', 'the disk is too slow for the sound'))
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

  /** Rejects with what went wrong, now or before. The file is closed in any case. */
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

/** Of a file that was never finished: its header gets the length that there is. */
export async function repairWav(file: string): Promise<WavSize> {
  const handle = await open(file, 'r+')
  try {
    const { size } = await handle.stat()
    const start = Buffer.alloc(HEADER_BYTES)
    await handle.read(start, 0, HEADER_BYTES, 0)
    const format = { channels: start.readUInt16LE(22), sampleRate: start.readUInt32LE(24) }
    if (start.toString('latin1', 0, 4) !== 'RIFF' || format.channels === 0 || format.sampleRate === 0) {
      throw new WavError(size < HEADER_BYTES ? 'empty' : 'not_wav', 'not a WAVE file of ours')
    }
    const frameBytes = format.channels * SAMPLE_BYTES
    const frames = Math.floor((size - HEADER_BYTES) / frameBytes)
    if (frames <= 0) throw new WavError('empty', 'the file holds no sound')
    await handle.truncate(HEADER_BYTES + frames * frameBytes)
    await handle.write(header(format, frames * frameBytes), 0, HEADER_BYTES, 0)
    await handle.sync()
    return sizeOf(format, frames * frameBytes)
  } finally {
    await handle.close()
  }
}
