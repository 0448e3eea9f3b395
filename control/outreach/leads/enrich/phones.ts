/** Finds a company's phone numbers on its pages: its own numbers, its main number and its faxes. Pure. */
import type { PageRegion, SitePage } from '../../../knowledge/documents/site-page.ts'
import { phoneType } from '../../../platform/phone.ts'
import { type Label, phonesIn } from './phone-text.ts'
import { type Organisation, pathsOf } from './schema-org.ts'

export interface ReadPage {
  url: string
  /** Purpose for which the page was chosen; `start` is the given page. */
  role: 'start' | 'contact' | 'other'
  page: SitePage
}

export interface FoundPhone {
  /** E.164 */
  phone: string
  /** The higher, the more likely the company's main number. */
  rank: number
  /** The page that shows it best. */
  where: string
}

export interface Phones {
  /** Best first. */
  offered: FoundPhone[]
  faxes: string[]
  /** True when a page lists numbers of many companies; none of that list is used. */
  directory: boolean
}

/** A page with more numbers is a directory, not one company's. */
const DIRECTORY = 30
const MOST_OFFERED = 20
/** Lines read on one page; header and footer are read first. */
const MOST_LINES = 3000
const MOST_FOUND = 400
/** Attempts on one page; in a text of digits, numbers could start anywhere. */
const MOST_TRIES = 3000

type Source = 'organisation' | 'link' | 'text' | 'hint' | 'messenger' | 'json'
const OF_SOURCE: Record<Source, number> = { organisation: 6, link: 4, text: 3, hint: 2, messenger: 1, json: 2 }
const OF_PLACE: Record<PageRegion, number> = { top: 2, main: 0, bottom: 1 }
const OF_ROLE: Record<ReadPage['role'], number> = { start: 1, contact: 2, other: 0 }
const OF_LABEL: Record<Label, number> = { main: 3, phone: 1, secondary: -5, fax: 0, foreign: 0, number: 0 }
/** A number that is repeated is the company's; more repetitions than this add nothing. */
const MOST_TIMES = 5

/** Bonus of a landline: a mobile number often belongs to one person. */
const FIXED = 1

interface Sighting {
  phone: string
  source: Source
  place: PageRegion
  label: Label | null
  page: ReadPage
}

/** A number without its area code. */
interface Local {
  digits: string
  label: Label | null
  place: PageRegion
}

/** `organisations`: by page, from `organisationsOf`. `known`: numbers of the source, for the area code. */
export function phonesOf(
  pages: readonly ReadPage[],
  organisations: ReadonlyMap<ReadPage, readonly Organisation[]>,
  region: string | null,
  known: readonly string[] = [],
): Phones {
  const sightings: Sighting[] = []
  let directory = false
  for (const page of pages) {
    const { seen, local } = sightingsOf(page, organisations.get(page) ?? [], region)
    const listed = new Set(
      seen.filter(one => one.place === 'main' && one.source !== 'organisation').map(one => one.phone),
    )
    const isList = listed.size > DIRECTORY
    directory ||= isList
    sightings.push(...(isList ? seen.filter(one => one.place !== 'main' || one.source === 'organisation') : seen))
    if (!isList) for (const one of local) addLocal(one, page, known, sightings)
  }
  return { ...judged(sightings), directory }
}

function sightingsOf(page: ReadPage, organisations: readonly Organisation[], region: string | null) {
  const seen: Sighting[] = []
  const local: Local[] = []
  let asked = 0
  const see = (text: string, source: Source, place: PageRegion, label: Label | null = 'phone') => {
    // Structured data is prefixed with `тел:`, so that any format is accepted.
    if (++asked > MOST_FOUND) return
    const found = phonesIn(`тел: ${text.replace(/^00/, '+')}`, '', region).found[0]
    if (found) seen.push({ phone: found.phone, source, place, label, page })
  }
  for (const { telephones, faxes } of organisations) {
    for (const telephone of telephones) see(telephone, 'organisation', 'main')
    for (const fax of faxes) see(fax, 'organisation', 'main', 'fax')
  }
  const written: Sighting[] = []
  const inText = readLines(page, region, written, local)
  for (const { href, text, place, line } of page.page.links) {
    const number = numberOfLink(href)
    if (!number) continue
    const label = inText.get(line) ?? (/факс|fax/i.test(text) ? 'fax' : 'phone')
    see(number.digits, number.source, place, label === 'number' ? 'phone' : label)
  }
  // Links come before text: of two numbers with equal rank, the first link is the main number.
  seen.push(...written)
  for (const text of page.page.json)
    for (const phone of pathsOf(text, /^(?:tele)?phone|^tel(?:$|_)|phone(?:number)?s?$/i)) see(phone, 'json', 'main')
  return { seen: seen.slice(0, MOST_FOUND * 2), local }
}

