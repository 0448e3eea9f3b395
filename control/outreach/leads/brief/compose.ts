/** A brief from what was read, whoever read it: within its bounds, with its queries, and with what is missing named. Pure. */
import type { Brief, BriefPart, ParsedBrief } from '../vocabulary/types.ts'
import { queriesFor } from './queries.ts'

const DEFAULT_TARGET = 50
const MOST_TARGET = 1000
const MOST_ITEMS = 20
const LONGEST = 200

export interface ReadParts {
  /** Empty: the text does not say. */
  niche: string
  geo: string
  /** Null: the text does not say. */
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

/** Each once, and only what has words. */
function listOf(items: readonly string[]): string[] {
  const byWord = new Map(items.map(cut).map(item => [item.toLowerCase(), item]))
  return [...byWord.values()].filter(item => /[\p{L}\p{N}]/u.test(item)).slice(0, MOST_ITEMS)
}

/** No half of a character at its end. */
const cut = (text: string): string =>
  text
    .trim()
    .slice(0, LONGEST)
    .toWellFormed()
    .replace(/\uFFFD$/, '')
    .trim()
