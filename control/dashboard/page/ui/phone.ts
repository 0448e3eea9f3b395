/**
 * Parses phone numbers as users type them. The only importer of libphonenumber-js, which is large: import this module
 * only from lazily loaded pages. The server validates the numbers again.
 */
import { type CountryCode, getCountries, parsePhoneNumberFromString } from 'libphonenumber-js/min'

const isRegion = (text: string): text is CountryCode => (getCountries() as string[]).includes(text)

/**
 * Returns the number in E.164, or null if the text is not a possible number. Without a region, only numbers with a
 * country code are accepted.
 */
export function readPhone(text: string, region: string | null): string | null {
  const home = region !== null && isRegion(region) ? { defaultCountry: region } : {}
  const number = parsePhoneNumberFromString(text, { ...home, extract: false })
  return number?.isPossible() && !number.ext && /^\+[1-9]\d{6,14}$/.test(number.number) ? number.number : null
}

/** Returns the country of a number, or null if the number does not identify one. */
export const regionOf = (phone: string): string | null => parsePhoneNumberFromString(phone)?.country ?? null
