/**
 * Telephone numbers as people write them (only importer of libphonenumber-js in the page, which is big: pages that need it
 * load it with themselves). The server has the last word; this is what it says of nearly all.
 */
import { type CountryCode, getCountries, parsePhoneNumberFromString } from 'libphonenumber-js/min'

const isRegion = (text: string): text is CountryCode => (getCountries() as string[]).includes(text)

/** E.164, or null when no number can be meant. Without a region only what has a country code is a number. */
export function readPhone(text: string, region: string | null): string | null {
  const home = region !== null && isRegion(region) ? { defaultCountry: region } : {}
  const number = parsePhoneNumberFromString(text, { ...home, extract: false })
  return number?.isPossible() && !number.ext && /^\+[1-9]\d{6,14}$/.test(number.number) ? number.number : null
}

/** The country of a number; null where it does not tell. */
export const regionOf = (phone: string): string | null => parsePhoneNumberFromString(phone)?.country ?? null
