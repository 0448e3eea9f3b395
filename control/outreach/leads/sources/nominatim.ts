/** Finds places by name with a geocoder that has Nominatim's API (nominatim.org/release-docs/latest/api/Search/). */
import { z } from 'zod'
import { remember } from '../../../knowledge/crawl/lanes.ts'
import { LeadSourceError } from '../vocabulary/types.ts'
import { Service, type ServicePorts } from './ask.ts'
import { cleanLine } from './clean.ts'

/** WGS 84 degrees. */
export interface Box {
  south: number
  west: number
  north: number
  east: number
}

export interface Area {
  name: string
  box: Box
  /** Its centre as people see it, not of the box, which may span the globe. */
  lat: number
  lon: number
  /** The OSM object with the outline; null when only the box is known. */
  osm: { type: 'relation' | 'way'; id: number } | null
  /** ISO 3166-1 alpha-2. */
  country: string | null
}

export interface Geocoder {
  /**
   * Returns the places that a text names, without duplicates. Rejects with `LeadSourceError`, code `unknown_area` when
   * no place is known, and with the reason of `signal` when it is aborted.
   */
  areas(geo: string, signal: AbortSignal): Promise<Area[]>
}

export interface GeocoderOptions extends ServicePorts {
  /** `https://host`, without `/search`. */
  url: string
  /** Milliseconds between two requests; 1000 by default, the limit of public servers' policy. */
  pauseMs?: number
  retryMs?: readonly number[]
}

const PAUSE_MS = 1000
const TIMEOUT_MS = 20_000
const ANSWER_BYTES = 1024 * 1024
const DAY_MS = 86_400_000
/** Maximum number of names in one text. */
const MOST_PLACES = 10

const degrees = z.coerce.number()
const NominatimPlace = z.object({
  osm_type: z.string().optional(),
  osm_id: z.number().int().positive().optional(),
  lat: degrees.min(-90).max(90),
  lon: degrees.min(-180).max(180),
  category: z.string().default(''),
  type: z.string().default(''),
  name: z.string().default(''),
  display_name: z.string().default(''),
  address: z.object({ country_code: z.string().optional() }).optional(),
  /** South, north, west, east. */
  boundingbox: z.tuple([degrees, degrees, degrees, degrees]),
})
type NominatimPlace = z.output<typeof NominatimPlace>

export function createGeocoder({ url, pauseMs = PAUSE_MS, retryMs, ...ports }: GeocoderOptions): Geocoder {
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: ANSWER_BYTES, ...(retryMs ? { retryMs } : {}) }
  const service = new Service({ ...ports, ...limits, name: 'The geocoder', pauseMs })
  const known = new Map<string, { area: Area | null; atMs: number }>()
  const base = url.replace(/\/+$/, '')

  async function locate(name: string, signal: AbortSignal): Promise<Area | null> {
    const key = name.toLowerCase()
    const entry = known.get(key)
    if (entry && ports.clock.now() - entry.atMs < DAY_MS) return entry.area
    const query = new URLSearchParams({ q: name, format: 'jsonv2', addressdetails: '1', limit: '10' })
    const question = { url: `${base}/search?${query}`, method: 'GET' as const, body: null }
    const places = await service.ask(
      { ...question, headers: { 'accept-language': 'ru,en' } },
      z.array(NominatimPlace),
      signal,
    )
    return remember(known, key, { area: areaOf(places), atMs: ports.clock.now() }).area
  }

  return {
    async areas(geo, signal) {
      const text = cleanLine(geo)
      // `Казань, Татарстан` is one place and `Казань и Челны` are two; the geocoder knows which.
      const whole = text === '' ? null : await locate(text, signal)
      if (whole) return [whole]
      const found: Area[] = []
      for (const part of placesIn(text)) {
        const area = await locate(part, signal)
        if (area && !found.some(other => isSame(other, area))) found.push(area)
      }
      if (found.length === 0) throw new LeadSourceError('unknown_area', `The place “${text}” was not found on the map.`)
      return found
    },
  }
}

function placesIn(text: string): string[] {
  const parts = text
    .split(/[,;/&+]|\s(?:и|and|или|or)\s/i)
    .map(part => part.trim())
    .filter(part => part !== '' && part !== text)
  return [...new Set(parts)].slice(0, MOST_PLACES)
}

const isSame = (a: Area, b: Area) =>
  a.osm && b.osm
    ? a.osm.type === b.osm.type && a.osm.id === b.osm.id
    : Object.values(a.box).join() === Object.values(b.box).join()

/** True for settlements and administrative areas; a shop may have the name of a city. */
const isRegion = ({ category, type }: NominatimPlace): boolean =>
  (category === 'place' && !/^(?:house|plot|square|farm|isolated_dwelling|islet|sea|ocean)$/.test(type)) ||
  (category === 'boundary' && /^(?:administrative|ceremonial|historic|census|political)$/.test(type))

/**
 * Degrees, about 100 m: least width of any other place that can contain companies, such as a street, a park or an
 * industrial estate.
 */
const LEAST_WIDTH = 0.001

/**
 * Returns the first settlement or region, because the geocoder sorts by importance; otherwise the first place wide
 * enough for companies.
 */
export function areaOf(places: readonly NominatimPlace[]): Area | null {
  const first = places.find(isRegion) ?? places.find(place => width(place) >= LEAST_WIDTH)
  if (!first) return null
  // Small places are returned as a point and, further down, as the object with the outline.
  const outlined = hasOutline(first) ? first : (places.find(other => hasOutline(other) && holds(other, first)) ?? first)
  const [south, north, west, east] = outlined.boundingbox
  const { osm_type: type, osm_id: id, lat, lon } = outlined
  return {
    name: cleanLine(outlined.name || outlined.display_name),
    box: { south, west, north, east },
    lat,
    lon,
    osm: hasOutline(outlined) ? { type: type as 'relation' | 'way', id: id! } : null,
    country: countryOf(outlined.address?.country_code),
  }
}

const hasOutline = (place: NominatimPlace): boolean =>
  place.osm_id !== undefined && (place.osm_type === 'relation' || place.osm_type === 'way') && isRegion(place)

const width = ({ boundingbox: [south, north, west, east] }: NominatimPlace): number =>
  Math.max(north - south, east - west)

function holds(outer: NominatimPlace, inner: NominatimPlace): boolean {
  const [south, north, west, east] = outer.boundingbox
  const around = inner.lat >= south && inner.lat <= north && inner.lon >= west && inner.lon <= east
  return around && outer.name.toLowerCase() === inner.name.toLowerCase()
}

export const countryOf = (code: string | undefined): string | null =>
  /^[a-z]{2}$/i.test(code ?? '') ? code!.toUpperCase() : null
