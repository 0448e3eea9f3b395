/** Rig for tests of enrichment: sites over real HTTP with the real guard, and a clock that skips pauses. */
import { setImmediate as loopTurn } from 'node:timers/promises'
import type { Extractor } from '../../../../control/knowledge/documents/types.ts'
import { extract } from '../../../../control/knowledge/extract/extract.ts'
import { createEnricher } from '../../../../control/outreach/leads/enrich/enricher.ts'
import type { VisitLimits } from '../../../../control/outreach/leads/enrich/visit.ts'
import type {
  Candidate,
  Enriched,
  LeadQuestion,
  LeadSource,
} from '../../../../control/outreach/leads/vocabulary/types.ts'
import type { Clock } from '../../../../media/shared/clock.ts'
import type { SiteServer } from '../../../support/site-server.ts'

/** The readers of the worker, without its process. */
export const here: Pick<Extractor, 'extract'> = {
  async extract(input) {
    if (!('body' in input)) throw new Error('a visit gives bodies')
    await loopTurn()
    return extract(Buffer.from(input.body), input)
  },
}

/** Pauses between requests are none; a visit's end is where it is. */
const LONGEST_PAUSE = 11_000
export function briskClock(): Clock {
  return {
    now: () => performance.now(),
    wall: () => Date.UTC(2025, 5, 15),
    after(ms, run) {
      const timer = setTimeout(run, ms <= LONGEST_PAUSE ? 0 : ms)
      return () => clearTimeout(timer)
    },
  }
}

export const candidate = (changes: Partial<Candidate> = {}): Candidate => ({
  key: 'node/1',
  company: 'Ромашка',
  phones: [],
  emails: [],
  website: null,
  address: null,
  geo: null,
  country: 'RU',
  facts: {},
  ...changes,
})

export const question = (signals: string[] = [], exclusions: string[] = []): LeadQuestion => ({
  ownerId: 'owner',
  region: null,
  brief: { niche: 'any', geo: 'anywhere', signals, exclusions, target_leads: 10, queries: [] },
})

export const source: LeadSource = {
  id: 'openstreetmap',
  name: 'OpenStreetMap',
  attribution: null,
  licence: null,
  async *find() {},
}

export function enrichOn(
  server: Pick<SiteServer, 'fetch'>,
  of: Partial<Candidate>,
  asked: LeadQuestion = question(),
  options: { limits?: Partial<VisitLimits>; signal?: AbortSignal } = {},
): Promise<Enriched> {
  const { limits = {}, signal = new AbortController().signal } = options
  const enricher = createEnricher({ fetch: server.fetch, clock: briskClock(), extractor: here, limits })
  return enricher.enrich(candidate(of), asked, source, signal)
}
