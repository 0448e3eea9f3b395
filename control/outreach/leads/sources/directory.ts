/**
 * The owner's own directories: parses a CSV into rows, which the database layer stores, and searches them by niche and
 * place.
 */
import { setImmediate } from 'node:timers/promises'
import { KnowledgeError } from '../../../knowledge/documents/types.ts'
import { decodeText, isText } from '../../../knowledge/extract/charset.ts'
import { firstRows } from '../../../knowledge/extract/csv.ts'
import { findNiche, nichesIn } from '../vocabulary/niches.ts'
import type { Candidate, LeadSource } from '../vocabulary/types.ts'
import { stemsOf, wordsFinder } from '../vocabulary/words.ts'
import { cleanLine, cleanOrNull, emailsOf, phonesOf, websiteOf } from './clean.ts'
import { type Column, mapColumns } from './columns.ts'

export const MOST_ROWS = 50_000
export const LARGEST_DIRECTORY = 20 * 1024 * 1024
const MOST_COLUMNS = 100
/** Maximum number of unknown columns that are stored as facts. */
const MOST_EXTRA = 20

/** A company of a directory, as the owner wrote it. */
export interface DirectoryEntry {
  company: string
  phones: string[]
  emails: string[]
  website: string | null
  address: string | null
  city: string | null
  category: string | null
  /** WGS 84 degrees. */
  geo: { lat: number; lon: number } | null
  /** Other columns by header. */
  extra: Record<string, string>
}

/** A stored row. */
export interface DirectoryRow extends DirectoryEntry {
  /** Unique among all rows of the owner, and permanent. */
  key: string
}

/** Storage of the rows. */
export interface DirectoryRows {
  /**
   * Returns all rows of the owner's directories in a stable order. Niche and place are only a hint for cheap
   * pre-filtering; the caller checks each row.
   */
  rows(question: { ownerId: string; niche: string; geo: string }): AsyncIterable<DirectoryRow>
}

// ---- Parsing a file ----

export type DirectoryErrorCode = 'empty' | 'too_large' | 'too_many_rows' | 'not_text' | 'no_header' | 'damaged'

/** The whole file is rejected; `message` is one sentence for the owner. */
export class DirectoryError extends Error {
  readonly code: DirectoryErrorCode
  constructor(code: DirectoryErrorCode, message: string) {
    super(message)
    this.name = 'DirectoryError'
    this.code = code
  }
}

/** `no_company`: no company name; `no_contact`: no phone, e-mail or website, so the company cannot be contacted. */
export type BadRowCode = 'no_company' | 'no_contact'

export interface DirectoryReading {
  entries: (DirectoryEntry & { index: number })[]
  /** Index among the non-empty rows below the header, from 0. */
  invalid: { index: number; code: BadRowCode }[]
  /** Meaning of each column of the file; null: stored under its header. */
  columns: { header: string; column: Column | null }[]
}

/** Rejects with `DirectoryError`. Other work can run in between. */
export async function readDirectory(bytes: Uint8Array): Promise<DirectoryReading> {
  if (bytes.length > LARGEST_DIRECTORY) {
    throw new DirectoryError('too_large', `A directory may have at most ${LARGEST_DIRECTORY / 1024 / 1024} MB.`)
  }
  const text = decodeText(bytes)
  if (!isText(text)) throw new DirectoryError('not_text', 'The file is not a text table. Save it as CSV.')
  // The header and one row more than allowed.
  const [first, ...rows] = await firstRows(text, MOST_ROWS + 2).catch(asDirectoryError)
  if (!first) throw new DirectoryError('empty', 'The file has no rows.')
  if (rows.length > MOST_ROWS)
    throw new DirectoryError('too_many_rows', `A directory may have at most ${MOST_ROWS} rows.`)
  const headers = first.slice(0, MOST_COLUMNS).map(header => cleanLine(header, 100))
  const columns = mapColumns(headers)
  if (!columns.includes('company') || !columns.some(column => column && CONTACTS.has(column))) {
    const message = 'The first row must name the columns: the company, and its phone, e-mail or website.'
    throw new DirectoryError('no_header', message)
  }
  const reading = await readRows(rows, headers, columns)
  return { ...reading, columns: headers.map((header, i) => ({ header, column: columns[i]! })) }
}

const CONTACTS: ReadonlySet<Column> = new Set<Column>(['phone', 'email', 'website'])

