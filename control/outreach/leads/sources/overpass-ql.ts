/** Builds queries in Overpass QL (wiki.openstreetmap.org/wiki/Overpass_API/Overpass_QL). Pure. */
import { findNiche } from '../vocabulary/niches.ts'
import { stemsOf } from '../vocabulary/words.ts'
import type { Area, Box } from './nominatim.ts'

/** A list of filters that must all match; any one selection is enough. */
export type Selection = string[]

/** Keys that any kind of business is tagged with. */
const BUSINESS_KEYS = ['shop', 'office', 'craft', 'amenity', 'healthcare', 'leisure', 'tourism']
const MOST_WORDS = 5

/** Selects by the tags of a known niche, or else by words in the name; null when there is nothing to query. */
export function selectionsOf(niche: string): Selection[] | null {
  const tags = findNiche(niche)?.tags
  if (tags)
    return tags.map(({ key, value }) => [value === null ? `[${quoted(key)}]` : `[${quoted(key)}=${quoted(value)}]`])
  const words = [...new Set(stemsOf(niche))].filter(word => word.length >= 3)
  if (words.length === 0) return null
  const named = words.slice(0, MOST_WORDS).map(word => `["name"~${quoted(escapedRegex(word))},i]`)
  return BUSINESS_KEYS.map(key => [`[${quoted(key)}]`, ...named])
}

/** Overpass' own limits of one query: seconds, and bytes of memory. */
export const QUERY_SECONDS = 60
const QUERY_BYTES = 128 * 1024 * 1024

/** Offsets with which Overpass numbers the area of an outline. */
const AREA_OF = { way: 2_400_000_000, relation: 3_600_000_000 } as const

export interface OverpassQuestion {
  selections: readonly Selection[]
  area: Area
  box: Box
  /** Maximum number of elements in the response. */
  most: number
}

export function overpassQuery({ selections, area, box, most }: OverpassQuestion): string {
  const bounds = `(${[box.south, box.west, box.north, box.east].map(degrees).join(',')})`
  const inside = area.osm ? '(area.where)' : ''
  return [
    `[out:json][timeout:${QUERY_SECONDS}][maxsize:${QUERY_BYTES}];`,
    // Also returns the area itself: for an area that the server lacks, the query finds nothing and reports no error.
    ...(area.osm ? [`area(${AREA_OF[area.osm.type] + area.osm.id})->.where;`, '.where out ids;'] : []),
    '(',
    ...selections.map(filters => `nwr${filters.join('')}${inside}${bounds};`),
    ');',
    `out center tags ${most};`,
  ].join('\n')
}

/** Without exponents, which QL does not have; OpenStreetMap's precision is seven decimal places. */
const degrees = (value: number): string => value.toFixed(7).replace(/\.?0+$/, '')

/** A string of QL, which has the escapes of C. */
export const quoted = (text: string): string =>
  `"${text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ').replace(/["\\]/g, '\\$&')}"`

/** POSIX extended syntax, as in Overpass. */
export const escapedRegex = (text: string): string => text.replace(/[.[\]{}()*+?^$|\\]/g, '\\$&')
