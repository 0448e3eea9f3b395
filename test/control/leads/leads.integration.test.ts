/** Results of a search: list, table and campaign; the owner's directories; and the whole cycle over MCP. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDirectoryRows } from '../../../control/outreach/leads/directories-sql.ts'
import { createDirectorySource } from '../../../control/outreach/leads/sources/directory.ts'
import { installQueues, startWorkers } from '../../../control/platform/jobs/jobs.ts'
import { candidate, candidates, fakeEnricher, fakeLeads, fakeSource, phoneOf } from '../../fakes/leads.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../../support/control.ts'
import { until } from '../../support/world.ts'
import { jobOf, leadsOf, onlySearches, searcher, start, wish } from './rig.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { lead_price: '1.0000', lead_searches_per_day: 100 } })
  await installQueues(control.deps.boss)
})
afterAll(() => control?.close())

/** Ten companies: 0 has no telephone, 3 was rejected, scores rise with the number. */
async function searched(owner: Tenant, target = 10) {
  const job = await start(owner, { target_leads: target })
  const enricher = fakeEnricher(({ company }) => {
    const n = Number(company.split(' ')[1])
    if (n === 3) return { rejected: { code: 'closed' as const, text: 'It has closed' }, score: 30 }
    return { score: n * 10, ...(n === 0 ? { phones: [] } : {}), ...(n === 4 ? { company: '=HYPERLINK("x")' } : {}) }
  })
  await searcher(control, { sources: [fakeSource(candidates(10))], enricher }).run(job)
  return job
}

describe('the leads of a search', () => {
  test('are paged in a stable order, and filtered', async () => {
    const owner = await createTenant(control)
    const job = await searched(owner)
    const all = await leadsOf(owner, job)
    expect([all.total, all.items.length]).toEqual([10, 10])
    const ids = (body: { items: { id: string }[] }) => body.items.map(({ id }) => id)
    const pages = await Promise.all([0, 4, 8].map(offset => leadsOf(owner, job, `?limit=4&offset=${offset}`)))
    expect(pages.flatMap(ids)).toEqual(ids(all))
    const total = async (query: string) => {
      const { items, total: told } = await leadsOf(owner, job, query)
      expect([query, items.length]).toEqual([query, told])
      return told
    }
    expect(await total('?status=enriched')).toBe(9)
    expect(await total('?status=rejected')).toBe(1)
    expect(await total('?status=found')).toBe(0)
    // The number of a rejected lead is not returned.
    expect(await total('?has_phone=false')).toBe(2)
    expect(await total('?has_phone=true&status=enriched')).toBe(8)
    expect(await total('?min_score=70')).toBe(3)
    expect(await total('?min_score=70&q=CLINIC%208')).toBe(1)
    expect(await total(`?q=${encodeURIComponent(phoneOf(5))}`)).toBe(1)
    expect(await total('?q=%25')).toBe(0)
    for (const wrong of ['status=done', 'has_phone=1', 'min_score=101', 'min_score=-1', 'min_score=', 'sort=score']) {
      const answer = await owner.call('GET', `/lead-search/${job.job_id}/leads?${wrong}`)
      expect([wrong, answer.status]).toEqual([wrong, 400])
    }
    expect(all.items.find((lead: { status: string }) => lead.status === 'rejected')).toMatchObject({
      rejection: { code: 'closed', message: 'It has closed' },
      contact_id: null,
    })
  })

  test('export as CSV without formulas', async () => {
    const owner = await createTenant(control)
    const job = await searched(owner)
    const { status, body, headers } = await owner.call('GET', `/lead-search/${job.job_id}/leads.csv?status=enriched`)
    expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8; header=present'])
    expect(headers['content-disposition']).toContain(`leads-${job.job_id}.csv`)
    const rows = parse(body as string, { columns: true, bom: true }) as Record<string, string>[]
    expect(rows).toHaveLength(9)
    expect(rows[1]).toMatchObject({
      company: 'Clinic 1',
      score: '10',
      phone: phoneOf(1),
      attribution: '© web',
      licence: 'ODbL-1.0',
      'signal: online booking': 'Book online',
    })
    expect(rows.some(({ company }) => company === `'=HYPERLINK("x")`)).toBe(true)
  })
})

