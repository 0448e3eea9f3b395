/**
 * OpenStreetMap on loopback: an Overpass interpreter and a Nominatim search over the places of the corpus, over real
 * HTTP, with the faults of public servers. The interpreter supports the subset of QL that we use, and rejects the rest
 * as Overpass does.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CITIES, type Place, places } from '../corpus/leads/places.ts'
import { parseOverpass, type Selected } from './overpass-ql.ts'

export type OsmFault =
  /** Too many requests. */
  | '429'
  | '504'
  /** Status 200 with partial results and a remark about a timeout or memory limit. */
  | 'timed_out'
  | 'runtime_error'
  /** No answer until the client disconnects. */
  | 'silent'
  | 'html'
  | 'not_json'
  | 'other_json'
  /** Megabytes of elements. */
  | 'huge'
  /** An endless body. */
  | 'endless'
  | 'reset'

export interface OsmRequest {
  service: 'overpass' | 'nominatim'
  /** The QL script or the search text. */
  query: string
  headers: IncomingMessage['headers']
  atMs: number
}

export interface OsmServer {
  /** URL of the interpreter. */
  overpassUrl: string
  /** URL without `/search`. */
  nominatimUrl: string
  requests: OsmRequest[]
  /** Fails the next `times` requests (1 by default) of a service (the interpreter by default). */
  fail(fault: OsmFault, options?: { on?: OsmRequest['service']; times?: number; retryAfter?: string }): void
  close(): Promise<void>
}

export interface OsmOptions {
  /** Websites by key of the place; other places keep the corpus's addresses, which do not resolve. */
  sites?: Record<string, string>
  /** Replaces the corpus. */
  places?: readonly Place[]
  /** The interpreter has no areas. */
  withoutAreas?: boolean
}

export async function startOsmServer(options: OsmOptions = {}): Promise<OsmServer> {
  const known = (options.places ?? places).map(place => withSite(place, options.sites?.[place.key]))
  const requests: OsmRequest[] = []
  const faults: { fault: OsmFault; on: OsmRequest['service']; retryAfter: string | undefined }[] = []
  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    const url = new URL(request.url!, 'http://localhost')
    const service = url.pathname === '/api/interpreter' ? 'overpass' : 'nominatim'
    const query =
      service === 'overpass' ? ((await formOf(request)).get('data') ?? '') : (url.searchParams.get('q') ?? '')
    requests.push({ service, query, headers: request.headers, atMs: performance.now() })
    const next = faults.findIndex(({ on }) => on === service)
    if (next >= 0) return answerBadly(faults.splice(next, 1)[0]!, response)
    if (service === 'overpass') return answerOverpass(query, known, response, !options.withoutAreas)
    if (url.pathname === '/search' && url.searchParams.get('format') === 'jsonv2')
      return sendJson(response, gazetteer(query))
    response.writeHead(404).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    overpassUrl: `${origin}/api/interpreter`,
    nominatimUrl: origin,
    requests,
    fail: (fault, { on = 'overpass', times = 1, retryAfter } = {}) =>
      void faults.push(...Array.from({ length: times }, () => ({ fault, on, retryAfter }))),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const withSite = (place: Place, site: string | undefined): Place => {
  if (site === undefined) return place
  const { 'contact:website': _, ...tags } = place.tags
  return { ...place, tags: { ...tags, website: site } }
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  let body = ''
  for await (const part of request) body += part
  return new URLSearchParams(body)
}

const sendJson = (response: ServerResponse, value: unknown) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))

// Overpass.

const HEAD = { version: 0.6, generator: 'Overpass API (test)', osm3s: { copyright: 'The data is invented.' } }
const TYPES = ['node', 'way', 'relation']

function answerOverpass(query: string, known: readonly Place[], response: ServerResponse, hasAreas: boolean): void {
  const parsed = parseOverpass(query)
  if ('error' in parsed) {
    const error = `<p><strong style="color:#FF0000">Error</strong>: line ${parsed.line}: parse error: ${parsed.error} </p>`
    response.writeHead(400, { 'content-type': 'text/html' }).end(`<html><body>${error}</body></html>`)
    return
  }
  const outlined = (id: number) => hasAreas && outlineOf(id) !== undefined
  const areas = parsed.told.filter(outlined).map(id => ({ type: 'area', id }))
  const found = known.filter(place =>
    parsed.selections.some(one => (one.area === null || outlined(one.area)) && isSelected(place, one)),
  )
  found.sort((a, b) => TYPES.indexOf(a.type) - TYPES.indexOf(b.type) || a.id - b.id)
  sendJson(response, { ...HEAD, elements: [...areas, ...found.slice(0, parsed.most).map(elementOf)] })
}

/**
 * Half of a building's width, in degrees: an element that is not a point lies in two boxes when it is on their border.
 */
const REACH = 0.002

function isSelected({ type, tags, lat, lon }: Place, { filters, area, box }: Selected): boolean {
  const fits = filters.every(({ key, value, regex }) => {
    const there = tags[key]
    return there !== undefined && (value === null || there === value) && (regex === null || regex.test(there))
  })
  const [south, west, north, east] = box ?? [-90, -180, 90, 180]
  const reach = type === 'node' ? 0 : REACH
  const within = lat + reach >= south && lat - reach <= north && lon + reach >= west && lon - reach <= east
  return fits && within && (area === null || isInArea(area, lat, lon))
}

