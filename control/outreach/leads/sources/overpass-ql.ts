/** What is asked of OpenStreetMap, in Overpass QL (wiki.openstreetmap.org/wiki/Overpass_API/Overpass_QL). Pure. */
import { findNiche } from '../vocabulary/niches.ts'
import { stemsOf } from '../vocabulary/words.ts'
import type { Area, Box } from './nominatim.ts'

/** One of several selections, any of which is enough: filters that must all hold. */
export type Selection = string[]

/** What a business is tagged with, whatever its kind. */
const BUSINESS_KEYS = ['shop', 'office', 'craft', 'amenity', 'healthcare', 'leisure', 'tourism']
const MOST_WORDS = 5

/** By the tags of a known niche, else by words in the name; null when nothing of it can be asked for. */
export function selectionsOf(niche: string): Selection[] | null {
  const tags = findNiche(niche)?.tags
  if (tags)
    return tags.map(({ key, value }) => [value === null ? `[${quoted(key)}]` : `[${quoted(key)}=${quoted(value)}]`])
  const words = [...new Set(stemsOf(niche))].filter(word => word.length >= 3)
  if (words.length === 0) return null
  const named = words.slice(0, MOST_WORDS).map(word => `["name"~${quoted(escapedRegex(word))},i]`)
  return BUSINESS_KEYS.map(key => [`[${quoted(key)}]`, ...named])
}

/** Overpass' own limits for one question: seconds, and bytes of its memory. */
export const QUERY_SECONDS = 60
const QUERY_BYTES = 128 * 1024 * 1024

/** How Overpass numbers the area that an outline makes. */
const AREA_OF = { way: 2_400_000_000, relation: 3_600_000_000 } as const

export interface OverpassQuestion {
  selections: readonly Selection[]
  area: Area
  box: Box
  /** Elements that are answered at most. */
  most: number
}

export function overpassQuery({ selections, area, box, most }: OverpassQuestion): string {
  const bounds = `(${[box.south, box.west, box.north, box.east].map(degrees).join(',')})`
  const inside = area.osm ? '(area.where)' : ''
  return [
    `[out:json][timeout:${QUERY_SECONDS}][maxsize:${QUERY_BYTES}];`,
    // Answered too, since of an area that the server does not have nothing is found, and no error tells.
    ...(area.osm ? [`area(${AREA_OF[area.osm.type] + area.osm.id})->.where;`, '.where out ids;'] : []),
    '(',
    ...selections.map(filters => `nwr${filters.join('')}${inside}${bounds};`),
    ');',
    `out center tags ${most};`,
  ].join('\n')
}

/** Without exponents, which QL does not know; a ten-millionth is what OpenStreetMap keeps. */
const degrees = (value: number): string => value.toFixed(7).replace(/\.?0+$/, '')

/** A string of QL, which knows the escapes of C. */
export const quoted = (text: string): string =>
  `"${text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ').replace(/["\\]/g, '\\$&')}"`

/** POSIX extended, as Overpass has them. */
export const escapedRegex = (text: string): string => text.replace(/[.[\]{}()*+?^$|\\]/g, '\\$&')