/** Reads the numbers in the lines. Returns their labels by line index. */
function readLines(page: ReadPage, region: string | null, seen: Sighting[], local: Local[]): Map<number, Label | null> {
  const { lines } = page.page
  const labels = new Map<number, Label | null>()
  const order = [...lines.keys()].sort(
    (a, b) => Number(lines[a]!.place === 'main') - Number(lines[b]!.place === 'main'),
  )
  let found = 0
  let tries = 0
  for (const index of order.slice(0, MOST_LINES)) {
    const line = lines[index]!
    if (found > MOST_FOUND || tries > MOST_TRIES) break
    if (!/\d/.test(line.text)) continue
    const above = lines[index - 1]
    const said = above && above.text.length < 60 && !/\d[\d\s().-]{5}/.test(above.text) ? above.text : ''
    let readings = phonesIn(line.text, said, region)
    // `Тел.<br>8 (927)<br>200-04-21`
    const next = [lines[index + 1], lines[index + 2]]
    if (readings.found.length === 0 && line.text.length < 24 && isPiece(next[0]))
      readings = phonesIn([line.text, ...next.filter(isPiece).map(piece => piece!.text)].join(' '), said, region)
    tries += readings.tries
    const source = line.as === 'hint' ? 'hint' : 'text'
    for (const { phone, label } of readings.found) {
      found++
      labels.set(index, label)
      seen.push({ phone, source, place: line.place, label, page })
    }
    local.push(...readings.local.map(one => ({ ...one, place: line.place })))
  }
  return labels
}

const isPiece = (line: { text: string } | undefined): boolean =>
  line !== undefined && /^[\d\s()-]{2,12}$/.test(line.text)

function numberOfLink(href: string): { digits: string; source: Source } | null {
  const dialled = /^(?:tel|callto|sms):\/{0,2}(.{1,60})/i.exec(href)?.[1]
  if (dialled) return { digits: decoded(dialled).split(/[;,?]/)[0]!, source: 'link' }
  const digits =
    /^https?:\/\/(?:www\.)?wa\.me\/\+?(\d{8,15})/i.exec(href)?.[1] ??
    /^(?:https?:\/\/(?:api|web)\.whatsapp\.com|whatsapp:)[^?]*\?(?:.*&)?phone=(?:\+|%2B)?(\d{8,15})/i.exec(href)?.[1] ??
    /^https?:\/\/t\.me\/\+(\d{8,15})$/i.exec(href)?.[1] ??
    /^viber:\/\/\w+\/?\?(?:.*&)?number=(?:\+|%2B)?(\d{8,15})/i.exec(href)?.[1]
  return digits ? { digits: `+${digits}`, source: 'messenger' } : null
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A number without an area code gets the area code of the others. */
function addLocal(
  { digits, label, place }: Local,
  page: ReadPage,
  known: readonly string[],
  sightings: Sighting[],
): void {
  const full = [...sightings.map(one => one.phone), ...known].find(phone => phoneType(phone) === 'FIXED_LINE')
  const phone = full ? full.slice(0, -digits.length) + digits : null
  if (phone && phoneType(phone) === 'FIXED_LINE') sightings.push({ phone, source: 'text', place, label, page })
}

function judged(sightings: readonly Sighting[]): Pick<Phones, 'offered' | 'faxes'> {
  const byPhone = Map.groupBy(
    sightings.filter(one => one.label !== 'foreign' && one.label !== 'number'),
    one => one.phone,
  )
  const offered: FoundPhone[] = []
  const faxes: string[] = []
  for (const [phone, seen] of byPhone) {
    const own = seen.filter(one => one.label !== 'fax')
    // A link or a number without a label does not outweigh a label that says fax.
    const named = own.some(one => one.source === 'text' && one.label !== null)
    if (own.length === 0 || (own.length < seen.length && !named)) faxes.push(phone)
    else offered.push(ranked(phone, own))
  }
  offered.sort((a, b) => b.rank - a.rank)
  return { offered: offered.slice(0, MOST_OFFERED), faxes }
}

function ranked(phone: string, seen: readonly Sighting[]): FoundPhone {
  const points = ({ source, place, label, page }: Sighting) =>
    OF_SOURCE[source] + OF_PLACE[place] + OF_ROLE[page.role] + (label ? OF_LABEL[label] : 0)
  const best = seen.reduce((a, b) => (points(b) > points(a) ? b : a))
  const worst = Math.min(0, ...seen.map(one => (one.label ? OF_LABEL[one.label] : 0)))
  const times = Math.min(seen.length, MOST_TIMES) / 2
  const own = phoneType(phone) === 'FIXED_LINE' ? FIXED : 0
  return { phone, rank: points(best) + worst + times + own, where: best.page.url }
}
