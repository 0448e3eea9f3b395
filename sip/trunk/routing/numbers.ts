/** Converts phone numbers between carriers' formats and ours, E.164 with the plus. Pure. */
import type { DialingRules, TrunkPlan } from '../../../media/contract/plan.ts'

type Format = Pick<TrunkPlan, 'number_format' | 'dialing'>

/** Formats one of our numbers for the carrier; anything but a number is returned unchanged. */
export function outgoingNumber(number: string, { number_format: format, dialing }: Format): string {
  if (format === 'plus' || !/^\+\d+$/.test(number)) return number
  const digits = number.slice(1)
  if (format === 'digits' || dialing === null) return digits
  const { calling_code: code, national_prefix: prefix, international_prefix: international } = dialing
  if (digits.startsWith(code)) return `${prefix ?? ''}${digits.slice(code.length)}`
  return `${international}${digits}`
}

/**
 * The E.164 digits that a dialed string may mean, likeliest first. A national number follows the rules of the trunk's
 * country, with the national prefix or, as some carriers send it, without.
 */
export function readingsOf(dialed: string, dialing: DialingRules | null): string[] {
  const digits = dialed.replace(/\D/g, '')
  if (digits === '') return []
  if (dialed.trim().startsWith('+')) return [digits]
  const readings = [digits]
  const international = dialing?.international_prefix ?? '00'
  for (const prefix of new Set(['00', international])) {
    if (digits.startsWith(prefix)) readings.push(digits.slice(prefix.length))
  }
  if (dialing !== null) {
    const { calling_code: code, national_prefix: prefix } = dialing
    if (prefix !== null && digits.startsWith(prefix)) readings.push(`${code}${digits.slice(prefix.length)}`)
    readings.push(`${code}${digits}`)
  }
  return readings
}

/** The trunk's E.164 number that a dialed string means in any format; null when none matches. */
export function ownNumber(
  dialed: string | null,
  numbers: readonly string[],
  dialing: DialingRules | null = null,
): string | null {
  for (const reading of readingsOf(dialed ?? '', dialing)) {
    const own = numbers.find(number => number === `+${reading}`)
    if (own !== undefined) return own
  }
  return null
}

/**
 * Normalises a caller's number to `+` and digits when that is certain, otherwise returns it unchanged (`anonymous`, a
 * softphone's name, digits alone).
 */
export function callerNumber(text: string | null, dialing: DialingRules | null = null): string {
  if (text === null || text === '') return 'anonymous'
  const compact = text.replace(/[\s().-]/g, '')
  if (!/^\d+$/.test(compact)) return compact
  const international = dialing?.international_prefix ?? '00'
  for (const prefix of new Set(['00', international])) {
    if (compact.startsWith(prefix) && compact.length >= prefix.length + 7) return `+${compact.slice(prefix.length)}`
  }
  if (dialing === null) return compact
  const { calling_code: code, national_prefix: prefix } = dialing
  // North American numbers have ten digits, and no prefix that would identify them.
  if (code === '1') return /^[2-9]\d{9}$/.test(compact) ? `+1${compact}` : compact
  const national = prefix !== null && prefix !== code && compact.startsWith(prefix) && compact.length >= 7
  return national ? `+${code}${compact.slice(prefix.length)}` : compact
}
