/**
 * What the parts of the lead search say to each other: a brief becomes queries, sources answer them with candidates,
 * enrichment makes a lead of each or says why not.
 */
import { z } from 'zod'

const LONGEST_TEXT = 200
const short = z.string().trim().min(1).max(LONGEST_TEXT)

/** What the owner looks for, as they may see and change it before they pay. */
export const Brief = z.strictObject({
  niche: z.string().trim().max(LONGEST_TEXT).describe('What kind of company, in the owner’s words: `dental clinics`'),
  geo: z.string().trim().max(LONGEST_TEXT).describe('Where: a city, a district, a region'),
  signals: z.array(short).max(20).describe('What would make a lead better: `online booking`, `open on Sundays`'),
  exclusions: z.array(short).max(20).describe('What is not wanted: names, domains, kinds'),
  target_leads: z.int().min(1).max(1000).describe('How many leads are wanted'),
  queries: z.array(short).max(20).describe('What sources that take words are asked for'),
})
export type Brief = z.output<typeof Brief>

export const briefParts = ['niche', 'geo', 'target_leads'] as const
/** A part that the text did not say, so that somebody must. `target_leads` has a default then. */
export type BriefPart = (typeof briefParts)[number]

export interface ParsedBrief {
  brief: Brief
  missing: BriefPart[]
}

/** One place where companies are found. */
export interface LeadSource {
  /** Stable, in the API: `openstreetmap`, `directory`, `web`. */
  id: string
  name: string
  /** What its terms ask to be shown with each lead; null: nothing. */
  attribution: string | null
  /** Of the data, by its usual name or address: `ODbL-1.0`; null: the owner's own. */
  licence: string | null
  /**
   * Candidates, best first, until the brief's area is exhausted; the caller stops when it has enough. Rejects with
   * `LeadSourceError`. The same question gives the same keys in the same order as far as the source allows: a search
   * that was broken off is asked again from the start and skips the keys it knows.
   */
  find(question: LeadQuestion, signal: AbortSignal): AsyncIterable<Candidate>
}

export interface LeadQuestion {
  ownerId: string
  brief: Brief
  /** ISO 3166-1 alpha-2 of the account: what numbers without a country code belong to. */
  region: string | null
}

/** A company as a source tells of it, before anybody has looked closer. All texts are untrusted. */
export interface Candidate {
  /** Unique and lasting within the source: `node/123`, a row's number. */
  key: string
  company: string
  /** As written; of several, the first is the main one. */
  phones: string[]
  emails: string[]
  website: string | null
  address: string | null
  /** WGS 84 degrees. */
  geo: { lat: number; lon: number } | null
  /** ISO 3166-1 alpha-2, of the place. */
  country: string | null
  /** Facts the source has in so many words, by name: `opening_hours`, `cuisine`, `wheelchair`. */
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

/** A signal of the brief, and what shows it. */
export interface FoundSignal {
  signal: string
  present: boolean
  /** In the words of the page or the source, at most 300 characters; null when it is not present. */
  evidence: string | null
  /** Where it stands: the page's address, or the source's id. */
  where: string | null
}

export interface Reason {
  /** What it added to the score, or took. */
  points: number
  text: string
}

/** What became of a candidate. */
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
  /** Null: a lead. Otherwise why it is not: `excluded`, `closed`, `no_contact`, `duplicate`, `do_not_call`. */
  rejected: { code: RejectionCode; text: string } | null
  /** Why the site could not be read, when there is one. */
  site_problem: string | null
}
export type RejectionCode = 'excluded' | 'closed' | 'no_contact' | 'duplicate' | 'do_not_call'

/** Looks closer at a candidate: its site, its phones, the brief's signals. Never rejects but by `signal`. */
export interface Enricher {
  enrich(candidate: Candidate, question: LeadQuestion, source: LeadSource, signal: AbortSignal): Promise<Enriched>
}

/** Understands a brief; null where it has nothing to say (a model that is away), and the next is asked. */
export interface BriefReader {
  read(raw: string, signal: AbortSignal): Promise<ParsedBrief | null>
}

/** What lead search needs besides; built in infra. */
export interface LeadParts {
  /** Asked in order; the last one always answers. */
  readers: BriefReader[]
  sources: LeadSource[]
  enricher: Enricher
}