function asDirectoryError(error: unknown): never {
  throw error instanceof KnowledgeError ? new DirectoryError('damaged', error.message) : error
}

/** Rows that take about 10 ms; then other work may run. */
const AT_A_TIME = 500

async function readRows(
  rows: readonly string[][],
  headers: readonly string[],
  columns: readonly (Column | null)[],
): Promise<Pick<DirectoryReading, 'entries' | 'invalid'>> {
  const reading: Pick<DirectoryReading, 'entries' | 'invalid'> = { entries: [], invalid: [] }
  for (const [index, cells] of rows.entries()) {
    if (index > 0 && index % AT_A_TIME === 0) await setImmediate()
    const entry = readEntry(cells, headers, columns)
    if (typeof entry === 'string') reading.invalid.push({ index, code: entry })
    else reading.entries.push({ index, ...entry })
  }
  return reading
}

function readEntry(
  cells: readonly string[],
  headers: readonly string[],
  columns: readonly (Column | null)[],
): DirectoryEntry | BadRowCode {
  const all = (column: Column) => cells.filter((_, i) => columns[i] === column)
  const one = (column: Column) => cleanOrNull(all(column)[0])
  const company = one('company')
  if (company === null) return 'no_company'
  const phones = phonesOf(all('phone'))
  const emails = emailsOf(all('email'))
  const website = websiteOf(all('website')[0])
  if (phones.length === 0 && emails.length === 0 && website === null) return 'no_contact'
  const geo = geoOf(one('lat'), one('lon'))
  const place = { address: one('address'), city: one('city'), category: one('category'), geo }
  return { company, phones, emails, website, ...place, extra: extraOf(cells, headers, columns) }
}

function extraOf(
  cells: readonly string[],
  headers: readonly string[],
  columns: readonly (Column | null)[],
): Record<string, string> {
  const extra = headers.flatMap((header, i) => {
    const value = columns[i] === null && header !== '' ? cleanLine(cells[i] ?? '') : ''
    return value === '' ? [] : [[header, value] as const]
  })
  return Object.fromEntries(extra.slice(0, MOST_EXTRA))
}

function geoOf(lat: string | null, lon: string | null): DirectoryEntry['geo'] {
  const [north, east] = [lat, lon].map(text => (text === null ? Number.NaN : Number(text.replace(',', '.'))))
  return Math.abs(north!) <= 90 && Math.abs(east!) <= 180 ? { lat: north!, lon: east! } : null
}

// ---- Searching rows ----

export function createDirectorySource({ directories }: { directories: DirectoryRows }): LeadSource {
  return {
    id: 'directory',
    name: 'Own directories',
    attribution: null,
    licence: null,
    async *find({ ownerId, brief }, signal) {
      const fits = matcher(brief)
      for await (const row of directories.rows({ ownerId, niche: brief.niche, geo: brief.geo })) {
        signal.throwIfAborted()
        if (fits(row)) yield candidateOf(row)
      }
    },
  }
}

/**
 * Returns a filter. A row matches the niche by category or name: a known niche under any of its names, or all words of
 * the niche. It matches the place when it contains all its words; a row without a place matches every place.
 */
export function matcher({ niche, geo }: { niche: string; geo: string }): (row: DirectoryEntry) => boolean {
  const kind = findNiche(niche)?.id
  const isNamed = wordsFinder(niche)
  const places = geo
    .split(/[,;]| и | and /i)
    .filter(place => stemsOf(place).length > 0)
    .map(wordsFinder)
  return row => {
    const about = `${row.category ?? ''} ${row.company}`
    const where = `${row.city ?? ''} ${row.address ?? ''}`
    const ofKind = kind !== undefined && nichesIn(about).some(match => match.niche.id === kind)
    if (!ofKind && !isNamed(`${about} ${Object.values(row.extra).join(' ')}`)) return false
    return places.length === 0 || where.trim() === '' || places.some(isThere => isThere(where))
  }
}

function candidateOf(row: DirectoryRow): Candidate {
  const { key, company, phones, emails, website, geo, extra } = row
  const hasCity = row.city !== null && !row.address?.toLowerCase().includes(row.city.toLowerCase())
  const address = [hasCity ? row.city : null, row.address].filter(Boolean).join(', ') || null
  const facts = row.category === null ? extra : { category: row.category, ...extra }
  return { key, company, phones, emails, website, address, geo, country: null, facts }
}