const outlineOf = (area: number) =>
  GAZETTEER.find(one => one.osm_type === 'relation' && one.osm_id + 3_600_000_000 === area)

function isInArea(area: number, lat: number, lon: number): boolean {
  const region = outlineOf(area)
  if (!region) return false
  const [south, north, west, east] = region.boundingbox.map(Number) as [number, number, number, number]
  return lat >= south && lat <= north && lon >= west && lon <= east
}

function elementOf({ type, id, lat, lon, tags }: Place): object {
  return type === 'node' ? { type, id, lat, lon, tags } : { type, id, center: { lat, lon }, tags }
}

// Nominatim.

const entry = (
  names: string[],
  [category, type]: [string, string],
  [osm_type, osm_id]: [string, number],
  [south, north, west, east]: [number, number, number, number],
  country_code: string,
) => ({
  names,
  place_id: osm_id,
  osm_type,
  osm_id,
  lat: String((south + north) / 2),
  lon: String((west + east) / 2),
  category,
  type,
  name: names[0]!,
  display_name: `${names[0]}, ${country_code.toUpperCase()}`,
  address: { country_code },
  boundingbox: [south, north, west, east].map(String),
})
const cityBox = ({
  south,
  west,
  height,
  breadth,
}: (typeof CITIES)[keyof typeof CITIES]): [number, number, number, number] => [
  south,
  south + height,
  west,
  west + breadth,
]

/** In the order of results: a hotel may come before the city it is named after. */
const GAZETTEER = [
  entry(['Казань'], ['tourism', 'hotel'], ['node', 501], [55.79, 55.7901, 49.1, 49.1001], 'ru'),
  entry(
    ['Казань', 'Kazan'],
    ['boundary', 'administrative'],
    ['relation', CITIES.kazan.relation],
    cityBox(CITIES.kazan),
    'ru',
  ),
  entry(['Aberdeen', 'Абердин'], ['place', 'city'], ['node', 502], [57.13, 57.17, -2.16, -2.1], 'gb'),
  entry(
    ['Aberdeen', 'Абердин'],
    ['boundary', 'administrative'],
    ['relation', CITIES.aberdeen.relation],
    cityBox(CITIES.aberdeen),
    'gb',
  ),
  entry(
    ['Татарстан', 'Республика Татарстан', 'Tatarstan'],
    ['boundary', 'administrative'],
    ['relation', 9_001_333],
    [53.9, 56.7, 47.2, 54.3],
    'ru',
  ),
  entry(['Заречье'], ['place', 'village'], ['node', 503], [55.75, 55.79, 49.0, 49.04], 'ru'),
  entry(['Кольцевая улица'], ['highway', 'residential'], ['way', 504], [55.72, 55.76, 48.98, 49.05], 'ru'),
  entry(['Одинокий киоск'], ['shop', 'kiosk'], ['node', 505], [55.75, 55.7501, 49.0, 49.0001], 'ru'),
]

function gazetteer(query: string): object[] {
  const wanted = query.trim().toLowerCase()
  const found = GAZETTEER.filter(({ names }) => names.some(name => name.toLowerCase() === wanted))
  return found.map(({ names: _, ...rest }) => rest)
}

// Faults.

function answerBadly(
  { fault, retryAfter }: { fault: OsmFault; retryAfter: string | undefined },
  response: ServerResponse,
): void {
  const json = { 'content-type': 'application/json' }
  const remark = (text: string) => sendJson(response, { ...HEAD, elements: [], remark: text })
  switch (fault) {
    case '429':
    case '504':
      response.writeHead(Number(fault), retryAfter === undefined ? {} : { 'retry-after': retryAfter })
      return void response.end(
        '<html><body><p>The server is probably too busy to handle your request.</p></body></html>',
      )
    case 'timed_out':
      return void remark('runtime error: Query timed out in "query" at line 4 after 61 seconds.')
    case 'runtime_error':
      return void remark('runtime error: open64: 2 No such file or directory')
    case 'silent':
      return
    case 'html':
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Maintenance</body></html>')
    case 'not_json':
      return void response.writeHead(200, json).end('{"elements": [{"type": "node", ')
    case 'other_json':
      return void response.writeHead(200, json).end('{"elements": "none", "results": 5}')
    case 'huge':
      return void stream(response, 40 * 1024 * 1024)
    case 'endless':
      return void stream(response, Number.POSITIVE_INFINITY)
    case 'reset':
      return void response.socket?.destroy()
  }
}

/** Endless elements, as fast as the client reads. */
function stream(response: ServerResponse, bytes: number): void {
  const element = `${JSON.stringify({ type: 'node', id: 1, lat: 1, lon: 1, tags: { name: 'x'.repeat(8000) } })},`
  let left = bytes
  response.writeHead(200, { 'content-type': 'application/json' }).write('{"elements":[')
  const write = () => {
    while (left > 0 && !response.destroyed) {
      left -= element.length
      if (!response.write(element)) return void response.once('drain', write)
    }
    response.end('{}]}')
  }
  write()
}
