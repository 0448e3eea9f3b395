/** Converts OpenStreetMap tags to a candidate (wiki.openstreetmap.org/wiki/Map_features). Pure. */
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
/** Names in order of preference; brand or operator for an object without a name. */
const NAMES = ['name', 'name:ru', 'name:en', 'official_name', 'brand', 'operator']

/** Tags that are read elsewhere or of no use to a caller. */
const NO_FACT =
  /^(?:addr|name|alt_name|old_name|int_name|official_name|short_name|loc_name|phone|contact:(?:phone|mobile|email|website|fax)|mobile|fax|email|website|url|source|created_by|note|fixme|building|roof|height|layer|import|ref|gnis|tiger|osak|is_in|type|mapillary|disused|was|abandoned)(?:$|[:_])/i
const MOST_FACTS = 40

/** Null for objects without a name and for closed companies. */
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
const CLOSED_HOURS = /^(?:"?closed"?|off|closed permanently|permanently closed|closed_permanently)$/i
/** Tags that state what an open place is. */
const KINDS = ['shop', 'amenity', 'office', 'craft', 'healthcare', 'leisure', 'tourism']

/**
 * Recognises the mappers' conventions: `disused=yes`, `opening_hours=off`, `shop=vacant`, or `disused:shop=…` without
 * another kind.
 */
function isClosed(tags: Tags): boolean {
  const keys = Object.keys(tags)
  if (keys.some(key => GONE.test(key) && YES.test(tags[key]!))) return true
  if (CLOSED_HOURS.test(tags['opening_hours'] ?? '') || CLOSED_HOURS.test(tags['operational_status'] ?? '')) return true
  if (/^(?:vacant|disused|closed)$/i.test(tags['shop'] ?? tags['office'] ?? tags['amenity'] ?? '')) return true
  const formerly = keys.some(key => GONE.test(key.split(':')[0]!) && KINDS.includes(key.split(':')[1] ?? ''))
  return formerly && !KINDS.some(key => key in tags)
}

/** Countries that write the house number before the street. */
const NUMBER_FIRST = new Set(['GB', 'IE', 'US', 'CA', 'AU', 'NZ', 'IN', 'FR', 'ZA', 'SG', 'MY', 'PH', 'IL'])

/** `Казань, улица Баумана, 5, офис 3`, or `5 High Street, Aberdeen AB10 1AA`; null without street and city. */
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
  const facts = entries.filter(([key, value]) => key !== '' && value !== '' && !NO_FACT.test(key))
  return Object.fromEntries(facts.toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, MOST_FACTS))
}

/** Most complete first; equal ones stay in OpenStreetMap's order. */
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
