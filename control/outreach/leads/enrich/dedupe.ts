/** Detects whether two leads are the same company: by phone number, by domain, or by name and address. Pure. */

import { isNoCompany } from '../sources/not-companies.ts'
import { registrableDomain } from '../vocabulary/domain.ts'
import type { Enriched } from '../vocabulary/types.ts'

type Identified = Pick<Enriched, 'company' | 'phones' | 'website' | 'address'>

/** Legal forms, which are not part of a company's name. */
const LEGAL =
  /(?<![\p{L}\d])(?:ооо|оао|зао|пао|ао|ип|тоо|нко|ано|гуп|муп|гбуз|мбу|общество с ограниченной ответственностью|индивидуальный предприниматель|llc|ltd|limited|inc|incorporated|corp|co|plc|llp|gmbh|ag|kg|ug|e\.?k|s\.?r\.?l|s\.?a|b\.?v|oy|ab|the)(?![\p{L}\d])\.?/giu
/** Words of an address that are spelled in many ways. */
const ADDRESS_WORDS =
  /(?<![\p{L}\d])(?:россия|russia|рф|г|город|ул|улица|пр|пр-?т|просп|проспект|пер|переулок|бул|бульвар|ш|шоссе|наб|набережная|пл|площадь|д|дом|корп|корпус|стр|строение|оф|офис|кв|помещ|этаж|респ|республика|обл|область|street|st|road|rd|avenue|ave|suite)(?![\p{L}\d])\.?/giu

/**
 * An index entry of Postgres holds 2704 bytes. A character takes up to three, and normalisation expands some to
 * eighteen characters.
 */
const LONGEST_NAME = 200
const LONGEST_KEY = 1000

/**
 * Returns keys; one common key makes two leads the same: `p:+7…`, `d:example.ru`, `n:ромашка|5 баумана казань`. A name
 * without an address is not a key, because many companies share it.
 */
export function identityOf(lead: Identified): string[] {
  const keys = lead.phones.map(phone => `p:${phone}`)
  const domain = lead.website ? domainKey(lead.website) : null
  if (domain) keys.push(`d:${domain}`.slice(0, LONGEST_KEY))
  const [name, address] = [normalName(lead.company), lead.address ? normalAddress(lead.address) : '']
  if (name && /\d/.test(address)) keys.push(`n:${name.slice(0, LONGEST_NAME)}|${address}`)
  return [...new Set(keys)]
}

export function normalName(company: string): string {
  const plain = normal(company)
  return words(plain.replace(LEGAL, ' ')).join(' ') || words(plain).join(' ')
}

/**
 * Sorts the words, because some addresses start with the town and others with the street, and drops the post code,
 * which not all have.
 */
const normalAddress = (address: string): string =>
  words(normal(address).replace(ADDRESS_WORDS, ' '))
    .filter(word => !/^\d{5,6}$/.test(word))
    .sort()
    .join(' ')
    .slice(0, 200)

const normal = (text: string): string => text.normalize('NFKC').toLowerCase().replaceAll('ё', 'е')
const words = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? []

function domainKey(website: string): string | null {
  const text = /^https?:\/\//i.test(website) ? website : `http://${website}`
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  const host = url.hostname.replace(/^www\./, '')
  const domain = registrableDomain(host)
  // Many companies share one domain: the whole address of the page identifies the company.
  if (!isNoCompany(host)) return domain
  const page = url.pathname.toLowerCase().replace(/\/+$/, '')
  return page ? `${host}${page}` : domain === host ? null : host
}
