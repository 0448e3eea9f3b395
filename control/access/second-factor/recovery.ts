/** Recovery codes, for people who have lost their device. Each works once. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/ids.ts'

const CODES = 10
const CODE_BYTES = 10
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const BITS = 5

function createCode(): string {
  const bits = [...randomBytes(CODE_BYTES)].map(byte => byte.toString(2).padStart(8, '0')).join('')
  const letters = bits.match(/.{5}/g)!.map(group => ALPHABET[Number.parseInt(group.slice(0, BITS), 2)])
  return letters.join('').replace(/(.{4})(?=.)/g, '$1-')
}

export const createRecoveryCodes = (): string[] => Array.from({ length: CODES }, createCode)

/** People type codes with other spaces, dashes and cases. Null when the text cannot be a recovery code. */
export function readRecoveryCode(text: string): string | null {
  const letters = text.toUpperCase().replace(/[\s-]/g, '')
  return /^[A-Z2-7]{16}$/.test(letters) ? letters : null
}

/** The hash belongs to one person, so that a code found for one opens nothing else. */
export const hashRecoveryCode = (personId: string, code: string): Buffer =>
  sha256(`${personId} ${readRecoveryCode(code) ?? ''}`)
