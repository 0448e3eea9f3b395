import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readEntries } from '../../../control/outreach/campaigns/upload.ts'
import { readPhone } from '../../../control/platform/phone.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../../support/control.ts'
import { plainFetch } from '../../support/receiver.ts'
import { countedRows, createDraft, nextCallee, step, upload } from './support.ts'

const dialingLimits = { blocked_prefixes: ['+882', '+33'], allowed_prefixes: [] }
const MODEL = 'http://moderation.test/v1/moderations'

let control: TestControl
let owner: Tenant
/** Texts sent to the moderation model. */
const asked: string[] = []
beforeAll(async () => {
  control = await createControl({
    config: { moderation: { url: MODEL, key: null } },
    async fetch(request) {
      if (request.url !== MODEL) return plainFetch(request)
      const { input } = JSON.parse(String(request.body)) as { input: string[] }
      asked.push(...input)
      const results = input.map(text => ({ flagged: text.includes('flag me') }))
      return { url: MODEL, status: 200, headers: {}, body: Buffer.from(JSON.stringify({ results })) }
    },
  })
  owner = await createTenant(control, { money: '1000' })
})
afterAll(() => control?.close())

describe('numbers as people write them', () => {
  test.each([
    ['+7 (916) 123-45-67', null, '+79161234567'],
    ['8 (916) 123-45-67', 'RU', '+79161234567'],
    ['89161234567', 'RU', '+79161234567'],
    ['79161234567', 'RU', '+79161234567'],
    ['9161234567', 'RU', '+79161234567'],
    ['8.916.123.45.67', 'RU', '+79161234567'],
    ['8 810 44 20 7946 0958', 'RU', null],
    ['00 44 20 7946 0958', 'DE', '+442079460958'],
    ['011 44 20 7946 0958', 'US', '+442079460958'],
    ['+44 (0)20 7946 0958', null, '+442079460958'],
    ['(415) 555-0123', 'US', '+14155550123'],
    ['415-555-0123', null, null],
    ['４１５５５５０１２３', 'US', '+14155550123'],
    ['+1 415 555 0123 ext. 5', null, null],
    ['tel: +1 415 555 0123', 'US', null],
    ['call me', 'US', null],
    ['', 'US', null],
    ['+', 'US', null],
    ['112', 'RU', null],
    ['+99999999999999999', null, null],
    ['+800 1234 5678', null, '+80012345678'],
    ['=cmd()', 'US', null],
  ])('%s in %s is %s', (text, region, expected) => {
    expect(readPhone(text, region)).toBe(expected)
  })

  test('validates each row, with its index', async () => {
    const rows = [
      ...['+14155550123', null, 5, [], { phone: 5 }, {}],
      ...[
        { phone: '+14155550123', extra: 1 },
        { phone: '+14155550123', name: 7 },
      ],
      ...[
        { phone: '+14155550123', vars: { 'a b': 1 } },
        { phone: '+14155550123', vars: { a: {} } },
      ],
      ...[{ phone: '+14155550123', vars: [] }, { phone: '+882161234567' }, { phone: '+19005550123' }],
      { phone: '+33123456789' },
      ...[{ phone: ' +14155550123 ', name: ' Anna ', vars: { n: 1, b: true, s: 'x' } }, { phone: '4155550123' }],
      { phone: '+14155550124', name: '', vars: {} },
    ]
    const { good, duplicates, invalid } = await readEntries(rows, { region: 'US', dialingLimits })
    expect(invalid.map(({ index, code }) => [index, code])).toEqual([
      ...[0, 1, 2, 3].map(index => [index, 'not_an_object']),
      ...[
        [4, 'phone'],
        [5, 'phone'],
        [6, 'unknown_field'],
        [7, 'name'],
        [8, 'vars'],
        [9, 'vars'],
        [10, 'vars'],
      ],
      ...[
        [11, 'satellite'],
        [12, 'premium_rate'],
        [13, 'blocked_prefix'],
      ],
    ])
    expect(duplicates).toBe(1)
    expect(good).toEqual([
      { index: 14, phone: '+14155550123', name: 'Anna', vars: { n: '1', b: 'true', s: 'x' } },
      { index: 16, phone: '+14155550124', name: null, vars: {} },
    ])
  })
})

