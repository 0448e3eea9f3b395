/** Finds companies in OpenStreetMap with any server of the Overpass API; queries a large area in tiles. */
import { z } from 'zod'
import { type Candidate, type LeadSource, LeadSourceError } from '../vocabulary/types.ts'
import { Service, type ServicePorts, TooMuch } from './ask.ts'
import type { Area, Box, Geocoder } from './nominatim.ts'
import { byCompleteness, Element, placeOf } from './osm-place.ts'
import { overpassQuery, QUERY_SECONDS, type Selection, selectionsOf } from './overpass-ql.ts'
import { quarters, tilesOf } from './tiles.ts'

export interface OverpassOptions extends ServicePorts {
  /** URL of the interpreter: `https://host/api/interpreter`. */
  url: string
  geocoder: Geocoder
  pauseMs?: number
  retryMs?: readonly number[]
  /** Limits of one response; a larger result is queried in quarters. */
  mostElements?: number
  mostBytes?: number
}

/** Public servers give each address two slots; one stays free for others. */
const PAUSE_MS = 1000
const MOST_ELEMENTS = 5000
/** Enough for 5,000 elements with 3 KB of tags each. */
const MOST_BYTES = 16 * 1024 * 1024

/** The server has no such area: it creates areas some hours after an outline is drawn, and for some outlines never. */
class NoArea extends Error {}

const AreaElement = z.object({ type: z.literal('area') })
const Answer = z.object({ remark: z.string().optional(), elements: z.array(z.unknown()) })

export function createOverpassSource(options: OverpassOptions): LeadSource {
  const { url, geocoder, pauseMs = PAUSE_MS, mostElements = MOST_ELEMENTS, mostBytes = MOST_BYTES, ...ports } = options
  // The server's own time-out comes first, with a response that says so.
  const limits = { timeoutMs: (QUERY_SECONDS + 30) * 1000, maxBytes: mostBytes }
  const service = new Service({ ...ports, ...limits, name: 'The map service', pauseMs })

  async function ask(selections: readonly Selection[], area: Area, box: Box, signal: AbortSignal): Promise<Element[]> {
    const body = new URLSearchParams({ data: overpassQuery({ selections, area, box, most: mostElements }) }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await service.ask({ url, method: 'POST', headers, body }, Answer, signal)
    // When memory or time runs out, the server returns 200 and a partial result.
    if (/runtime (?:error|remark)/i.test(answer.remark ?? '')) throw remarked(answer.remark!)
    if (area.osm && !answer.elements.some(element => AreaElement.safeParse(element).success)) throw new NoArea()
    if (answer.elements.length >= mostElements)
      throw new TooMuch('bad_answer', 'The map service has too many results there.')
    return answer.elements.flatMap(element => Element.safeParse(element).data ?? [])
  }

  /** Queries tile by tile; splits a tile into quarters when its result is too large. */
  async function* tiles(selections: readonly Selection[], area: Area, signal: AbortSignal): AsyncGenerator<Element[]> {
    const left = tilesOf(area)
    let within = area
    for (let box = left.shift(); box; box = left.shift()) {
      try {
        yield await ask(selections, within, box, signal)
      } catch (error) {
        if (error instanceof NoArea) {
          within = { ...area, osm: null }
          left.unshift(box)
          continue
        }
        const smaller = error instanceof TooMuch ? quarters(box) : null
        if (!smaller) throw error
        left.unshift(...smaller)
      }
    }
  }

  return {
    id: 'openstreetmap',
    name: 'OpenStreetMap',
    attribution: '© OpenStreetMap contributors',
    licence: 'ODbL-1.0',
    async *find({ brief }, signal) {
      const selections = selectionsOf(brief.niche)
      if (!selections)
        throw new LeadSourceError('unknown_niche', 'The brief does not name a kind of company to search for.')
      // An object across the border of two tiles is in both.
      const seen = new Set<string>()
      for (const area of await geocoder.areas(brief.geo, signal)) {
        for await (const elements of tiles(selections, area, signal)) yield* newPlaces(elements, area, seen)
      }
    },
  }
}

function newPlaces(elements: readonly Element[], area: Area, seen: Set<string>): Candidate[] {
  const places = elements.flatMap(element => placeOf(element, area.country) ?? [])
  const fresh = places.filter(({ key }) => !seen.has(key))
  for (const { key } of fresh) seen.add(key)
  return byCompleteness(fresh)
}

/** `runtime error: Query timed out in "query" at line 3 after 61 seconds.`; the other kind is about memory. */
function remarked(remark: string): LeadSourceError {
  return /timed out|out of memory|too (?:much|many)/i.test(remark)
    ? new TooMuch('overloaded', 'The area is too large for the map service.')
    : new LeadSourceError('bad_answer', 'The map service returned an incomplete response.')
}
