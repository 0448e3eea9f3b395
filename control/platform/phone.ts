import { type CountryCode, Metadata } from 'libphonenumber-js/core'
import { getCountries, isPossiblePhoneNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import metadata from 'libphonenumber-js/max/metadata'
import { z } from 'zod'
import type { DialingRules } from '../../media/contract/plan.ts'

/**
 * Uses `isPossible`, not `isValid`: only the carrier knows whether a range is in service, and the library's tables age.
 */
export const Phone = z
  .string()
  .regex(/^\+[1-9]\d{6,14}$/, 'must be a plus sign and 7 to 15 digits')
  .refine(text => isPossiblePhoneNumber(text), { error: 'is not a possible phone number', params: { code: 'phone' } })
  .meta({ format: 'phone', description: 'E.164' })

/**
 * Normalises a SIP user to E.164, with or without the plus. Null when it is not a phone number (`anonymous`, an
 * extension).
 */
export function toE164(text: string): string | null {
  const digits = /^\+?([1-9]\d{6,14})$/.exec(text)?.[1]
  return digits ? `+${digits}` : null
}

/**
 * Parses a number in any notation to E.164; null when it is not a phone number or has an extension. Without a region,
 * only numbers with a country code are accepted.
 */
export function readPhone(text: string, region: string | null): string | null {
  const home = region !== null && isRegion(region) ? { defaultCountry: region } : {}
  const number = parsePhoneNumberFromString(text, { ...home, extract: false })
  return number?.isPossible() && !number.ext && toE164(number.number) ? number.number : null
}

export const Region = z
  .string()
  .regex(/^[A-Z]{2}$/, { error: 'must be two capital letters', abort: true })
  .refine((text): boolean => isRegion(text), {
    error: 'must be a country with phone numbers',
    params: { code: 'region' },
  })
  .meta({ description: 'ISO 3166 code of a country' })

function isRegion(text: string): text is CountryCode {
  return (getCountries() as string[]).includes(text)
}

/** Country of a number; null when the number has none, such as +800. */
export const regionOf = (phone: string): string | null => parsePhoneNumberFromString(phone)?.country ?? null

/** Plus and calling code of a number; its first three digits when it has none. */
export function callingPrefix(phone: string): string {
  const code = parsePhoneNumberFromString(phone)?.countryCallingCode
  return code ? `+${code}` : phone.slice(0, 4)
}

/** Type in the numbering plan: `MOBILE`, `TOLL_FREE`; null for a number outside every plan. */
export const phoneType = (phone: string): string | null => parsePhoneNumberFromString(phone)?.getType() ?? null

/** Dialling rules of a country; null when there is no such country. */
export function dialingRules(region: string): DialingRules | null {
  if (!isRegion(region)) return null
  const rules = new Metadata(metadata)
  rules.selectNumberingPlan(region)
  // Documented by the library, but missing in its types.
  const plan = rules.numberingPlan as unknown as PrefixedPlan
  const international = plan.defaultIDDPrefix() || plan.IDDPrefix()
  const code = plan.callingCode()
  return {
    calling_code: code,
    // North America's 1 is also its calling code, and carriers there do not write it in national numbers.
    national_prefix: code === '1' ? null : plan.nationalPrefix() || null,
    // Some prefixes are patterns for several carriers; `~` means waiting for a tone.
    international_prefix: /^[\d~]+$/.test(international) ? international.replace('~', '') : '00',
  }
}

interface PrefixedPlan {
  callingCode(): string
  /** 0 for none. */
  nationalPrefix(): string | 0 | undefined
  IDDPrefix(): string
  /** 0 for none. */
  defaultIDDPrefix(): string | 0 | undefined
}

export type BlockedReason = 'emergency' | 'premium_rate' | 'satellite' | 'blocked_prefix' | 'destination_not_allowed'

/** Prefixes of numbers. `destinations`: the only ones that an account may call; empty or omitted: all. */
export interface DialingLimits {
  blocked_prefixes: readonly string[]
  allowed_prefixes: readonly string[]
  destinations?: readonly string[]
}

/** Emergency numbers by calling code; most networks route 112 and 911 to the emergency services. */
export const EMERGENCY_EVERYWHERE = ['112', '911']
const EMERGENCY: Readonly<Record<string, readonly string[]>> = {
  7: ['101', '102', '103', '104'],
  44: ['999'],
  49: ['110'],
  61: ['000'],
  64: ['111'],
  81: ['110', '118', '119'],
  86: ['110', '119', '120'],
  91: ['100', '101', '102', '108'],
  353: ['999'],
  375: ['101', '102', '103', '104'],
  380: ['101', '102', '103', '104'],
  852: ['999'],
  971: ['997', '998', '999'],
}

const SATELLITE = ['+870', '+881', '+88216']
const INTERNATIONAL_PREMIUM = '+979'

const longest = (phone: string, prefixes: readonly string[]) =>
  Math.max(0, ...prefixes.filter(prefix => phone.startsWith(prefix)).map(prefix => prefix.length))

/**
 * Returns why calls to a number are blocked; null when they are allowed. The longer of a blocked and an allowed prefix
 * wins. An allowed prefix also allows premium-rate numbers; nothing allows emergency numbers.
 */
export function blockedReason(phone: string, rules: DialingLimits): BlockedReason | null {
  const number = parsePhoneNumberFromString(phone)
  if (number && !number.isValid()) {
    // Switches route an emergency code as soon as they have read it, and ignore further digits.
    const codes = [...EMERGENCY_EVERYWHERE, ...(EMERGENCY[number.countryCallingCode] ?? [])]
    if (codes.some(code => number.nationalNumber.startsWith(code))) return 'emergency'
  }
  const allowed = longest(phone, rules.allowed_prefixes)
  const blocked = longest(phone, rules.blocked_prefixes)
  if (blocked > allowed) {
    if (SATELLITE.some(prefix => phone.startsWith(prefix))) return 'satellite'
    return phone.startsWith(INTERNATIONAL_PREMIUM) ? 'premium_rate' : 'blocked_prefix'
  }
  if (allowed === 0 && number?.getType() === 'PREMIUM_RATE') return 'premium_rate'
  const { destinations = [] } = rules
  return destinations.length > 0 && longest(phone, destinations) === 0 ? 'destination_not_allowed' : null
}
