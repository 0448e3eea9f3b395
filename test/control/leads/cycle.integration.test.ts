/**
 * The whole cycle by REST and by MCP, with everything real but the internet: the offline parser of briefs, sources and
 * enricher as infra builds them, extractor processes, jobs and webhooks; a map, a geocoder, a web search and sites on
 * loopback.
 */
import type { ServerResponse } from 'node:http'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Control, startControl } from '../../../control/app.ts'
import type { Extractor } from '../../../control/knowledge/documents/types.ts'
import { plainReader } from '../../../control/outreach/leads/brief/parse.ts'
import { createDirectoryRows } from '../../../control/outreach/leads/directories-sql.ts'
import { createEnricher } from '../../../control/outreach/leads/enrich/enricher.ts'
import { VISIT_LIMITS } from '../../../control/outreach/leads/enrich/visit.ts'
import { installQueues } from '../../../control/platform/jobs/jobs.ts'
import { createExtractor } from '../../../infra/adapters/extractor.ts'
import { createLeadSources } from '../../../infra/wiring/lead-sources.ts'
import { type Place, places } from '../../corpus/leads/places.ts'
import { type CorpusSite, readSites, SPLITS } from '../../corpus/leads/sites/corpus.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../../support/control.ts'
import { type OsmServer, startOsmServer } from '../../support/osm-server.ts'
import { createReceiver, type Receiver } from '../../support/receiver.ts'
import { type SearxngServer, startSearxngServer } from '../../support/searxng-server.ts'
import { type SiteServer, startSiteServer } from '../../support/site-server.ts'
import { until } from '../../support/world.ts'
import { hurriedClock } from '../knowledge/crawl/site.ts'
import { briskClock } from './enrich/rig.ts'
import { answersOf, precision, recall, sum, type Tally, tally, told } from './enrich/tally.ts'

const corpus = SPLITS.flatMap(readSites)
const of = (...countries: string[]) => corpus.filter(({ country }) => countries.includes(country))

/** A company of the map whose website is one of the corpus; only the website shows its signals. */
interface Known {
  place: Place
  site: CorpusSite | null
}
const withoutHours = ({ opening_hours: _, wheelchair: __, brand: ___, operator: ____, ...tags }: Place['tags']) => tags

/** Companies of a city, all of one kind, the first of them with a site. */
function companies(city: Place['city'], sites: readonly CorpusSite[]): Known[] {
  const open = places.filter(place => place.city === city && !place.gone && place.tags['name'])
  return open.slice(0, sites.length + 6).map((place, i) => ({
    place: { ...place, tags: { ...withoutHours(place.tags), amenity: 'dentist' } },
    site: sites[i] ?? null,
  }))
}
const russian = companies('kazan', of('RU'))
const british = companies('aberdeen', of('GB'))
const american = of('US')

let control: TestControl
let running: Control
let address: string
let sites: SiteServer
let osm: OsmServer
let web: SearxngServer
let receiver: Receiver
let extractor: Extractor

