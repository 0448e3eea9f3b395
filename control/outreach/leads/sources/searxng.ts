/** Finds companies on the web with the operator's own metasearch server (docs.searxng.org/dev/search_api.html). */
import { z } from 'zod'
import { registrableDomain } from '../vocabulary/domain.ts'
import { type Brief, type Candidate, type LeadSource, LeadSourceError } from '../vocabulary/types.ts'
import { Service, type ServicePorts } from './ask.ts'
import { cleanLine } from './clean.ts'
import { companyOf } from './company-name.ts'
import { isList, isNoCompany } from './not-companies.ts'

export interface SearxngOptions extends ServicePorts {
  /** `https://host`, without `/search`; the server must have the JSON format enabled. */
  url: string
  /** Pages of results for each query; 3 by default. */
  pages?: number
  pauseMs?: number
  retryMs?: readonly number[]
}

const PAGES = 3
/** Milliseconds: the engines behind the server block clients that are too fast. */
const PAUSE_MS = 2000
const TIMEOUT_MS = 20_000
const ANSWER_BYTES = 2 * 1024 * 1024
/** Maximum on one page; all engines together return about fifty. */
const MOST_RESULTS = 200

const Result = z.object({ url: z.string().max(4000), title: z.string().default(''), content: z.string().nullish() })
const Answer = z.object({ results: z.array(z.unknown()), unresponsive_engines: z.array(z.unknown()).default([]) })
type Answer = z.output<typeof Answer>

export function createSearxngSource(options: SearxngOptions): LeadSource {
  const { url, pages = PAGES, pauseMs = PAUSE_MS, ...ports } = options
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: ANSWER_BYTES }
  const service = new Service({ ...ports, ...limits, name: 'The web search', pauseMs })
  const base = url.replace(/\/+$/, '')

  function ask(query: string, page: number, signal: AbortSignal): Promise<Answer> {
    const parameters = new URLSearchParams({ q: query, format: 'json', pageno: String(page) })
    return service.ask({ url: `${base}/search?${parameters}`, method: 'GET', body: null }, Answer, signal)
  }

  return {
    id: 'web',
    name: 'Web search',
    attribution: null,
    licence: null,
    async *find({ brief }, signal) {
      const seen = new Set<string>()
      let open = queriesOf(brief)
      let results = 0
      let silent = false
      // First pages of all queries before second pages: top results come first.
      for (let page = 1; page <= pages && open.length > 0; page++) {
        const more: string[] = []
        for (const query of open) {
          const answer = await ask(query, page, signal)
          silent ||= answer.unresponsive_engines.length > 0
          results += answer.results.length
          if (answer.results.length > 0) more.push(query)
          yield* newCompanies(answer.results, brief, seen)
        }
        open = more
      }
      if (results === 0 && silent) {
        throw new LeadSourceError('overloaded', 'None of the search engines behind the web search responded.')
      }
    },
  }
}

const queriesOf = ({ queries, niche, geo }: Brief): string[] => {
  const asked = queries.length > 0 ? queries : [`${niche} ${geo}`]
  return [...new Set(asked.map(query => cleanLine(query)))].filter(query => query !== '')
}

function newCompanies(results: readonly unknown[], brief: Brief, seen: Set<string>): Candidate[] {
  const found: Candidate[] = []
  for (const result of results.slice(0, MOST_RESULTS)) {
    const candidate = companyOfResult(result, brief)
    if (!candidate || seen.has(candidate.key)) continue
    seen.add(candidate.key)
    found.push(candidate)
  }
  return found
}

/** Null when the result is not a company's own site. */
function companyOfResult(result: unknown, { niche, geo }: Brief): Candidate | null {
  const { data } = Result.safeParse(result)
  if (!data || !URL.canParse(data.url)) return null
  const { protocol, hostname: host, port, origin, username } = new URL(data.url)
  const title = cleanLine(data.title, 500)
  const isSite = (protocol === 'https:' || protocol === 'http:') && host.includes('.') && username === ''
  if (!isSite || isNoCompany(host) || isList(title)) return null
  const snippet = cleanLine(data.content ?? '')
  return {
    key: registrableDomain(host) + (port && `:${port}`),
    company: companyOf({ title, host, niche, geo }),
    phones: [],
    emails: [],
    website: `${origin}/`,
    address: null,
    geo: null,
    country: null,
    facts: snippet === '' ? {} : { snippet },
  }
}
