/**
 * Every operation that names an object is requested for another owner's object: the response equals that for an id that
 * never existed, and the object is unchanged. The table is built from the operations; an operation without a fixture
 * fails.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertMember } from '../../control/access/people/sql.ts'
import { insertPasskey } from '../../control/access/second-factor/sql.ts'
import { uuidv7 } from '../../control/platform/ids.ts'
import { type Answer, createControl, createTenant, nextPhone, request, type TestControl } from '../support/control.ts'

type Names = Record<string, string>

interface Owned {
  id: string
  headers: Record<string, string>
  session: Record<string, string>
  names: Names
}

let control: TestControl
/** Owner of the requested resources. */
let alice: Owned
/** Client that requests them. */
let bob: Owned
/** Ids that have never existed. */
let nobody: Names
let statements: string[]

beforeAll(async () => {
  control = await createControl()
  alice = await createOwned('alice@example.com', 'ALICES')
  bob = await createOwned('bob@example.com', 'BOBS')
  const id = () => uuidv7(control.deps.clock.wall())
  nobody = {
    project_id: id(),
    call_id: id(),
    contact_id: id(),
    trunk_id: id(),
    webhook_id: id(),
    delivery_id: id(),
    softphone_id: id(),
    source_id: id(),
    job_id: id(),
    directory_id: id(),
    campaign_id: id(),
    campaign_contact_id: id(),
    key_id: id(),
    monitor_id: id(),
    session_id: id(),
    member_id: id(),
    invitation_id: id(),
    passkey_id: id(),
    number: nextPhone(),
    phone: nextPhone(),
    name: 'NOBODYS',
  }
  statements = []
  control.deps.sql.options.debug = (_: number, query: string) => void statements.push(query.replace(/\s+/g, ' '))
})
afterAll(() => control?.close())

