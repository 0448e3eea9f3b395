/** What OpenStreetMap's tags say of a company (wiki.openstreetmap.org/wiki/Map_features). Pure. */
import { z } from 'zod'
import type { Candidate } from '../vocabulary/types.ts'
import { cleanLine, cleanOrNull, emailsOf, phonesOf, websiteOf } from './clean.ts'
import { countryOf } from './nominatim.ts'

const lat = z.number().min(-90).max(90)
const lon = z.number().min(-180).max(180)

export const Element = z.object({
  type: z.enum(['node', 'way', 'relation']),
  id: z.number().int().positive(),
  lat: lat.optional(),
  lon: lon.optional(),
  center: z.object({ lat, lon }).optional(),
  tags: z.record(z.string(), z.string()).default({}),
})
export type Element = z.output<typeof Element>

type Tags = Record<string, string>

const PHONES = ['phone', 'contact:phone', 'phone:mobile', 'contact:mobile', 'mobile', 'contact:whatsapp']
const EMAILS = ['email', 'contact:email', 'email:office']
const WEBSITES = ['website', 'contact:website', 'url', 'brand:website', 'operator:website']
/** Of what has no name, whose it is. */
const NAMES = ['name', 'name:ru', 'name:en', 'official_name', 'brand', 'operator']

/** Told otherwise, or of no use to who calls them. */
const NO_FACT =
  /^(?:addr|name|alt_name|old_name|int_name|official_name|short_name|loc_name|phone|contact:(?:phone|mobile|email|website|fax)|mobile|fax|email|website|url|source|created_by|note|fixme|building|roof|height|layer|import|ref|gnis|tiger|osak|is_in|type|mapillary|disused|was|abandoned)(?:$|[:_])/i
const MOST_FACTS = 40

/** Null for what has no name, and for what is closed for good. */
export function placeOf(element: Element, country: string | null): Candidate | null {
  const { tags } = element
  const company = NAMES.map(key => cleanLine(tags[key] ?? '')).find(name => name !== '')
  if (company === undefined || isClosed(tags)) return null
  const { lat, lon } = element.center ?? element
  const own = countryOf(tags['addr:country']) ?? country
  const websites = WEBSITES.map(key => websiteOf(tags[key]))
  return {
    key: `${element.type}/${element.id}`,
    company,
    phones: phonesOf(PHONES.map(key => tags[key])),
    emails: emailsOf(EMAILS.map(key => tags[key])),
    website: websites.find(website => website !== null) ?? null,
    address: addressOf(tags, own),
    geo: lat === undefined || lon === undefined ? null : { lat, lon },
    country: own,
    facts: factsOf(tags),
  }
}

const GONE = /^(?:disused|abandoned|was|closed|demolished|removed|razed|destroyed)$/
const YES = /^(?:yes|true|1)$/i
const SHUT = /^(?:"?closed"?|off|closed permanently|permanently closed|closed_permanently)$/i
/** What a place is, when it is anything. */
const KINDS = ['shop', 'amenity', 'office', 'craft', 'healthcare', 'leisure', 'tourism']

/** As mappers say it: `disused=yes`, `opening_hours=off`, `shop=vacant`, or `disused:shop=…` and no kind besides. */
function isClosed(tags: Tags): boolean {
  const keys = Object.keys(tags)
  if (keys.some(key => GONE.test(key) && YES.test(tags[key]!))) return true
  if (SHUT.test(tags['opening_hours'] ?? '') || SHUT.test(tags['operational_status'] ?? '')) return true
  if (/^(?:vacant|disused|closed)$/i.test(tags['shop'] ?? tags['office'] ?? tags['amenity'] ?? '')) return true
  const formerly = keys.some(key => GONE.test(key.split(':')[0]!) && KINDS.includes(key.split(':')[1] ?? ''))
  return formerly && !KINDS.some(key => key in tags)
}

/** Countries that write the number of the house before the street. */
const NUMBER_FIRST = new Set(['GB', 'IE', 'US', 'CA', 'AU', 'NZ', 'IN', 'FR', 'ZA', 'SG', 'MY', 'PH', 'IL'])

/** `Казань, улица Баумана, 5, офис 3`, or `5 High Street, Aberdeen AB10 1AA`; null when it would say no street and no city. */
function addressOf(tags: Tags, country: string | null): string | null {
  const part = (name: string) => cleanOrNull(tags[`addr:${name}`], 100)
  const street = part('street') ?? part('place')
  const [house, unit, city, postcode] = [
    part('housenumber'),
    part('unit') ?? part('door'),
    part('city'),
    part('postcode'),
  ]
  if (street === null) return [city, cleanOrNull(tags['addr:full'])].filter(Boolean).join(', ') || null
  if (/\p{Script=Cyrillic}/u.test(street + (city ?? ''))) {
    return [city, street, house, unit && `офис ${unit}`].filter(Boolean).join(', ')
  }
  const first = country !== null && NUMBER_FIRST.has(country)
  const line = (first ? [unit && `${unit},`, house, street] : [street, house, unit && `/ ${unit}`]).filter(Boolean)
  const town = (first ? [city, postcode] : [postcode, city]).filter(Boolean)
  return [line.join(' '), town.join(' ')].filter(text => text !== '').join(', ')
}

function factsOf(tags: Tags): Candidate['facts'] {
  const entries = Object.entries(tags).map(([key, value]) => [cleanLine(key, 60), cleanLine(value)] as const)
  const told = entries.filter(([key, value]) => key !== '' && value !== '' && !NO_FACT.test(key))
  return Object.fromEntries(told.toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, MOST_FACTS))
}

/** The most complete first; of equal ones, in the order that they have in OpenStreetMap. */
export function byCompleteness(places: readonly Candidate[]): Candidate[] {
  return places
    .map(place => ({ place, worth: worthOf(place) }))
    .toSorted((a, b) => b.worth - a.worth)
    .map(({ place }) => place)
}

const worthOf = ({ phones, website, emails, address, facts }: Candidate): number =>
  (phones.length > 0 ? 8 : 0) +
  (website ? 4 : 0) +
  (emails.length > 0 ? 2 : 0) +
  (address ? 1 : 0) +
  ('opening_hours' in facts ? 1 : 0)