describe('a campaign of a search', () => {
  const make = (owner: Tenant, { job_id }: { job_id: string }, body?: object) =>
    owner.call('POST', `/lead-search/${job_id}/to-campaign`, body)

  test('contains leads with a phone and their variables, idempotently', async () => {
    const owner = await createTenant(control)
    const job = await searched(owner)
    const answers = await Promise.all([make(owner, job), make(owner, job), make(owner, job)])
    const { status, body } = answers[0]!
    expect(status).toBe(201)
    expect(body).toMatchObject({
      status: 'draft',
      name: 'dental clinics, Oakland',
      project_id: owner.projectId,
      consent: null,
      counters: { total: 8, pending: 8 },
    })
    expect(new Set(answers.map(answer => answer.body.id))).toEqual(new Set([body.id]))
    expect((await make(owner, job)).body).toMatchObject({ id: body.id, counters: { total: 8 } })
    expect((await jobOf(owner, job)).campaign_id).toBe(body.id)
    expect((await owner.call('GET', '/campaigns')).body.total).toBe(1)
    const { items } = (await owner.call('GET', `/campaigns/${body.id}/contacts`)).body
    expect(items.at(-1)).toMatchObject({
      phone: phoneOf(9),
      name: 'Clinic 9',
      vars: { company: 'Clinic 9', score: '90', signals: 'online booking', niche: 'dental clinics', source: 'web' },
    })
    // A draft that is gone, or has begun, is not the one to go on with.
    await owner.call('DELETE', `/campaigns/${body.id}`)
    expect((await jobOf(owner, job)).campaign_id).toBeNull()
    const second = (await make(owner, job, { name: 'Again' })).body
    expect(second).toMatchObject({ name: 'Again', counters: { total: 8 } })
    await owner.call('POST', `/campaigns/${second.id}/start`, { consent: true })
    expect((await make(owner, job)).body.id).not.toBe(second.id)
  })

  test('is completed by the next request after a kill', async () => {
    const owner = await createTenant(control)
    const job = await searched(owner)
    const { body } = await make(owner, job)
    await owner.call('POST', `/campaigns/${body.id}/contacts?mode=replace`, [])
    expect((await make(owner, job)).body).toMatchObject({ id: body.id, counters: { total: 8 } })
  })

  test('rejects unknown jobs and jobs without phones', async () => {
    const owner = await createTenant(control, { bound: null })
    const job = await start(owner, { target_leads: 1 })
    expect(await make(owner, job)).toMatchObject({ status: 409, body: { code: 'invalid_transition' } })
    const silent = fakeEnricher(() => ({ phones: [] }))
    await searcher(control, { enricher: silent }).run(job)
    expect(await make(owner, job)).toMatchObject({ status: 409, body: { code: 'no_contacts' } })
    const full = await searched(owner)
    expect(await make(owner, full)).toMatchObject({ status: 409, body: { code: 'no_outbound_line' } })
    const other = await createTenant(control)
    expect(await make(owner, full, { project_id: other.projectId })).toMatchObject({ status: 404 })
    const named = await make(owner, full, { project_id: owner.projectId })
    expect(named).toMatchObject({ status: 201, body: { project_id: owner.projectId } })
  })
})