/** An owner with one object of every kind, created over the API. */
async function createOwned(email: string, name: string): Promise<Owned> {
  const tenant = await createTenant(control, { money: '1000' })
  const { sql } = control.deps
  const made = async (method: 'POST', path: string, body?: object) => {
    const answer = await tenant.call(method, path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  // A session of the same account.
  const payload = { email, password: 'a long enough one' }
  const entered = await request(control.app, { method: 'POST', url: '/auth/sign-up', payload })
  await sql`update sessions set owner_id = ${tenant.ownerId} where owner_id = ${entered.body.account_id}`
  const session = {
    cookie: String(entered.headers['set-cookie']).split(';')[0]!,
    origin: control.deps.config.base_url,
  }
  const key = await request(control.app, {
    method: 'POST',
    url: '/v1/public/keys',
    headers: session,
    payload: { name: 'Another', scopes: ['read'] },
  })
  const tool = { name, method: 'GET', url: 'https://api.example.com/x' }
  await tenant.call('PATCH', `/projects/${tenant.projectId}`, { tools: [tool] })
  const [own] = await sql`select id from sessions where owner_id = ${tenant.ownerId}`
  const memberId = uuidv7(control.deps.clock.wall())
  await insertMember(sql, {
    id: memberId,
    owner_id: tenant.ownerId,
    email: `member-of-${email}`,
    name: 'Member',
    role: 'operator',
    password_hash: null,
    created_at: new Date(),
  })
  const passkeyId = uuidv7(control.deps.clock.wall())
  await insertPasskey(sql, {
    id: passkeyId,
    owner_id: tenant.ownerId,
    person_id: tenant.ownerId,
    credential_id: `credential of ${email}`,
    public_key: Buffer.from('key'),
    counter: 0,
    transports: [],
    name: 'Laptop',
    created_at: new Date(),
  })
  // With a second factor, sensitive operations need a proof that is not old.
  await sql`update sessions set proved_at = now(), stepped_up_at = now() where owner_id = ${tenant.ownerId}`
  const invitation = await request(control.app, {
    method: 'POST',
    url: '/v1/public/invitations',
    headers: session,
    payload: { email: `invited-by-${email}`, role: 'operator' },
  })
  const phone = nextPhone()
  const call = await made('POST', '/calls', { project_id: tenant.projectId, phone })
  const webhook = await made('POST', '/webhooks', { url: 'https://example.com/hook', events: ['call.failed'] })
  const delivery = await made('POST', `/webhooks/${webhook.id}/test`)
  const softphone = await made('POST', '/softphones', { name: 'Desk', project_id: tenant.projectId })
  const source = await made('POST', `/projects/${tenant.projectId}/knowledge`, { type: 'text', content: name })
  const unwanted = await made('POST', '/do-not-call', { phone: nextPhone() })
  await made('POST', '/secrets', { name, value: 'hidden' })
  const campaign = await made('POST', '/campaigns', { name, project_id: tenant.projectId })
  await made('POST', `/campaigns/${campaign.id}/contacts`, [{ phone: nextPhone() }])
  const job = await made('POST', '/lead-search', {
    brief_raw: name,
    brief_parsed: { niche: name, geo: 'Oakland', signals: [], exclusions: [], target_leads: 1, queries: [] },
    accept_terms: true,
  })
  const table = await request(control.app, {
    method: 'POST',
    url: '/v1/public/lead-search/directories',
    headers: { 'x-api-key': tenant.key, ...FORM },
    payload: forms['add_lead_directory']!,
  })
  if (table.status !== 201) throw new Error(JSON.stringify(table.body))
  const [dialled] = (await tenant.call('GET', `/campaigns/${campaign.id}/contacts`)).body.items
  return {
    id: tenant.ownerId,
    headers: { 'x-api-key': tenant.key },
    session,
    names: {
      project_id: tenant.projectId,
      call_id: call.id,
      contact_id: call.contact_id,
      trunk_id: tenant.trunkId,
      webhook_id: webhook.id,
      delivery_id: delivery.id,
      key_id: key.body.id,
      session_id: own!['id'],
      member_id: memberId,
      invitation_id: invitation.body.id,
      passkey_id: passkeyId,
      number: tenant.number,
      softphone_id: softphone.id,
      campaign_id: campaign.id,
      campaign_contact_id: dialled.id,
      source_id: source.id,
      job_id: job.id,
      directory_id: table.body.id,
      monitor_id: uuidv7(control.deps.clock.wall()),
      phone: unwanted.phone,
      name,
    },
  }
}

/** Bodies of operations that need one. */
const bodies: Record<string, (names: Names) => object> = {
  place_call: ({ project_id }) => ({ project_id, phone: '+14155550199' }),
  bind_number: ({ number }) => ({ number, direction: 'both' }),
  verify_number: () => ({}),
  confirm_number_verification: () => ({ code: '123456' }),
  test_tool: () => ({ arguments: {} }),
  monitor_call: () => ({ mode: 'listen' }),
  add_knowledge: () => ({ type: 'text', content: 'Stolen' }),
  add_knowledge_file: () => ({}),
  search_knowledge: () => ({ query: 'secret' }),
  update_member: () => ({ role: 'admin' }),
  update_project: () => ({ name: 'Stolen' }),
  update_contact: () => ({ name: 'Stolen' }),
  update_trunk: () => ({ name: 'Stolen' }),
  update_softphone: () => ({ name: 'Stolen' }),
  update_webhook: () => ({ url: 'https://thief.example/hook' }),
  update_campaign: () => ({ name: 'Stolen' }),
  upload_campaign_contacts: () => [{ phone: '+14155550199' }],
  start_campaign: () => ({ consent: true }),
  create_lead_campaign: () => ({}),
  update_lead_directory: () => ({ name: 'Stolen' }),
}

interface Operation {
  id: string
  method: string
  url: string
  scope: string
  body?: unknown
}

/** Sends a request as Bob; `statements` collects its database statements, without those of authentication. */
const FORM = { 'content-type': 'multipart/form-data; boundary=x' }
const forms: Record<string, string> = {
  add_knowledge_file: '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n',
  add_lead_directory:
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\ncompany,phone\r\nAurora,+14155550100\r\n--x--\r\n',
}

async function ask({ id, method, url, scope, body }: Operation, names: Names): Promise<Answer & { asked: number }> {
  const path = url.replace(/:(\w+)/g, (_, name: string) => {
    if (names[name] === undefined) throw new Error(`${id}: no fixture for :${name}`)
    return encodeURIComponent(names[name])
  })
  if (body !== undefined && method !== 'GET' && !bodies[id]) throw new Error(`${id}: no body in the table`)
  statements.length = 0
  const payload = forms[id] ?? bodies[id]?.(names)
  const answer = await request(control.app, {
    method: method as 'GET',
    url: path,
    headers: { ...(scope === 'session' ? bob.session : bob.headers), ...(forms[id] ? FORM : {}) },
    ...(payload ? { payload } : {}),
  })
  return {
    ...answer,
    asked: statements.filter(one => !/from (?:api_keys|sessions)\b|set last_used_at =/.test(one)).length,
  }
}

const withoutId = ({ status, body }: Answer) => ({ status, body: { ...body, request_id: null } })

/** Everything that is Alice's, table by table. */
async function everythingOf(owner: Owned): Promise<unknown> {
  const { sql } = control.deps
  const tables = await sql<{ table_name: string }[]>`
    select c.table_name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'parley' and c.column_name = 'owner_id' and t.table_type = 'BASE TABLE' order by 1`
  expect(tables.length).toBeGreaterThan(8)
  const rows: Record<string, unknown> = {}
  for (const { table_name } of tables) {
    rows[table_name] = await sql`
      select to_jsonb(t)::text as row from ${sql(table_name)} t where t.owner_id = ${owner.id} order by 1`
  }
  return rows
}

const named = (): Operation[] =>
  control.app.operations.filter(operation => operation.url.includes(':') || operation.id === 'place_call')

test('returns 404 for an object of another owner in every operation', async () => {
  const before = await everythingOf(alice)
  const seen: string[] = []
  for (const operation of named()) {
    const foreign = await ask(operation, alice.names)
    const missing = await ask(operation, nobody)
    expect([operation.id, missing.status, missing.body.code]).toEqual([operation.id, 404, 'not_found'])
    expect([operation.id, withoutId(foreign)]).toEqual([operation.id, withoutId(missing)])
    // The number of statements is the same, so response times reveal nothing either.
    expect(foreign.asked).toBeGreaterThan(0)
    expect([operation.id, foreign.asked]).toEqual([operation.id, missing.asked])
    seen.push(operation.id)
  }
  expect(seen.length).toBeGreaterThan(22)
  expect(await everythingOf(alice)).toEqual(before)
})

test('returns 404 below an own object, too', async () => {
  const before = await everythingOf(alice)
  const mixed: Record<string, Names> = {
    bind_number: { ...bob.names, number: alice.names['number']! },
    unbind_number: { ...bob.names, number: alice.names['number']! },
    delete_knowledge: { ...bob.names, source_id: alice.names['source_id']! },
    explain_campaign_contact: { ...bob.names, campaign_contact_id: alice.names['campaign_contact_id']! },
    get_webhook_delivery: { ...bob.names, delivery_id: alice.names['delivery_id']! },
    replay_webhook_delivery: { ...bob.names, delivery_id: alice.names['delivery_id']! },
  }
  const absent: Record<string, Names> = {
    bind_number: { ...bob.names, number: nobody['number']! },
    unbind_number: { ...bob.names, number: nobody['number']! },
    delete_knowledge: { ...bob.names, source_id: nobody['source_id']! },
    explain_campaign_contact: { ...bob.names, campaign_contact_id: nobody['campaign_contact_id']! },
    get_webhook_delivery: { ...bob.names, delivery_id: nobody['delivery_id']! },
    replay_webhook_delivery: { ...bob.names, delivery_id: nobody['delivery_id']! },
  }
  const nested = named().filter(({ id, url }) => url.split(':').length > 2 || id === 'bind_number')
  // A tool is a part of its project and a seat of its call: neither has an owner of its own.
  expect(nested.map(({ id }) => id).sort()).toEqual([...Object.keys(mixed), 'test_tool', 'unmonitor_call'].sort())
  for (const operation of nested.filter(({ id }) => id in mixed)) {
    const foreign = await ask(operation, mixed[operation.id]!)
    const missing = await ask(operation, absent[operation.id]!)
    expect([operation.id, foreign.status]).toEqual([operation.id, 404])
    expect([operation.id, withoutId(foreign), foreign.asked]).toEqual([operation.id, withoutId(missing), missing.asked])
  }
  expect(await everythingOf(alice)).toEqual(before)
})

test('lists only own objects, also with filters for others', async () => {
  for (const operation of control.app.operations.filter(({ id }) => id.startsWith('list_'))) {
    if (operation.url.includes(':')) continue
    const url = operation.url
    const headers = operation.scope === 'session' ? bob.session : bob.headers
    const all = await request(control.app, { method: 'GET', url, headers })
    expect([operation.id, all.status]).toEqual([operation.id, 200])
    const text = JSON.stringify(all.body)
    for (const [name, value] of Object.entries(alice.names)) {
      if (name !== 'name') expect([operation.id, name, text.includes(value)]).toEqual([operation.id, name, false])
    }
  }
  for (const path of ['/calls', '/contacts']) {
    const url = `/v1/public${path}?project_id=${alice.names['project_id']}`
    const answer = await request(control.app, { method: 'GET', url, headers: bob.headers })
    expect(answer.body).toMatchObject({ items: [], total: 0 })
  }
})

test('finds the fixtures for their owner', async () => {
  const gets = named().filter(({ method, id }) => method === 'GET' && !/^(?:stream_|get_call_)/.test(id))
  expect(gets.length).toBeGreaterThan(5)
  for (const operation of gets) {
    expect([operation.id, (await ask(operation, bob.names)).status]).toEqual([operation.id, 200])
  }
  // Operations that change data succeed for the owner, in the order of dependencies.
  const order = [
    'test_tool',
    'update_',
    'unbind_',
    'bind_',
    'rotate_',
    'test_',
    'replay_',
    'hang_',
    'revoke_',
    'remove_',
    'delete_k',
    'delete_s',
    'delete_w',
    'delete_t',
    'delete_p',
  ]
  for (const prefix of order) {
    for (const operation of named().filter(({ id }) => id.startsWith(prefix))) {
      const { status, body } = await ask(operation, bob.names)
      expect([operation.id, status, body]).toEqual([operation.id, expect.toSatisfy((one: number) => one < 300), body])
    }
  }
})
