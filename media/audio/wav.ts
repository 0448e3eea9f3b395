/** RIFF WAVE files with 16-bit PCM, as recordings use them. */

export interface Wav {
  sampleRate: number
  channels: number
  pcm: Int16Array
}

export function encodeWav({ sampleRate, channels, pcm }: Wav): Buffer {
  const header = Buffer.alloc(44)
  const bytes = pcm.length * 2
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(36 + bytes, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(channels, 22)
  header.writeUInt32LE(sampleRate, 24)
  header.writeUInt32LE(sampleRate * channels * 2, 28)
  header.writeUInt16LE(channels * 2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(bytes, 40)
  return Buffer.concat([header, Buffer.from(pcm.buffer, pcm.byteOffset, bytes)])
}

/** Throws an Error when the file is not 16-bit PCM WAVE. */
export function decodeWav(file: Buffer): Wav {
  if (file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WAVE')
    throw new Error('The file is not a WAVE file')
  let format: { sampleRate: number; channels: number } | null = null
  for (let at = 12; at + 8 <= file.length; ) {
    const id = file.toString('latin1', at, at + 4)
    const size = file.readUInt32LE(at + 4)
    const body = at + 8
    if (id === 'fmt ') {
      if (file.readUInt16LE(body) !== 1 || file.readUInt16LE(body + 14) !== 16)
        throw new Error('The WAVE file is not 16-bit PCM')
      format = { channels: file.readUInt16LE(body + 2), sampleRate: file.readUInt32LE(body + 4) }
    } else if (id === 'data' && format) {
      const end = Math.min(file.length, body + size)
      const pcm = new Int16Array((end - body) >> 1)
      for (let i = 0; i < pcm.length; i++) pcm[i] = file.readInt16LE(body + 2 * i)
      return { ...format, pcm }
    }
    at = body + size + (size & 1)
  }
  throw new Error('The WAVE file has no audio data')
}
