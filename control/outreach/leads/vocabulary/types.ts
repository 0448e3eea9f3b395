/**
 * Types that the parts of lead search exchange: a brief becomes queries, sources return candidates, and enrichment
 * makes a lead of each or rejects it.
 */
import { z } from 'zod'

const LONGEST_TEXT = 200
const short = z.string().trim().min(1).max(LONGEST_TEXT)

/** The parsed request, which the owner can review and change before paying. */
export const Brief = z.strictObject({
  niche: z.string().trim().max(LONGEST_TEXT).describe('Kind of company, in your own words: `dental clinics`'),
  geo: z.string().trim().max(LONGEST_TEXT).describe('Place: a city, a district or a region'),
  signals: z.array(short).max(20).describe('Desired properties of a lead: `online booking`, `open on Sundays`'),
  exclusions: z.array(short).max(20).describe('Companies to exclude: names, domains or kinds'),
  target_leads: z.int().min(1).max(1000).describe('Number of leads to find'),
  queries: z.array(short).max(20).describe('Queries for text-based sources'),
})
export type Brief = z.output<typeof Brief>

export const briefParts = ['niche', 'geo', 'target_leads'] as const
/** A part that the text does not mention. `target_leads` then has a default. */
export type BriefPart = (typeof briefParts)[number]

export interface ParsedBrief {
  brief: Brief
  missing: BriefPart[]
}

/** A place where companies are found. */
export interface LeadSource {
  /** Stable, part of the API: `openstreetmap`, `directory`, `web`. */
  id: string
  name: string
  /** Attribution that the terms require for each lead; null: none. */
  attribution: string | null
  /** Licence of the data by its usual name or address: `ODbL-1.0`; null: the owner's own data. */
  licence: string | null
  /**
   * Returns candidates, best first, until the area of the brief is exhausted; the caller stops when it has enough.
   * Rejects with `LeadSourceError`. The same question gives the same keys in the same order as far as the source
   * allows: an interrupted search starts again and skips the keys it has.
   */
  find(question: LeadQuestion, signal: AbortSignal): AsyncIterable<Candidate>
}

export interface LeadQuestion {
  ownerId: string
  brief: Brief
  /** Country of the account, ISO 3166-1 alpha-2, for numbers without a country code. */
  region: string | null
}

/** A company as the source describes it, before enrichment. All texts are untrusted. */
export interface Candidate {
  /** Unique and permanent within the source: `node/123`, the number of a row. */
  key: string
  company: string
  /** As written; the first one is the main number. */
  phones: string[]
  emails: string[]
  website: string | null
  address: string | null
  /** WGS 84 degrees. */
  geo: { lat: number; lon: number } | null
  /** Country of the place, ISO 3166-1 alpha-2. */
  country: string | null
  /** Facts that the source states, by name: `opening_hours`, `cuisine`, `wheelchair`. */
  facts: Record<string, string>
}

export type LeadSourceErrorCode = 'unreachable' | 'overloaded' | 'bad_answer' | 'unknown_area' | 'unknown_niche'

export class LeadSourceError extends Error {
  readonly code: LeadSourceErrorCode
  constructor(code: LeadSourceErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** A signal of the brief with its evidence. */
export interface FoundSignal {
  signal: string
  present: boolean
  /** Quote from the page or the source, at most 300 characters; null when the signal is absent. */
  evidence: string | null
  /** Location of the evidence: the address of the page or the id of the source. */
  where: string | null
}

export interface Reason {
  /** Points added to the score; negative when subtracted. */
  points: number
  text: string
}

/** Result of enriching a candidate. */
export interface Enriched {
  company: string
  /** E.164, best first. */
  phones: string[]
  emails: string[]
  website: string | null
  address: string | null
  geo: { lat: number; lon: number } | null
  signals: FoundSignal[]
  score: number
  reasons: Reason[]
  /** Null for a lead; otherwise the reason: `excluded`, `closed`, `no_contact`, `duplicate`, `do_not_call`. */
  rejected: { code: RejectionCode; text: string } | null
  /** Sentence that explains why the site could not be read; null without a problem or without a site. */
  site_problem: string | null
}
export type RejectionCode = 'excluded' | 'closed' | 'no_contact' | 'duplicate' | 'do_not_call'

/** Enriches a candidate with its site, phone numbers and the signals of the brief. Rejects only by `signal`. */
export interface Enricher {
  enrich(candidate: Candidate, question: LeadQuestion, source: LeadSource, signal: AbortSignal): Promise<Enriched>
}

/**
 * Parses a brief. Returns null when it cannot (for example, the model is unreachable); then the next reader is used.
 */
export interface BriefReader {
  read(raw: string, signal: AbortSignal): Promise<ParsedBrief | null>
}

/** Parts that lead search needs; built in infra. */
export interface LeadParts {
  /** Used in order; the last one never returns null. */
  readers: BriefReader[]
  sources: LeadSource[]
  enricher: Enricher
}
