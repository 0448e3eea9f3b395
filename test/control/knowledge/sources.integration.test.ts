/** Sources over REST: accepted and rejected input, duplicates, and deletion with all data. */
import { randomUUID } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey } from '../../../control/access/keys/service.ts'
import { type Control, startControl } from '../../../control/app.ts'
import { eraseAccount } from '../../../control/data/accounts/operator.ts'
import { sweepKnowledge } from '../../../control/knowledge/service.ts'
import { contentKey } from '../../../control/knowledge/storage.ts'
import { uuidv7 } from '../../../control/platform/ids.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../../support/control.ts'
import { until } from '../../support/world.ts'

let control: TestControl
let running: Control
let url: string
let owner: Tenant
beforeAll(async () => {
  control = await createControl()
  running = await startControl(control.deps)
  url = await control.app.listen({ port: 0, host: '127.0.0.1' })
  owner = await createTenant(control)
})
afterAll(async () => {
  await running?.stop()
  await control?.close()
})

const at = (tenant: Tenant) => `/projects/${tenant.projectId}/knowledge`
const listed = async (tenant: Tenant) => (await tenant.call('GET', at(tenant))).body.items
const settled = (tenant: Tenant, id: string) =>
  until(
    async () =>
      (await listed(tenant)).find(
        (one: { id: string; status: string }) => one.id === id && /ready|error/.test(one.status),
      ),
    'the source to be indexed',
    20_000,
  )

