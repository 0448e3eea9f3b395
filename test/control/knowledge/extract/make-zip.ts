/** Builds ZIP archives byte by byte (APPNOTE 6.3.10), so that headers can be wrong. */
import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipPart {
  name: string
  data: Buffer | string
  /** Size that the headers declare instead of the true one. */
  declared?: number
  encrypted?: boolean
}

export function makeZip(parts: readonly ZipPart[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const part of parts) {
    const name = Buffer.from(part.name)
    const data = Buffer.from(part.data)
    const packed = deflateRawSync(data)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(part.encrypted ? 1 : 0, 2)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(crc32(data), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(part.declared ?? data.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, name, packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, tail, name]))
    locals.push(local)
    offset += local.length
  }
  const index = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(parts.length, 4)
  end.writeUInt16LE(parts.length, 6)
  end.writeUInt32LE(index.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, index, Buffer.from('PK\x05\x06', 'latin1'), end])
}
