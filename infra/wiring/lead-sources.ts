/** Lead sources: the configured services and the owner's own directories. */
import { createDirectorySource, type DirectoryRows } from '../../control/outreach/leads/sources/directory.ts'
import { createGeocoder } from '../../control/outreach/leads/sources/nominatim.ts'
import { createOverpassSource } from '../../control/outreach/leads/sources/overpass.ts'
import { createSearxngSource } from '../../control/outreach/leads/sources/searxng.ts'
import type { LeadSource } from '../../control/outreach/leads/vocabulary/types.ts'
import type { Clock } from '../../media/shared/clock.ts'
import { createSafeFetch, type Guarded } from '../adapters/safe-fetch.ts'
import type { Config } from '../config/config.ts'

export interface LeadSourceOptions {
  config: Pick<Config, 'OVERPASS_URL' | 'NOMINATIM_URL' | 'SEARXNG_URL'>
  directories: DirectoryRows
  clock: Clock
  /** Sent in the User-Agent, because public servers want to know their clients. */
  publicUrl: string
  /** Milliseconds between two requests to a server; each source has its own default. */
  pauseMs?: number
  retryMs?: readonly number[]
  guarded?: Guarded | undefined
}

export function createLeadSources(options: LeadSourceOptions): LeadSource[] {
  const { config, directories, clock, publicUrl, guarded, ...more } = options
  const userAgent = `Parley/1.0 (lead search; +${publicUrl})`
  const service = (url: string) => ({
    ...more,
    url,
    clock,
    userAgent,
    fetch: createSafeFetch({ ...guarded, allow: [hostAndPort(url)] }),
  })
  const { OVERPASS_URL, NOMINATIM_URL, SEARXNG_URL } = config
  const sources: LeadSource[] = [createDirectorySource({ directories })]
  if (OVERPASS_URL && NOMINATIM_URL) {
    sources.push(createOverpassSource({ ...service(OVERPASS_URL), geocoder: createGeocoder(service(NOMINATIM_URL)) }))
  }
  if (SEARXNG_URL) sources.push(createSearxngSource(service(SEARXNG_URL)))
  return sources
}

/** The operator's own server may have any address; the allowance covers only that server. */
function hostAndPort(text: string): string {
  const { hostname, port, protocol } = new URL(text)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}