/** Over a real connection. */
async function send(tenant: Tenant, form: FormData, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/v1/public${at(tenant)}/file`, {
    method: 'POST',
    headers: { 'x-api-key': tenant.key, ...headers },
    body: form,
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}
const formOf = (...files: [name: string, content: string | Uint8Array<ArrayBuffer>][]) => {
  const form = new FormData()
  for (const [name, content] of files) form.append('file', new Blob([content]), name)
  return form
}
const codeOf = (answer: { status: number; body: { code: string; errors?: { pointer: string; code: string }[] } }) => [
  answer.status,
  answer.body.code,
  answer.body.errors?.[0]?.code,
]
/** Uploads and texts that lie about; what is being indexed has files of its own. */
const onTheirWay = async () =>
  (await readdir(control.deps.knowledge!.temp).catch(() => [])).filter(name => !name.startsWith('index-'))

describe('a text', () => {
  test('is created, indexed, listed and found', async () => {
    const created = await owner.call('POST', at(owner), {
      type: 'text',
      title: 'House rules',
      content: '# Pets\n\nDogs are welcome on the terrace.\n\n# Parking\n\nThere are twelve places behind the house.',
    })
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      id: created.body.id,
      kind: 'text',
      name: 'House rules',
      status: 'pending',
      chunks: 0,
      pages: 0,
      skipped: [],
      error: null,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    const ready = await settled(owner, created.body.id)
    expect(ready).toMatchObject({ status: 'ready', pages: 1, error: null })
    expect(ready.chunks).toBeGreaterThan(0)
    const found = await owner.call('POST', `${at(owner)}/search`, { query: 'where can I park my car', limit: 1 })
    expect(found.status).toBe(200)
    expect(found.body.items).toHaveLength(1)
    expect(found.body.items[0]).toMatchObject({
      source_id: created.body.id,
      source: 'House rules',
      text: expect.stringContaining('twelve places'),
      url: null,
    })
    expect((await owner.call('GET', `${at(owner)}?limit=1&offset=0`)).body).toMatchObject({ total: 1, limit: 1 })
  }, 180_000)

  test('is one source per project for the same content', async () => {
    const body = { type: 'text', title: 'One', content: 'The same words again.' }
    const [first, second] = await Promise.all([
      owner.call('POST', at(owner), body),
      owner.call('POST', at(owner), { ...body, title: 'Two' }),
    ])
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body.id).toBe(first.body.id)
    const asFile = await send(owner, formOf(['same.txt', body.content]))
    expect([asFile.status, asFile.body.id]).toEqual([201, first.body.id])
    const other = await createTenant(control)
    expect((await other.call('POST', at(other), body)).body.id).not.toBe(first.body.id)
  })

  test.each([
    [{ type: 'text' }, '/content', 'required'],
    [{ type: 'text', content: ' \n ' }, '/content', 'empty'],
    [{ type: 'text', content: 'x', url: 'https://a.example/' }, '/url', 'unknown_field'],
    [{ type: 'text', content: 'x', max_pages: 3 }, '/max_pages', 'unknown_field'],
    [{ type: 'url' }, '/url', 'required'],
    [{ type: 'url', url: 'ftp://a.example/' }, '/url', 'custom'],
    [{ type: 'url', url: 'https://a:b@a.example/' }, '/url', 'custom'],
    [{ type: 'url', url: 'https://a.example/', max_pages: 0 }, '/max_pages', 'too_small'],
    [{ type: 'url', url: 'https://a.example/', max_pages: 51 }, '/max_pages', 'too_big'],
    [{ type: 'url', url: 'https://a.example/', depth: 2 }, '/depth', 'unknown_field'],
    [{ type: 'file' }, '/type', 'invalid_value'],
  ])('rejects text or address %j', async (body, pointer, code) => {
    const answer = await owner.call('POST', at(owner), body)
    expect([answer.status, answer.body.errors[0].pointer, answer.body.errors[0].code]).toEqual([400, pointer, code])
  })

  test('requires write to add and read to list', async () => {
    const { value } = await createKey(control.deps, owner.ownerId, { name: 'reader', scopes: ['read'] })
    const headers = { 'x-api-key': value }
    const ask = (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) =>
      request(control.app, { method, url: `/v1/public${at(owner)}${path}`, headers, ...(payload ? { payload } : {}) })
    expect((await ask('GET', '')).status).toBe(200)
    expect((await ask('POST', '/search', { query: 'dogs' })).status).toBe(200)
    expect((await ask('POST', '', { type: 'text', content: 'x' })).status).toBe(403)
    expect((await ask('POST', '/file', {})).status).toBe(403)
    expect((await ask('DELETE', `/${randomUUID()}`)).status).toBe(403)
  })
})

describe('a file', () => {
  test('keeps its file name', async () => {
    const content = 'Возврат товара возможен в течение четырнадцати дней.'
    const created = await send(owner, formOf(['Правила возврата.md', `# Возврат\n\n${content}\n`]))
    expect([created.status, created.body.kind, created.body.name]).toEqual([201, 'file', 'Правила возврата.md'])
    expect((await settled(owner, created.body.id)).status).toBe('ready')
    const found = await owner.call('POST', `${at(owner)}/search`, { query: 'сколько дней на возврат' })
    expect(found.body.items[0]).toMatchObject({ source: 'Правила возврата.md', text: expect.stringContaining('дней') })
    expect(await onTheirWay()).toEqual([])
  }, 180_000)

  const MB = 1024 * 1024
  const zeroes = (bytes: number) => new Uint8Array(bytes)
  test.each<[string, FormData, string]>([
    ['is missing', formOf(), 'no_file'],
    ['is two', formOf(['a.txt', 'first'], ['b.txt', 'second']), 'too_many_files'],
    ['is empty', formOf(['a.txt', '']), 'empty'],
    ['is a program', formOf(['setup.exe', 'MZ\x90\0\x03']), 'unsupported_type'],
    ['is a PDF by the name of a text', formOf(['a.txt', '%PDF-1.7\n%âãÏÓ\n1 0 obj']), 'content_mismatch'],
    ['is no PDF at all', formOf(['a.pdf', 'Just words.']), 'content_mismatch'],
    ['is garbage by the name of a text', formOf(['a.txt', zeroes(5000)]), 'content_mismatch'],
    ['is a text of more than 5 MB', formOf(['a.txt', 'word '.repeat(MB + 10)]), 'too_large'],
    ['is of more than 20 MB', formOf(['a.pdf', `%PDF-1.7\n${'x'.repeat(20 * MB)}`]), 'too_large'],
  ])('is rejected when it %s', async (_, form, code) => {
    expect(codeOf(await send(owner, form))).toEqual([400, 'validation_failed', code])
    expect(await onTheirWay()).toEqual([])
  })

  test('rejects a missing file and more than one', async () => {
    const form = new FormData()
    form.append('title', 'Price list')
    expect(codeOf(await send(owner, form))).toEqual([400, 'validation_failed', 'unknown_field'])
    form.append('file', new Blob(['words']), 'a.txt')
    expect(codeOf(await send(owner, form))).toEqual([400, 'validation_failed', 'unknown_field'])
  })

  test('requires a complete multipart body and an existing project', async () => {
    const post = (path: string, payload: string | object, type: string) =>
      request(control.app, {
        method: 'POST',
        url: `/v1/public${path}/file`,
        headers: { 'x-api-key': owner.key, 'content-type': type },
        payload,
      })
    expect((await post(at(owner), { file: 'x' }, 'application/json')).status).toBe(415)
    const head = '--edge\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    const type = 'multipart/form-data; boundary=edge'
    expect(codeOf(await post(at(owner), `${head}half of it`, type))).toEqual([
      ...[400, 'validation_failed', 'malformed_multipart'],
    ])
    expect((await post(at(owner), 'nonsense', 'multipart/form-data')).body.errors[0].code).toBe('malformed_multipart')
    expect((await post(`/projects/${randomUUID()}/knowledge`, `${head}x\r\n--edge--`, type)).status).toBe(404)
    const elsewhere = await request(control.app, {
      method: 'POST',
      url: '/v1/public/calls',
      payload: `${head}x\r\n--edge--`,
      headers: { 'x-api-key': owner.key, 'content-type': type },
    })
    expect(elsewhere.status).toBe(415)
    expect(await onTheirWay()).toEqual([])
  })

  test('is cut off at the size limit and leaves nothing', async () => {
    let sent = 0
    function* endless() {
      yield Buffer.from('--edge\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n')
      for (; sent < 200 * MB; sent += 64 * 1024) yield Buffer.alloc(64 * 1024, 'a')
    }
    const sending = httpRequest(`${url}/v1/public${at(owner)}/file`, {
      method: 'POST',
      headers: { 'x-api-key': owner.key, 'content-type': 'multipart/form-data; boundary=edge' },
    })
    await expect(pipeline(Readable.from(endless()), sending)).rejects.toThrow()
    expect(sent).toBeLessThan(100 * MB)
    await until(async () => (await onTheirWay()).length === 0, 'the file to be removed')
  }, 180_000)

  test('is created once per Idempotency-Key; another file is another request', async () => {
    const key = { 'idempotency-key': randomUUID() }
    const first = await send(owner, formOf(['once.txt', 'Only once, please.']), key)
    const again = await send(owner, formOf(['once.txt', 'Only once, please.']), key)
    expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([201, first.body, 'true'])
    const other = await send(owner, formOf(['once.txt', 'Something else.']), key)
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_mismatch'])
    expect(await onTheirWay()).toEqual([])
  })

  test('reports a storage failure and leaves nothing', async () => {
    const { blobs } = control.deps
    const store = blobs.store
    blobs.store = () => Promise.reject(new Error('the disk is full'))
    try {
      const refused = await send(owner, formOf(['full.txt', 'Nowhere to go.']))
      expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable'])
    } finally {
      blobs.store = store
    }
    const rows = await control.deps.sql`select 1 from knowledge_sources where name = 'full.txt'`
    expect(rows).toEqual([])
    expect((await send(owner, formOf(['full.txt', 'Nowhere to go.']))).status).toBe(201)
  })

  test('is stored although a concurrent request failed', async () => {
    const { blobs, sql } = control.deps
    const store = blobs.store
    const waiting: (() => void)[] = []
    const storing = () => until(() => waiting.length === 2, 'both to store')
    blobs.store = async (...args) => {
      const isFirst = waiting.length === 0
      await new Promise<void>(resolve => waiting.push(resolve))
      if (isFirst) throw new Error('the disk is full')
      await store(...args)
    }
    const form = () => formOf(['both.txt', 'Sent by two at once.'])
    try {
      const key = { 'idempotency-key': randomUUID() }
      const sent = [send(owner, form()), send(owner, form(), key)]
      await storing()
      waiting[0]!()
      const refused = await Promise.race(sent)
      waiting[1]!()
      const answers = await Promise.all(sent)
      expect(refused.status).toBe(503)
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 503])
      const { body } = answers.find(({ status }) => status === 201)!
      expect(await settled(owner, body.id)).toMatchObject({ name: 'both.txt', status: 'ready' })
      expect(await sql`select 1 from knowledge_sources where name = 'both.txt'`).toHaveLength(1)
    } finally {
      blobs.store = store
    }
    expect((await send(owner, form())).status).toBe(201)
  }, 180_000)
})