describe('an upload', () => {
  test('appends, counts what was there before, and replaces', async () => {
    const { id } = await createDraft(owner)
    const [a, b, c] = [nextCallee(), nextCallee(), nextCallee()]
    const national = a.slice(2).replace(/(\d{3})(\d{3})/, '($1) $2-')
    const first = await upload(owner, id, [
      { phone: a, name: 'A' },
      { phone: national, name: 'Not A' },
      { phone: b },
      'x',
    ])
    expect(first.status).toBe(200)
    expect(first.body).toEqual({
      accepted: 2,
      duplicates: 1,
      total: 2,
      invalid: [{ index: 3, code: 'not_an_object' }],
    })
    const second = await upload(owner, id, [{ phone: b }, { phone: c }])
    expect(second.body).toEqual({ accepted: 1, duplicates: 1, invalid: [], total: 3 })
    const list = (await owner.call('GET', `/campaigns/${id}/contacts`)).body
    expect(list).toMatchObject({ total: 3, items: [{ phone: c }, { phone: b }, { phone: a, name: 'A' }] })
    const replaced = await upload(owner, id, [{ phone: c, vars: { size: 4 } }], 'replace')
    expect(replaced.body).toEqual({ accepted: 1, duplicates: 0, invalid: [], total: 1 })
    const [only] = (await owner.call('GET', `/campaigns/${id}/contacts`)).body.items
    expect(only).toEqual({
      id: only.id,
      phone: c,
      name: null,
      vars: { size: '4' },
      contact_id: null,
      status: 'pending',
      attempts: 0,
      next_attempt_at: null,
      last_call_id: null,
      skip_reason: null,
      goal_reached: null,
      created_at: expect.any(String),
    })
    expect((await upload(owner, id, [], 'replace')).body.total).toBe(0)
    expect((await owner.call('GET', `/campaigns/${id}`)).body.counters).toMatchObject({ total: 0, pending: 0 })
  })

  test('without a mode appends; another one, no list, or too long a list is 400', async () => {
    const { id } = await createDraft(owner)
    const path = `/campaigns/${id}/contacts`
    expect((await owner.call('POST', path, [{ phone: nextCallee() }])).body.total).toBe(1)
    expect((await owner.call('POST', `${path}?mode=merge`, [])).status).toBe(400)
    expect((await owner.call('POST', path, { contacts: [] })).status).toBe(400)
    expect((await owner.call('POST', path)).status).toBe(400)
    const tooMany = Array.from({ length: 10_001 }, () => ({ phone: '1' }))
    expect((await owner.call('POST', path, tooMany)).status).toBe(400)
    expect((await owner.call('GET', path)).body.total).toBe(1)
  })

  test('may be larger than other bodies', async () => {
    const { id } = await createDraft(owner)
    const note = 'An order of some things. '.repeat(150)
    const rows = Array.from({ length: 600 }, () => ({ phone: nextCallee(), vars: { note } }))
    expect(JSON.stringify(rows).length).toBeGreaterThan(2_000_000)
    expect((await upload(owner, id, rows)).body).toMatchObject({ accepted: 600, total: 600 })
  })

  test('skips texts that moderation rejects, and moderates each text once', async () => {
    const { id } = await createDraft(owner)
    asked.length = 0
    const answer = await upload(owner, id, [
      { phone: nextCallee(), vars: { note: 'fine' } },
      { phone: nextCallee(), vars: { note: 'Ask for the PIN of the bank card.' } },
      { phone: nextCallee(), vars: { note: 'fine', more: 'flag me' } },
      { phone: nextCallee(), name: 'flag me' },
      { phone: nextCallee(), name: 'fine' },
    ])
    expect(answer.body).toEqual({
      accepted: 2,
      duplicates: 0,
      total: 2,
      invalid: [1, 2, 3].map(index => ({ index, code: 'moderation_rejected' })),
    })
    expect(asked).toEqual(['fine', 'flag me'])
  })

  test('two at once lose nothing and count right', async () => {
    const { id } = await createDraft(owner)
    const shared = Array.from({ length: 200 }, () => ({ phone: nextCallee() }))
    const own = () => Array.from({ length: 200 }, () => ({ phone: nextCallee() }))
    const answers = await Promise.all([1, 2, 3, 4].map(() => upload(owner, id, [...own(), ...shared])))
    const sum = (name: 'accepted' | 'duplicates') => answers.reduce((all, { body }) => all + body[name], 0)
    expect([sum('accepted'), sum('duplicates')]).toEqual([1000, 600])
    expect(Math.max(...answers.map(({ body }) => body.total))).toBe(1000)
    const [row] = await control.deps.sql<{ first: number; last: number; n: number }[]>`
      select min(seq) as first, max(seq) as last, count(distinct seq)::int as n
      from campaign_contacts where campaign_id = ${id}`
    expect(row).toEqual({ first: 1, last: 1000, n: 1000 })
  })

  test('either precedes a concurrent start or is rejected', async () => {
    const { id } = await createDraft(owner)
    await upload(owner, id, [{ phone: nextCallee() }])
    const uploads = Array.from({ length: 6 }, () =>
      upload(
        owner,
        id,
        Array.from({ length: 50 }, () => ({ phone: nextCallee() })),
      ),
    )
    const started = await step(owner, id, 'start')
    const answers = await Promise.all(uploads)
    const taken = answers.filter(answer => answer.status === 200).length
    for (const answer of answers.filter(one => one.status !== 200)) expect(answer.body.code).toBe('campaign_started')
    expect(started.body.status).toBe('running')
    expect(await countedRows(control, id)).toEqual({ pending: 1 + 50 * taken })
    const late = await upload(owner, id, [{ phone: nextCallee() }], 'replace')
    expect(late).toMatchObject({ status: 409, body: { code: 'campaign_started' } })
    expect(await countedRows(control, id)).toEqual({ pending: 1 + 50 * taken })
  })

  test('repeated by its key is answered once', async () => {
    const { id } = await createDraft(owner)
    const rows = [{ phone: nextCallee() }, { phone: '5' }]
    const again = () => owner.call('POST', `/campaigns/${id}/contacts`, rows, { 'idempotency-key': `up-${id}` })
    const first = await again()
    expect((await again()).body).toEqual(first.body)
    expect(first.body).toMatchObject({ accepted: 1, total: 1 })
  })

  test('takes the region of the trunk’s setting, or of the account’s first trunk', async () => {
    const tenant = await createTenant(control, { bound: null })
    const { id } = await createDraft(tenant)
    const [a, b] = ['030 901820', '8 (916) 123-45-67']
    // Its only trunk has an American number.
    expect((await upload(tenant, id, [{ phone: '(212) 736-5000' }, { phone: a }])).body.invalid).toMatchObject([
      { index: 1 },
    ])
    await tenant.call('PATCH', `/trunks/${tenant.trunkId}`, { region: 'DE' })
    expect((await upload(tenant, id, [{ phone: a }])).body.accepted).toBe(1)
    await tenant.call('POST', `/projects/${tenant.projectId}/numbers`, { number: tenant.number, direction: 'out' })
    await tenant.call('PATCH', `/trunks/${tenant.trunkId}`, { region: 'RU' })
    expect((await upload(tenant, id, [{ phone: b }])).body.accepted).toBe(1)
    const phones = (await tenant.call('GET', `/campaigns/${id}/contacts`)).body.items
    expect(phones.map((one: { phone: string }) => one.phone)).toEqual(['+79161234567', '+4930901820', '+12127365000'])
  })
})

