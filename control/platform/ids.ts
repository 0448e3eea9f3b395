import { createHash, randomBytes } from 'node:crypto'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const COUNTER_MAX = 0xfff

let lastMs = 0
let counter = 0

/**
 * RFC 9562 UUIDv7; Postgres has it only from version 18. `rand_a` counts within a millisecond (method 1 of section
 * 6.2), so that ids of one process sort in the order of creation.
 */
export function uuidv7(wallMs: number): string {
  let ms = Math.floor(wallMs)
  if (ms === lastMs && counter >= COUNTER_MAX) ms++
  counter = ms === lastMs ? counter + 1 : randomBytes(2).readUInt16BE() & 0x7ff
  lastMs = ms
  const bytes = randomBytes(16)
  bytes.writeUIntBE(ms, 0, 6)
  bytes.writeUInt16BE(0x7000 | counter, 6)
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** 32 random bytes as 43 base62 digits. */
export function randomBase62(): string {
  let value = BigInt(`0x${randomBytes(32).toString('hex')}`)
  let text = ''
  for (let i = 0; i < 43; i++) {
    text += BASE62[Number(value % 62n)]
    value /= 62n
  }
  return text
}

/** A secret of 32 random bytes, for sessions and links in e-mails; its SHA-256 is what is stored. */
export const newToken = (): string => randomBytes(32).toString('base64url')

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
