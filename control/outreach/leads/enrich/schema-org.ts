/** Reads schema.org data about a company from JSON-LD or microdata, including malformed data. Pure. */
import type { SitePage } from '../../../knowledge/documents/site-page.ts'

export interface Organisation {
  types: string[]
  name: string | null
  telephones: string[]
  faxes: string[]
  emails: string[]
  address: string | null
  /** In the form `Mo-Fr 09:00-18:00`. */
  hours: string[]
  geo: { lat: number; lon: number } | null
  sameAs: string[]
  /** Any other text by its name: `paymentAccepted`, `ratingValue`. */
  facts: Record<string, string>
}

const MOST_NODES = 2000
const MOST_ORGANISATIONS = 50
const LONGEST_TEXT = 500

type Node = Record<string, unknown>

/** Returns companies and their parts, without pages, people, products and reviews. */
export function organisationsOf({ data }: Pick<SitePage, 'data'>): Organisation[] {
  const found = data.flatMap(text => {
    const parsed = parseLoose(text)
    return parsed === undefined ? salvage(text) : nodesOf(parsed).filter(isOrganisation).map(organisation)
  })
  return found.slice(0, MOST_ORGANISATIONS)
}

/** Parses the text as written, and then without common mistakes; undefined when both fail. */
function parseLoose(text: string): unknown {
  const bare = text
    .replace(/^\s*(?:<!--|\/\/\s*<!\[CDATA\[|<!\[CDATA\[)/, '')
    .replace(/(?:\/\/\s*)?(?:-->|\]\]>)\s*$/, '')
  const repaired = bare
    .replace(/[\p{Cc}]+/gu, ' ')
    .replace(/,\s*(?=[}\]])/g, '')
    .replace(/;\s*$/, '')
  for (const attempt of [text, bare, repaired]) {
    try {
      return JSON.parse(attempt)
    } catch {
      // try the next
    }
  }
  return undefined
}

/** Extracts a few values from JSON that cannot be parsed. Repetitions of spaces are bounded to avoid backtracking. */
function salvage(text: string): Organisation[] {
  if (!/"@type"\s*:/.test(text)) return []
  const all = (name: string) =>
    [...text.matchAll(new RegExp(`"${name}"\\s{0,40}:\\s{0,40}\\[?\\s{0,40}"([^"\\n]{1,200})"`, 'g'))]
      .slice(0, 20)
      .map(one => one[1]!)
  const parsed = {
    '@type': all('@type'),
    name: all('name')[0],
    telephone: all('telephone'),
    faxNumber: all('faxNumber'),
    email: all('email'),
    openingHours: all('openingHours'),
    sameAs: all('sameAs'),
  }
  return parsed.telephone.length + parsed.email.length > 0 ? [organisation(parsed)] : []
}

/** Returns all objects in order, without recursion. */
function nodesOf(root: unknown): Node[] {
  const found: Node[] = []
  const left: unknown[] = [root]
  for (let seen = 0; left.length > 0 && seen < MOST_NODES; seen++) {
    const value = left.shift()
    if (Array.isArray(value)) left.unshift(...value.slice(0, MOST_NODES))
    else if (isNode(value)) {
      found.push(value)
      left.push(...Object.values(value).filter(inner => typeof inner === 'object' && inner !== null))
    }
  }
  return found
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

const NOT_COMPANY =
  /^(?:Person|Product|Offer|Review|WebSite|WebPage|Article|BlogPosting|Event|JobPosting|BreadcrumbList)$/
const CONTACTS = ['telephone', 'faxNumber', 'email', 'openingHours', 'openingHoursSpecification', 'address', 'geo']

const isOrganisation = (node: Node): boolean =>
  CONTACTS.some(name => name in node) && !typesOf(node).some(type => NOT_COMPANY.test(type))

const typesOf = (node: Node): string[] => textsOf(node['@type']).map(type => type.replace(/^.*[/#:]/, ''))

function organisation(node: Node): Organisation {
  return {
    types: typesOf(node),
    name: textsOf(node['name'])[0] ?? null,
    telephones: textsOf(node['telephone']).map(text => text.replace(/^tel:/i, '')),
    faxes: textsOf(node['faxNumber']),
    emails: textsOf(node['email']).map(text => text.replace(/^mailto:/i, '')),
    address: addressOf(node['address']),
    hours: [...textsOf(node['openingHours']), ...specifiedHours(node['openingHoursSpecification'])],
    geo: geoOf(node['geo']),
    sameAs: textsOf(node['sameAs']),
    facts: factsOf(node),
  }
}

/** Returns one or several values as strings; skips all others. */
function textsOf(value: unknown): string[] {
  const values = Array.isArray(value) ? value.slice(0, 50) : [value]
  return values.flatMap(one => {
    const text = typeof one === 'number' ? String(one) : one
    return typeof text === 'string' && text.trim() ? [text.trim().slice(0, LONGEST_TEXT)] : []
  })
}

function addressOf(value: unknown): string | null {
  const one = Array.isArray(value) ? value[0] : value
  if (!isNode(one)) return textsOf(one)[0] ?? null
  const parts = ['streetAddress', 'addressLocality', 'addressRegion', 'postalCode', 'addressCountry'].flatMap(
    name => textsOf(isNode(one[name]) ? one[name]['name'] : one[name])[0] ?? [],
  )
  return parts.length > 0 ? parts.join(', ') : null
}

function geoOf(value: unknown): Organisation['geo'] {
  const one = Array.isArray(value) ? value[0] : value
  if (!isNode(one)) return null
  const [lat, lon] = [Number(textsOf(one['latitude'])[0]), Number(textsOf(one['longitude'])[0])]
  return Math.abs(lat) <= 90 && Math.abs(lon) <= 180 ? { lat, lon } : null
}

/** Converts to the form of `openingHours`. */
function specifiedHours(value: unknown): string[] {
  const all = (Array.isArray(value) ? value.slice(0, 50) : [value]).filter(isNode)
  return all.flatMap(one => {
    const days = textsOf(one['dayOfWeek']).map(day => day.replace(/^.*[/#:]/, '').slice(0, 2))
    const [opens, closes] = [textsOf(one['opens'])[0], textsOf(one['closes'])[0]]
    if (days.length === 0 || !opens || !closes) return []
    const range = opens === closes ? '00:00-24:00' : `${opens.slice(0, 5)}-${closes.slice(0, 5)}`
    return [`${days.join(',')} ${range}`]
  })
}

function factsOf(node: Node): Record<string, string> {
  const facts: Record<string, string> = {}
  const inner = Object.values(node).filter(isNode)
  for (const [name, value] of [node, ...inner].flatMap(one => Object.entries(one)).slice(0, 200)) {
    const text = textsOf(value).join(', ')
    if (text && !name.startsWith('@')) facts[name] ??= text
  }
  return facts
}

/** Returns texts with a given name in the JSON of a page's scripts. */
export function pathsOf(text: string, name: RegExp): string[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return []
  }
  return nodesOf(parsed)
    .flatMap(node => Object.entries(node).flatMap(([key, value]) => (name.test(key) ? textsOf(value) : [])))
    .slice(0, 50)
}
