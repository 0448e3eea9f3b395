/** AES-256-GCM with associated data, so that a value sealed for one call cannot be opened for another. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface Sealer {
  /** Base64url of nonce ‖ tag ‖ ciphertext. */
  seal(value: unknown, associated: string): string
  /** Throws when the text was changed, or was sealed under another key or for another purpose. */
  open(sealed: string, associated: string): unknown
  /** Returns a name of 24 hexadecimal digits that nobody can guess without the secret; the same for each `purpose`. */
  nameFor(purpose: string): string
}

/** `secret` may be of any length; the key is derived from it (RFC 5869) so that one secret can serve several uses. */
export function createSealer(secret: string): Sealer {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'parley-seal-v1', 32))
  const nameKey = Buffer.from(hkdfSync('sha256', secret, '', 'parley-name-v1', 32))
  return {
    seal(value, associated) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associated))
      const body = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    },
    open(sealed, associated) {
      const bytes = Buffer.from(sealed, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(associated))
        .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      const body = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
      return JSON.parse(body.toString('utf8'))
    },
    nameFor: purpose => createHmac('sha256', nameKey).update(purpose).digest('hex').slice(0, 24),
  }
}
