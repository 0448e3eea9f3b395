/** Scripted parts of the lead search. */
import {
  type Brief,
  type BriefReader,
  type Candidate,
  type Enriched,
  type Enricher,
  type LeadParts,
  type LeadSource,
  LeadSourceError,
  type LeadSourceErrorCode,
} from '../../control/outreach/leads/vocabulary/types.ts'

export const brief = (part: Partial<Brief> = {}): Brief => ({
  niche: 'dental clinics',
  geo: 'Oakland',
  signals: ['online booking'],
  exclusions: [],
  target_leads: 5,
  queries: ['dental clinics Oakland'],
  ...part,
})

/** A distinct `+1 510 …` number for each `n`. */
export const phoneOf = (n: number) => `+1510${2_000_000 + n}`

export const candidate = (n: number, part: Partial<Candidate> = {}): Candidate => ({
  key: `node/${n}`,
  company: `Clinic ${n}`,
  phones: [phoneOf(n)],
  emails: [`mail@clinic-${n}.example`],
  website: `https://clinic-${n}.example/`,
  address: `${n} Broadway, Oakland`,
  geo: { lat: 37.8, lon: -122.27 },
  country: 'US',
  facts: {},
  ...part,
})

export const candidates = (count: number, part: (n: number) => Partial<Candidate> = () => ({})) =>
  Array.from({ length: count }, (_, n) => candidate(n, part(n)))

/** `before` runs before each candidate and may wait or throw. */
export function fakeSource(
  found: readonly Candidate[],
  { id = 'web', before = () => {} }: { id?: string; before?: (n: number, signal: AbortSignal) => unknown } = {},
): LeadSource {
  return {
    id,
    name: `Source ${id}`,
    attribution: `© ${id}`,
    licence: 'ODbL-1.0',
    async *find(_, signal) {
      for (const [n, one] of found.entries()) {
        await before(n, signal)
        yield one
      }
    },
  }
}

export const brokenSource = (id: string, code: LeadSourceErrorCode = 'unreachable'): LeadSource =>
  fakeSource([candidate(0)], {
    id,
    before: () => {
      throw new LeadSourceError(code, `${id} is away.`)
    },
  })

export const enriched = (one: Candidate, part: Partial<Enriched> = {}): Enriched => ({
  company: one.company,
  phones: one.phones,
  emails: one.emails,
  website: one.website,
  address: one.address,
  geo: one.geo,
  signals: [{ signal: 'online booking', present: true, evidence: 'Book online', where: one.website }],
  score: 70,
  reasons: [{ points: 70, text: 'It is there' }],
  rejected: null,
  site_problem: null,
  ...part,
})

export const fakeEnricher = (
  of: (one: Candidate, signal: AbortSignal) => Promise<Partial<Enriched>> | Partial<Enriched> = () => ({}),
): Enricher => ({ enrich: async (one, _question, _source, signal) => enriched(one, await of(one, signal)) })

/** A brief reader that understands nothing. */
const plainReader: BriefReader = {
  read: async raw => ({
    brief: { ...brief({ signals: [], queries: [] }), niche: raw.slice(0, 200), geo: '', target_leads: 50 },
    missing: ['geo', 'target_leads'],
  }),
}

export const fakeLeads = (part: Partial<LeadParts> = {}): LeadParts => ({
  readers: [plainReader],
  sources: [fakeSource(candidates(3))],
  enricher: fakeEnricher(),
  ...part,
})