beforeAll(async () => {
  sites = await startSiteServer()
  for (const site of corpus) sites.add(site.host, answersOf(site))
  const known = [...russian, ...british]
  osm = await startOsmServer({
    places: known.map(one => one.place),
    sites: Object.fromEntries(known.flatMap(({ place, site }) => (site ? [[place.key, sites.url(site.host)]] : []))),
  })
  web = await startSearxngServer({ '*': [american.map(({ host, name }) => ({ url: sites.url(host), title: name }))] })
  receiver = await createReceiver()
  extractor = createExtractor()
  control = await createControl({ config: { trial_balance: '0', lead_price: '10.0000' } })
  const { deps } = control
  const config = { OVERPASS_URL: osm.overpassUrl, NOMINATIM_URL: osm.nominatimUrl, SEARXNG_URL: web.url }
  const directories = createDirectoryRows(deps.sql)
  deps.leads = {
    readers: [plainReader],
    sources: createLeadSources({ config, directories, clock: hurriedClock(), publicUrl: 'https://parley.example' }),
    // A loaded machine must not leave a site half read: its time has tests of its own.
    enricher: createEnricher({ fetch: sites.fetch, clock: briskClock(), extractor }),
  }
  await installQueues(deps.boss)
  running = await startControl(deps)
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(async () => {
  await running?.stop()
  await control?.close()
  await Promise.all([extractor, sites, osm, web, receiver].map(part => part?.close()))
})

/** By the network, as a customer's program does. */
async function rest(owner: Tenant, method: string, path: string, body?: object | FormData) {
  const json = body !== undefined && !(body instanceof FormData)
  const response = await fetch(`${address}/v1/public${path}`, {
    method,
    headers: { 'x-api-key': owner.key, ...(json ? { 'content-type': 'application/json' } : {}) },
    ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : (body as FormData) }),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  return { status: response.status, body: (isJson ? JSON.parse(text) : text) as any }
}

async function newOwner(money: string): Promise<Tenant> {
  const owner = await createTenant(control, { money })
  await rest(owner, 'POST', '/webhooks', { url: `${receiver.url}/${owner.ownerId}`, events: ['lead.created'] })
  return owner
}

// ---- sites that mean harm ----

const LIMITS = { requests: VISIT_LIMITS.requests + 1, bytes: VISIT_LIMITS.totalBytes + 256 * 1024 }
const sent = new Map<string, number>()

/** Yields candidates as fast as they are read, until the reader stops. */
function endless(host: string) {
  const part = Buffer.from('<p>текст без конца</p>'.repeat(2000))
  return (_: unknown, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    const more = () =>
      response.write(part, error => {
        if (error) return
        sent.set(host, (sent.get(host) ?? 0) + part.length)
        more()
      })
    more()
  }
}

const list = (count: number, item: (n: number) => string) => Array.from({ length: count }, (_, n) => item(n)).join('')
const harmful = {
  'metadata.example': { '*': { status: 302, headers: { location: 'http://169.254.169.254/latest/meta-data/' } } },
  'endless.example': { '/robots.txt': { status: 404 }, '*': endless('endless.example') },
  'links.example': { '*': `<h1>Контакты</h1>${list(10_000, n => `<a href="/contacts/${n}">Контакты ${n}</a> `)}` },
  'phones.example': { '*': `<ul>${list(200, n => `<li>Фирма ${n}: +7 (843) 215-0${n + 100}</li>`)}</ul>` },
}
const harmed = Object.keys(harmful).map((host, n) => ({ host, company: `Зубы ${n}`, phone: `+7 843 299-00-0${n}` }))

function directory(): FormData {
  const twin = russian[0]!.place.phones[0]!
  const rows = [
    ...harmed.map(({ host, company, phone }) => `${company};${phone};${sites.url(host)};Стоматология;Казань`),
    `Своя клиника;8 (843) 299-01-01;;Стоматологии;Казань`,
    `Тёзка;${twin};;Стоматология;г. Казань`,
    `Лишняя;8 (843) 299-01-02;;Стоматология;Казань`,
    `Автосервис;8 (843) 299-01-03;;Автосервис;Казань`,
    `Не там;8 (495) 299-01-03;;Стоматология;Москва`,
  ]
  const form = new FormData()
  const csv = `Название;Телефон;Сайт;Рубрика;Город\n${rows.join('\n')}\n`
  form.set('file', new Blob([csv], { type: 'text/csv' }), 'partners.csv')
  return form
}

// ---- what is true ----

interface Lead {
  company: string
  status: string
  source: string
  phones: string[]
  signals: { signal: string; present: boolean; evidence: string | null }[]
  site_problem: string | null
}

/** At most as many as a brief may have. */
const wishes = (sites: readonly CorpusSite[]) =>
  [...new Set(sites.flatMap(one => one.signals.map(s => s.signal)))].slice(0, 20)

/** Phones of all companies; signals where a person has said of the site whether it has them. */
function graded(leads: readonly Lead[], truth: { company: string; phones: string[]; site: CorpusSite | null }[]) {
  const byName = new Map(leads.map(lead => [lead.company, lead]))
  const phones = truth.map(one => tally(byName.get(one.company)?.phones ?? [], [...new Set(one.phones)]))
  const signals = truth.flatMap(({ company, site }) => {
    const lead = byName.get(company)
    if (!site || !lead) return []
    const judged = lead.signals.filter(one => site.signals.some(({ signal }) => signal === one.signal))
    const there = site.signals.filter(one => one.present && judged.some(({ signal }) => signal === one.signal))
    return [
      tally(
        judged.filter(one => one.present).map(one => one.signal),
        there.map(one => one.signal),
      ),
    ]
  })
  const problems = truth.flatMap(({ company, site }) => (site && byName.get(company)?.site_problem) || [])
  return { phones: sum(phones), signals: sum(signals), problems }
}
const truthOf = ({ place, site }: Known) => ({
  company: place.tags['name']!,
  phones: [...place.phones, ...(site?.phones ?? [])],
  site,
})
const totals = { phones: [] as Tally[], signals: [] as Tally[] }
function note({ phones, signals, problems }: ReturnType<typeof graded>, name: string): void {
  totals.phones.push(phones)
  totals.signals.push(signals)
  console.log(`${name}: sites that could not be read: ${problems.join(' ') || 'none'}`)
  console.log(`${name}: phones ${told(phones)}; signals ${told(signals)}`)
}

test('by REST, from a Russian brief over map, directory and sites to a draft campaign', {
  timeout: 600_000,
}, async () => {
  for (const [host, pages] of Object.entries(harmful)) sites.add(host, pages)
  const owner = await newOwner('1000')
  // Country of numbers without a country code, when the source does not state one.
  await rest(owner, 'PATCH', `/trunks/${owner.trunkId}`, { region: 'RU' })
  expect(await rest(owner, 'POST', '/lead-search/directories', directory())).toMatchObject({
    status: 201,
    body: { companies: 9, invalid_total: 0 },
  })
  const brief_raw = 'Найди 80 стоматологий в Казани с онлайн-записью, кроме клиники «Лишняя»'
  const parsed = await rest(owner, 'POST', '/lead-search/parse-brief', { brief_raw })
  expect(parsed.body).toMatchObject({
    brief_parsed: { niche: 'стоматология', geo: 'Казань', signals: ['онлайн-запись'], target_leads: 80 },
    missing: [],
    estimate: { leads: 80, total: { amount: '800.0000' } },
  })
  expect(parsed.body.sources.map((one: { id: string }) => one.id)).toEqual(['directory', 'openstreetmap', 'web'])
  expect(parsed.body.brief_parsed.exclusions.join()).toContain('Лишняя')
  const signals = wishes(russian.flatMap(one => one.site ?? []))
  const started = await rest(owner, 'POST', '/lead-search', {
    brief_raw,
    brief_parsed: { ...parsed.body.brief_parsed, signals },
    accept_terms: true,
  })
  expect(started).toMatchObject({ status: 201, body: { status: 'queued' } })
  expect((await rest(owner, 'GET', '/balance')).body).toMatchObject({ held: { amount: '800.0000' } })
  const path = `/lead-search/${started.body.id}`
  const events = rest(owner, 'GET', `${path}/events`)
  const job = await until(
    async () => {
      const { body } = await rest(owner, 'GET', path)
      return body.ended_at && body
    },
    'the search to end',
    180_000,
  )
  expect(job).toMatchObject({ status: 'completed', end_reason: 'exhausted', problems: [] })

  const { items } = (await rest(owner, 'GET', `${path}/leads?limit=200`)).body as { items: Lead[] }
  const names = (list: Lead[]) => list.map(lead => lead.company)
  const leads = items.filter(lead => lead.status === 'enriched')
  expect(job.progress).toMatchObject({ found: items.length, enriched: leads.length })
  const callable = leads.filter(lead => lead.phones.length > 0)
  const filtered = await rest(owner, 'GET', `${path}/leads?status=enriched&has_phone=true&min_score=30&limit=200`)
  expect(names(filtered.body.items).sort()).toEqual(
    names(callable.filter(lead => (lead as unknown as { score: number }).score >= 30)).sort(),
  )
  expect((await rest(owner, 'GET', `${path}/leads?q=СВОЯ`)).body.total).toBe(1)
  const codes = Object.fromEntries(
    (items as (Lead & { rejection: { code: string } | null })[]).map(lead => [lead.company, lead.rejection?.code]),
  )
  // Whichever of the two came first.
  expect([codes['Тёзка'], codes[russian[0]!.place.tags['name']!]]).toContain('duplicate')
  expect(codes).toMatchObject({ Лишняя: 'excluded', 'Своя клиника': undefined })
  expect(names(items)).not.toContain('Автосервис')
  expect(names(items)).not.toContain('Не там')
  for (const { evidence, present } of leads.flatMap(lead => lead.signals)) expect(present).toBe(evidence !== null)

  // Nobody paid for harm but with the limits of a visit.
  for (const { host, company, phone } of harmed) {
    const lead = leads.find(one => one.company === company)!
    expect([host, lead.phones]).toEqual([host, [phone.replace(/[\s-]/g, '')]])
    expect(sites.hits.filter(hit => hit.startsWith(`${host} `)).length).toBeLessThanOrEqual(LIMITS.requests)
  }
  expect(sent.get('endless.example')).toBeLessThan(LIMITS.bytes * 2)
  expect(sites.hits.some(hit => hit.startsWith('169.254'))).toBe(false)

  const csv: { company: string }[] = parse((await rest(owner, 'GET', `${path}/leads.csv?status=enriched`)).body, {
    columns: true,
    bom: true,
  })
  expect(csv.map(row => row.company).sort()).toEqual(names(leads).sort())
  const cost = leads.length * 10
  const money = (await rest(owner, 'GET', '/balance')).body
  expect(money).toMatchObject({ balance: { amount: `${1000 - cost}.0000` }, held: { amount: '0.0000' } })
  expect(job.cost).toMatchObject({ amount: `${cost}.0000` })

  const campaign = await rest(owner, 'POST', `${path}/to-campaign`)
  expect(campaign).toMatchObject({ status: 201, body: { status: 'draft', counters: { total: callable.length } } })
  const contacts = (await rest(owner, 'GET', `/campaigns/${campaign.body.id}/contacts?limit=200`)).body.items
  const own = contacts.find((one: { name: string }) => one.name === 'Своя клиника')
  expect(own).toMatchObject({
    phone: '+78432990101',
    vars: { company: 'Своя клиника', niche: 'стоматология', source: 'directory', lead_id: expect.any(String) },
  })
  expect((await rest(owner, 'GET', '/contacts?channel=lead&limit=200')).body.total).toBe(callable.length)
  const hooks = await until(
    () => {
      const got = receiver.received.filter(one => one.path === `/${owner.ownerId}`).map(({ body }) => JSON.parse(body))
      return got.length >= leads.length && got
    },
    'the webhooks',
    60_000,
  )
  expect(new Set(hooks.map(one => one.data.lead_id ?? one.lead_id)).size).toBe(leads.length)

  const shown = [...(await events).body.matchAll(/^event: (.+)\ndata: (.+)$/gm)].map(([, event, data]) => ({
    event,
    ...JSON.parse(data!),
  }))
  expect(shown.at(-1)).toMatchObject({ event: 'lead_search.ended', status: 'completed', progress: job.progress })
  const steps = shown.map(one => one.progress.enriched as number)
  expect(steps).toEqual(steps.toSorted((a, b) => a - b))

  // The map's first company and its twin are one: either of them has the number.
  note(graded(leads, russian.slice(1).map(truthOf)), 'Russian')
})

test('by MCP, from an English brief over map and web to a draft campaign', { timeout: 600_000 }, async () => {
  const owner = await newOwner('500')
  const client = new Client({ name: 'test', version: '1' })
  const headers = { Authorization: `Bearer ${owner.key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit: { headers } }))
  const tool = async (name: string, args: object) => {
    const answer = await client.callTool({ name, arguments: args as Record<string, unknown> })
    if (answer.isError) throw new Error(JSON.stringify(answer.content))
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
    return answer.structuredContent as any
  }
  const brief_raw = 'I need 40 dental clinics in Aberdeen with online booking'
  const parsed = await tool('parse_lead_brief', { brief_raw })
  expect(parsed).toMatchObject({
    missing: [],
    brief_parsed: { niche: 'dental clinics', geo: 'Aberdeen', target_leads: 40 },
    sources: [{ id: 'openstreetmap', licence: 'ODbL-1.0' }, { id: 'web' }],
  })
  const signals = wishes([...british.flatMap(one => one.site ?? []), ...american])
  const brief_parsed = { ...parsed.brief_parsed, signals }
  const { id: job_id } = await tool('start_lead_search', { brief_raw, brief_parsed, accept_terms: true })
  const job = await until(
    async () => {
      const now = await tool('get_lead_search', { job_id })
      return now.ended_at && now
    },
    'the search to end',
    120_000,
  )
  expect(job).toMatchObject({ status: 'completed', end_reason: 'exhausted', problems: [] })
  const { items } = (await tool('list_leads', { job_id, status: 'enriched', limit: 200 })) as { items: Lead[] }
  expect(new Set(items.map(lead => lead.source))).toEqual(new Set(['openstreetmap', 'web']))
  const draft = await tool('create_lead_campaign', { job_id })
  const callable = items.filter(lead => lead.phones.length > 0).length
  expect(draft).toMatchObject({ status: 'draft', counters: { total: callable } })
  expect(await tool('get_balance', {})).toMatchObject({
    balance: { amount: `${500 - items.length * 10}.0000` },
    held: { amount: '0.0000' },
  })
  await client.close()
  const ofWeb = american.map(site => ({ company: site.name, phones: site.phones, site }))
  note(graded(items, [...british.map(truthOf), ...ofWeb]), 'English')
})

test('phones and signals of the whole cycle are those that a person finds', () => {
  const [phones, signals] = [sum(totals.phones), sum(totals.signals)]
  console.log(`whole cycle: phones ${told(phones)}; signals ${told(signals)}`)
  expect(precision(phones)).toBeGreaterThanOrEqual(0.95)
  expect(recall(phones)).toBeGreaterThanOrEqual(0.95)
  expect(precision(signals)).toBeGreaterThanOrEqual(0.9)
  expect(recall(signals)).toBeGreaterThanOrEqual(0.85)
})
