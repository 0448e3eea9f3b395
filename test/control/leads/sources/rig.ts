/** Sources as infra builds them, against servers on loopback, without their pauses. */
import { onTestFinished } from 'vitest'
import type { DirectoryRow, DirectoryRows } from '../../../../control/outreach/leads/sources/directory.ts'
import type { Brief, Candidate, LeadQuestion, LeadSource } from '../../../../control/outreach/leads/vocabulary/types.ts'
import { createLeadSources, type LeadSourceOptions } from '../../../../infra/wiring/lead-sources.ts'
import type { Clock } from '../../../../media/shared/clock.ts'
import { type OsmOptions, type OsmServer, startOsmServer } from '../../../support/osm-server.ts'
import { type SearxngServer, startSearxngServer, type WebResult } from '../../../support/searxng-server.ts'
import { hurriedClock } from '../../knowledge/crawl/site.ts'

export const never = new AbortController().signal

export const question = (brief: Partial<Brief>): LeadQuestion => ({
  ownerId: 'owner-1',
  region: 'RU',
  brief: { niche: '', geo: '', signals: [], exclusions: [], target_leads: 50, queries: [], ...brief },
})

export async function all(source: LeadSource, brief: Partial<Brief>, signal = never): Promise<Candidate[]> {
  const found: Candidate[] = []
  for await (const candidate of source.find(question(brief), signal)) found.push(candidate)
  return found
}

export const rowsOf = (rows: readonly DirectoryRow[]): DirectoryRows => ({
  async *rows() {
    yield* rows
  },
})

type Built = Partial<Pick<LeadSourceOptions, 'clock' | 'pauseMs' | 'retryMs'>>

export function build(config: LeadSourceOptions['config'], options: Built = {}): LeadSource[] {
  const directories = rowsOf([])
  return createLeadSources({
    config,
    directories,
    clock: hurriedClock(),
    publicUrl: 'https://parley.example',
    ...options,
  })
}

export interface OsmRig {
  server: OsmServer
  source: LeadSource
  clock: Clock & { pauses: number[] }
}

export async function openOsm(options: OsmOptions = {}): Promise<OsmRig> {
  const server = await startOsmServer(options)
  onTestFinished(() => server.close())
  const clock = hurriedClock()
  const config = { OVERPASS_URL: server.overpassUrl, NOMINATIM_URL: server.nominatimUrl, SEARXNG_URL: undefined }
  return { server, clock, source: build(config, { clock }).find(({ id }) => id === 'openstreetmap')! }
}

export async function openSearxng(
  pages: Record<string, WebResult[][]>,
): Promise<{ server: SearxngServer; source: LeadSource }> {
  const server = await startSearxngServer(pages)
  onTestFinished(() => server.close())
  const config = { OVERPASS_URL: undefined, NOMINATIM_URL: undefined, SEARXNG_URL: server.url }
  return { server, source: build(config).find(({ id }) => id === 'web')! }
}