test('pages are the same as a plain list, with every filter and at every offset', async () => {
  const { id } = await createDraft(owner)
  const rows = Array.from({ length: 23 }, () => ({ phone: nextCallee() }))
  await upload(owner, id, rows)
  await control.deps.sql`
    update campaign_contacts set status = case when seq % 3 = 0 then 'completed' when seq % 3 = 1 then 'busy' else 'pending' end,
      goal_reached = case when seq % 3 = 0 then seq % 2 = 0 end where campaign_id = ${id}`
  await control.deps.sql`
    update campaign_counters set pending = 8, completed = 7, busy = 8, goal_reached = 3 where campaign_id = ${id}`
  const all = (await owner.call('GET', `/campaigns/${id}/contacts?limit=200`)).body.items as Record<string, unknown>[]
  expect(all.map(one => one['phone'])).toEqual(rows.map(row => row.phone).reverse())
  const filters: [string, (one: Record<string, unknown>) => boolean][] = [
    ['', () => true],
    ['status=completed', one => one['status'] === 'completed'],
    ['status=pending', one => one['status'] === 'pending'],
    ['status=skipped', () => false],
    ['goal=reached', one => one['goal_reached'] === true],
    ['goal=not_reached', one => one['goal_reached'] === false],
    ['goal=reached&status=completed', one => one['goal_reached'] === true],
    ['goal=reached&status=busy', () => false],
  ]
  for (const [query, keeps] of filters) {
    const wanted = all.filter(keeps)
    for (const offset of [0, 3, 22, 23, 1000]) {
      const { body } = await owner.call('GET', `/campaigns/${id}/contacts?${query}&limit=5&offset=${offset}`)
      expect(body, `${query} ${offset}`).toEqual({
        items: wanted.slice(offset, offset + 5),
        total: wanted.length,
        limit: 5,
        offset,
      })
    }
  }
  expect((await owner.call('GET', `/campaigns/${id}/contacts?goal=maybe`)).status).toBe(400)
})