test('limits of a project', async () => {
  const tenant = await createTenant(control)
  const { sql } = control.deps
  await sql`
    insert into knowledge_sources (id, owner_id, project_id, kind, name, status, content_hash, stored, created_at)
    select gen_random_uuid(), ${tenant.ownerId}, ${tenant.projectId}, 'text', n, 'ready', decode(md5(n::text), 'hex'), true,
      now() from generate_series(1, 199) n`
  const add = (content: string) => tenant.call('POST', at(tenant), { type: 'text', content })
  const [one, two] = await Promise.all([add('The last one.'), add('One too many.')])
  expect([one.status, two.status].sort()).toEqual([201, 409])
  expect([one, two].find(({ status }) => status === 409)!.body.code).toBe('limit_reached')
  await sql`delete from knowledge_sources where project_id = ${tenant.projectId} and name = '7'`
  await sql`update knowledge_sources set bytes = 500 * 1024 * 1024 where project_id = ${tenant.projectId} and name = '8'`
  expect((await add('There is a place, but no room.')).body.detail).toMatch(/500 MB/)
})

describe('deletion', () => {
  const rowsOf = async (id: string) => {
    const { sql } = control.deps
    const [row] = await sql`
      select (select count(*)::int from knowledge_sources where id = ${id}) as sources,
        (select count(*)::int from knowledge_chunks where source_id = ${id}) as chunks`
    return row
  }
  const contentOf = (tenant: Tenant, id: string) =>
    control.deps.blobs.read(contentKey({ id, owner_id: tenant.ownerId })).then(content => {
      content?.destroy()
      return content !== null
    })
  async function readySource(tenant: Tenant) {
    const { body } = await tenant.call('POST', at(tenant), { type: 'text', content: `Something ${randomUUID()}` })
    await settled(tenant, body.id)
    expect([await rowsOf(body.id), await contentOf(tenant, body.id)]).toEqual([{ sources: 1, chunks: 1 }, true])
    return body.id as string
  }

  test('removes a source with chunks and file, once', async () => {
    const id = await readySource(owner)
    const path = `${at(owner)}/${id}`
    expect((await owner.call('DELETE', path)).body).toEqual({ id, deleted: true })
    expect([await rowsOf(id), await contentOf(owner, id)]).toEqual([{ sources: 0, chunks: 0 }, false])
    expect((await owner.call('DELETE', path)).status).toBe(404)
  }, 180_000)

  test('removes the knowledge of a deleted project', async () => {
    const tenant = await createTenant(control)
    const id = await readySource(tenant)
    await tenant.call('DELETE', `/projects/${tenant.projectId}`)
    expect([await rowsOf(id), await contentOf(tenant, id)]).toEqual([{ sources: 0, chunks: 0 }, false])
    expect((await tenant.call('GET', at(tenant))).status).toBe(404)
  }, 180_000)

  test('removes everything of an erased account, orphaned files too', async () => {
    const tenant = await createTenant(control)
    const id = await readySource(tenant)
    const key = contentKey({ id: randomUUID(), owner_id: tenant.ownerId })
    const file = `${control.deps.knowledge!.temp}/orphan`
    await writeFile(file, 'x')
    await control.deps.blobs.store(key, file, { contentType: 'text/plain', signal: AbortSignal.timeout(5000) })
    // Nobody believes its key any more: that needs no waiting here.
    const clock = { ...control.deps.clock, after: (_: number, run: () => void) => control.deps.clock.after(0, run) }
    await eraseAccount({ ...control.deps, clock }, tenant.ownerId)
    expect([await rowsOf(id), await contentOf(tenant, id)]).toEqual([{ sources: 0, chunks: 0 }, false])
    expect(await control.deps.blobs.read(key)).toBeNull()
  }, 180_000)

  test('removes an upload interrupted by a kill', async () => {
    const { sql } = control.deps
    const id = uuidv7(Date.now())
    await sql`
      insert into knowledge_sources (id, owner_id, project_id, kind, name, status, content_hash, stored, created_at)
      values (${id}, ${owner.ownerId}, ${owner.projectId}, 'file', 'half.txt', 'pending', 'x', false,
        now() - interval '2 hours')`
    expect((await listed(owner)).some((one: { id: string }) => one.id === id)).toBe(false)
    await sweepKnowledge(control.deps)
    expect((await rowsOf(id))!['sources']).toBe(0)
  })
})
