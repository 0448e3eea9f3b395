/** Recovery codes, for people who have lost their device. Each works once. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/ids.ts'

const CODES = 10
const LETTERS = 16
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function createCode(): string {
  const letters = [...randomBytes(LETTERS)].map(byte => ALPHABET[byte % ALPHABET.length])
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
