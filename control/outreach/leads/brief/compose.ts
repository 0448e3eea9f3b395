/** Builds a brief from what a reader found: limits its sizes, adds queries and names missing parts. Pure. */
import type { Brief, BriefPart, ParsedBrief } from '../vocabulary/types.ts'
import { queriesFor } from './queries.ts'

const DEFAULT_TARGET = 50
const MOST_TARGET = 1000
const MOST_ITEMS = 20
const LONGEST = 200

export interface ReadParts {
  /** Empty when the text does not say. */
  niche: string
  geo: string
  /** Null when the text does not say. */
  target: number | null
  signals: readonly string[]
  exclusions: readonly string[]
}

export function compose(read: ReadParts): ParsedBrief {
  const niche = cut(read.niche)
  const geo = cut(read.geo)
  const brief: Brief = {
    niche,
    geo,
    signals: listOf(read.signals),
    exclusions: listOf(read.exclusions),
    target_leads: Math.min(Math.max(1, read.target ?? DEFAULT_TARGET), MOST_TARGET),
    queries: queriesFor(niche, geo),
  }
  const missing: BriefPart[] = []
  if (niche === '') missing.push('niche')
  if (geo === '') missing.push('geo')
  if (read.target === null) missing.push('target_leads')
  return { brief, missing }
}

/** Removes duplicates and items without words. */
function listOf(items: readonly string[]): string[] {
  const byWord = new Map(items.map(cut).map(item => [item.toLowerCase(), item]))
  return [...byWord.values()].filter(item => /[\p{L}\p{N}]/u.test(item)).slice(0, MOST_ITEMS)
}

/** Cuts the text, never inside a character. */
const cut = (text: string): string =>
  text
    .trim()
    .slice(0, LONGEST)
    .toWellFormed()
    .replace(/\uFFFD$/, '')
    .trim()