describe('a directory', () => {
  const upload = (owner: Tenant, text: string, headers: Record<string, string> = {}) =>
    request(control.app, {
      method: 'POST',
      url: '/v1/public/lead-search/directories',
      headers: { 'x-api-key': owner.key, 'content-type': 'multipart/form-data; boundary=x', ...headers },
      payload: `--x\r\nContent-Disposition: form-data; name="file"; filename="mine.csv"\r\n\r\n${text}\r\n--x--\r\n`,
    })

  test('is uploaded as CSV, listed, renamed, searched and deleted', async () => {
    const owner = await createTenant(control)
    const { leads } = control.deps
    const own = createDirectorySource({ directories: createDirectoryRows(control.deps.sql) })
    control.deps.leads = fakeLeads({ sources: [own] })
    const sources = async () =>
      (await owner.call('POST', '/lead-search/parse-brief', { brief_raw: 'x' })).body.sources.map(
        (source: { id: string }) => source.id,
      )
    expect(await sources()).toEqual([])
    expect((await owner.call('POST', '/lead-search', wish())).body.code).toBe('no_lead_sources')
    const table = [
      'Company;Phone;City;Category',
      ...['Smile;+1 510 200 1234;Oakland;dental clinics', ';+1 510 200 1235;Oakland;x', 'Nobody;;Oakland;x'],
      'Wheels;+1 510 200 1236;Oakland;car repair',
    ].join('\n')
    const { status, body } = await upload(owner, table, { 'idempotency-key': 'mine' })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      name: 'mine.csv',
      companies: 2,
      invalid_total: 2,
      columns: [
        { header: 'Company', column: 'company' },
        { header: 'Phone', column: 'phone' },
        { header: 'City', column: 'city' },
        { header: 'Category', column: 'category' },
      ],
    })
    expect((await upload(owner, table, { 'idempotency-key': 'mine' })).body).toEqual(body)
    expect(await sources()).toEqual(['directory'])
    const job = await start(owner, { target_leads: 5 })
    await searcher(control, { sources: [own] }).run(job)
    const { items } = await leadsOf(owner, job)
    expect(items).toMatchObject([{ company: 'Smile', source: 'directory', licence: null }])
    const path = `/lead-search/directories/${body.id}`
    expect((await owner.call('PATCH', path, { name: 'Partners' })).body).toMatchObject({ name: 'Partners' })
    expect((await owner.call('GET', '/lead-search/directories')).body).toMatchObject({
      total: 1,
      items: [{ id: body.id, name: 'Partners', companies: 2 }],
    })
    expect((await owner.call('DELETE', path)).body).toEqual({ id: body.id, deleted: true })
    expect((await owner.call('GET', path)).status).toBe(404)
    expect(await control.deps.sql`select 1 from lead_directory_rows where directory_id = ${body.id}`).toHaveLength(0)
    expect((await leadsOf(owner, job)).total).toBe(1)
    control.deps.leads = leads!
  })

  test('returns its rows in a stable order to its owner', async () => {
    const [owner, other] = [await createTenant(control), await createTenant(control)]
    const rows = Array.from({ length: 2500 }, (_, n) => `Company ${n},+1510${2_000_000 + n}`)
    const made = (await upload(owner, ['company,phone', ...rows].join('\n'))).body
    expect(made.companies).toBe(2500)
    const read = async ({ ownerId }: Tenant) => {
      const seen: { key: string; company: string }[] = []
      const asked = { ownerId, niche: '', geo: '' }
      for await (const row of createDirectoryRows(control.deps.sql).rows(asked)) seen.push(row)
      return seen
    }
    const seen = await read(owner)
    expect(seen.map(({ company }) => company)).toEqual(rows.map((_, n) => `Company ${n}`))
    expect(seen[7]!.key).toBe(`${made.id}/7`)
    expect(await read(owner)).toEqual(seen)
    expect(await read(other)).toEqual([])
  })

  test('rejects an invalid file by code, and more than twenty', async () => {
    const owner = await createTenant(control)
    for (const [text, code] of [
      ['', 'empty'],
      ['a,b\n1,2', 'no_header'],
      ['company,phone\n,', 'empty'],
    ] as const) {
      const { status, body } = await upload(owner, text)
      expect([text, status, body.errors?.[0].code]).toEqual([text, 400, code])
    }
    const statuses = await Promise.all(
      Array.from({ length: 23 }, async (_, n) => (await upload(owner, `company,phone\nA,+1510200${1000 + n}`)).status),
    )
    expect(statuses.filter(status => status === 201)).toHaveLength(20)
    expect((await upload(owner, 'company,phone\nA,+15102001000')).body.code).toBe('limit_reached')
  })
})

test('by the tool server: from a brief to a draft', async () => {
  const owner = await createTenant(control)
  const address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  await control.deps.sql`delete from parley_jobs.job`
  const searching = searcher(control, { sources: [fakeSource([candidate(0), candidate(1)])] })
  const workers = await startWorkers(
    control.deps,
    onlySearches(job => searching.run(job)),
  )
  const client = new Client({ name: 'test', version: '1' })
  const headers = { Authorization: `Bearer ${owner.key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit: { headers } }))
  const call = async (name: string, args: object = {}) => {
    const result = await client.callTool({ name, arguments: args as Record<string, unknown> })
    // biome-ignore lint/suspicious/noExplicitAny: the test looks into answers of every shape
    return result as { isError?: boolean; structuredContent: any; content: { text: string }[] }
  }
  const parsed = await call('parse_lead_brief', { brief_raw: 'dentists' })
  expect(parsed.structuredContent.missing).toEqual(['geo', 'target_leads'])
  const { accept_terms, ...bare } = wish({ target_leads: 2 })
  const refused = await call('start_lead_search', bare)
  expect([refused.isError, JSON.parse(refused.content[0]!.text).code]).toEqual([true, 'terms_not_accepted'])
  const started = await call('start_lead_search', { ...bare, accept_terms })
  const job_id = started.structuredContent.id
  await until(
    async () => (await call('get_lead_search', { job_id })).structuredContent.status === 'completed',
    'the search',
    30_000,
  )
  const leads = await call('list_leads', { job_id, has_phone: true, min_score: 50, limit: 1 })
  expect(leads.structuredContent).toMatchObject({ total: 2, limit: 1 })
  expect((await call('list_lead_searches')).structuredContent.total).toBe(1)
  const campaign = await call('create_lead_campaign', { job_id, name: 'From leads' })
  expect(campaign.structuredContent).toMatchObject({ status: 'draft', name: 'From leads', counters: { total: 2 } })
  const late = await call('cancel_lead_search', { job_id })
  expect(JSON.parse(late.content[0]!.text).code).toBe('invalid_transition')
  await client.close()
  searching.stop()
  await workers.stop()
})
