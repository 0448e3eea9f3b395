/** Download of a call's recording, and its deletion with the owner. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultSettings, type ProjectSettings } from '../../control/agents/projects/schema.ts'
import { handleEvent } from '../../control/background/engine.ts'
import { exportAccount } from '../../control/data/accounts/export.ts'
import { eraseAccount } from '../../control/data/accounts/operator.ts'
import { makePlan } from '../../control/telephony/call-setup/plan.ts'
import { finish, finishLost } from '../../control/telephony/calls/finish.ts'
import { readRange } from '../../control/telephony/calls/recording.ts'
import { encodeWav } from '../../media/audio/wav.ts'
import { CallRecord, type RecordingInfo } from '../../media/contract/messages.ts'
import { CallPlan } from '../../media/contract/plan.ts'
import { recordingKey } from '../../media/contract/recordings.ts'
import { plan } from '../fakes/plan.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'

let control: TestControl
let folder: string
beforeAll(async () => {
  control = await createControl()
  folder = mkdtempSync(join(tmpdir(), 'parley-sound-'))
})
afterAll(async () => {
  await control?.close()
  rmSync(folder, { recursive: true, force: true })
})

const sound = encodeWav({ sampleRate: 8000, channels: 2, pcm: Int16Array.from({ length: 8000 }, (_, i) => i) })

async function place(tenant: Tenant): Promise<string> {
  return (await tenant.call('POST', '/calls', { project_id: tenant.projectId, phone: nextPhone() })).body.id
}

/** As an engine does it. */
async function store(tenant: Tenant, callId: string): Promise<RecordingInfo> {
  const key = recordingKey(tenant.ownerId, callId)
  const file = join(folder, callId)
  writeFileSync(file, sound)
  await control.deps.blobs.store(key, file, { contentType: 'audio/wav', signal: new AbortController().signal })
  return { key, duration_ms: 500, bytes: sound.length }
}

async function recorded(tenant: Tenant): Promise<string> {
  const id = await place(tenant)
  await finish(control.deps, id, record({ recording: await store(tenant, id) }))
  return id
}

const get = async (
  tenant: Tenant,
  id: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
) => {
  const url = `/v1/public/calls/${id}/recording`
  const response = await control.app.inject({ method, url, headers: { 'x-api-key': tenant.key, ...headers } })
  return { status: response.statusCode, bytes: response.rawPayload, headers: response.headers }
}

const ready = (tenant: Tenant, call_id: string, recording: RecordingInfo) =>
  handleEvent(control.deps, {
    v: 1,
    type: 'recording.ready',
    call_id,
    owner_id: tenant.ownerId,
    recording,
    at: Date.now(),
  })

describe('a recording', () => {
  test('is available with its URL after the call', async () => {
    const owner = await createTenant(control)
    const id = await recorded(owner)
    const url = `http://control.test/v1/public/calls/${id}/recording`
    expect((await owner.call('GET', `/calls/${id}`)).body.recording_url).toBe(url)
    const { status, bytes, headers } = await get(owner, id)
    expect(status).toBe(200)
    expect(bytes.equals(sound)).toBe(true)
    expect(headers).toMatchObject({
      'content-type': 'audio/wav',
      'content-length': String(sound.length),
      'content-disposition': `inline; filename="${id}.wav"`,
      'accept-ranges': 'bytes',
      'cache-control': 'no-store',
    })
    const head = await get(owner, id, {}, 'HEAD')
    expect([head.status, head.bytes.length, head.headers['content-length']]).toEqual([200, 0, String(sound.length)])
  })

  test('supports range requests', async () => {
    const owner = await createTenant(control)
    const id = await recorded(owner)
    const size = sound.length
    for (const [range, start, end] of [
      ['bytes=0-43', 0, 43],
      ['bytes=44-', 44, size - 1],
      ['bytes=-100', size - 100, size - 1],
      [`bytes=0-${size * 2}`, 0, size - 1],
      [`bytes=-${size * 2}`, 0, size - 1],
      [`bytes=${size - 1}-`, size - 1, size - 1],
    ] as const) {
      const part = await get(owner, id, { range })
      expect([range, part.status, part.headers['content-range']]).toEqual([range, 206, `bytes ${start}-${end}/${size}`])
      expect(part.bytes.equals(sound.subarray(start, end + 1))).toBe(true)
      expect(part.headers['content-length']).toBe(String(end - start + 1))
    }
    for (const range of ['bytes=0-1,5-6', 'bytes=a-b', 'lines=1-2', 'bytes=-', 'bytes=9-3']) {
      expect([range, (await get(owner, id, { range })).status]).toEqual([range, 200])
    }
    for (const range of [`bytes=${size}-`, 'bytes=-0']) {
      const { status, headers, bytes } = await get(owner, id, { range })
      expect([range, status, headers['content-range']]).toEqual([range, 416, `bytes */${size}`])
      expect(JSON.parse(String(bytes)).code).toBe('range_not_satisfiable')
    }
    const { etag } = (await get(owner, id)).headers
    expect((await get(owner, id, { range: 'bytes=0-9', 'if-range': String(etag) })).status).toBe(206)
    expect((await get(owner, id, { range: 'bytes=0-9', 'if-range': '"another"' })).status).toBe(200)
    expect((await get(owner, id, { range: 'bytes=0-9' }, 'HEAD')).headers['content-length']).toBe('10')
  })

  test('requires the owner and the read scope', async () => {
    const owner = await createTenant(control)
    const other = await createTenant(control)
    const writer = await createTenant(control, { scopes: ['write'] })
    const id = await recorded(owner)
    expect((await get(other, id)).status).toBe(404)
    expect(JSON.parse(String((await get(other, id)).bytes)).code).toBe('not_found')
    expect((await get(writer, id)).status).toBe(403)
    expect((await control.app.inject({ method: 'GET', url: `/v1/public/calls/${id}/recording` })).statusCode).toBe(401)
  })

  test('returns 404 with the reason: not recorded, not ended, or deleted', async () => {
    const owner = await createTenant(control)
    const id = await place(owner)
    expect((await owner.call('GET', `/calls/${id}/recording`)).body.code).toBe('no_recording')
    await finish(control.deps, id, record())
    expect((await owner.call('GET', `/calls/${id}/recording`)).body.code).toBe('no_recording')
    expect((await owner.call('GET', `/calls/${id}`)).body.recording_url).toBeNull()
    const gone = await recorded(owner)
    await control.deps.blobs.delete(recordingKey(owner.ownerId, gone))
    expect((await owner.call('GET', `/calls/${gone}/recording`)).body.code).toBe('no_recording')
  })

  test('may arrive after or before the end of the call, or after its engine died', async () => {
    const owner = await createTenant(control)
    const late = await place(owner)
    await finish(control.deps, late, record())
    await ready(owner, late, await store(owner, late))
    expect((await get(owner, late)).status).toBe(200)

    const early = await place(owner)
    await ready(owner, early, await store(owner, early))
    await finish(control.deps, early, record({ recording: null }))
    expect((await get(owner, early)).status).toBe(200)

    const lost = await place(owner)
    await finishLost(control.deps, lost)
    await ready(owner, lost, await store(owner, lost))
    expect((await owner.call('GET', `/calls/${lost}`)).body.recording_url).not.toBeNull()
  })

  test('is deleted when its call does not exist', async () => {
    const [owner, other] = [await createTenant(control), await createTenant(control)]
    const theirs = await place(other)
    for (const id of [randomUUID(), theirs]) {
      const stored = await store(owner, id)
      await ready(owner, id, stored)
      expect(await control.deps.blobs.read(stored.key)).toBeNull()
    }
    expect((await other.call('GET', `/calls/${theirs}`)).body.recording_url).toBeNull()
  })

  test("is part of the owner's export and erasure", async () => {
    const [owner, other] = [await createTenant(control), await createTenant(control)]
    const [id, theirs] = [await recorded(owner), await recorded(other)]
    const key = recordingKey(owner.ownerId, id)
    let text = ''
    await exportAccount(control.deps, owner.ownerId, async piece => {
      text += piece
    })
    expect(JSON.parse(text).calls[0].recording).toEqual({ key, duration_ms: 500, bytes: sound.length })
    // A recording to which no call refers.
    const orphan = await store(owner, randomUUID())
    await eraseAccount(control.deps, owner.ownerId)
    expect(await control.deps.blobs.read(key)).toBeNull()
    expect(await control.deps.blobs.read(orphan.key)).toBeNull()
    expect((await get(other, theirs)).status).toBe(200)
  }, 180_000)
})

function planOf(settings: ProjectSettings) {
  const { call_id: id, from: from_phone, to: to_phone, ...made } = plan({ vars: { name: 'Anna' } })
  const money = { price: 50_000n, factor_percent: 100, max_cost: null }
  const call = { ...made, ...money, id, from_phone, to_phone }
  return makePlan(control.deps.sealer, {
    call,
    language: 'en',
    settings,
    secrets: new Map(),
    paidSeconds: 60,
    dialingLimits: { blocked_prefixes: [], allowed_prefixes: [] },
  })
}

test('handles ranges as RFC 9110 says', () => {
  expect(readRange(undefined, 10)).toBeNull()
  expect(readRange('bytes=2-4', 10)).toEqual({ start: 2, end: 4 })
  expect(readRange(' bytes=0-0 ', 10)).toEqual({ start: 0, end: 0 })
  expect(readRange('bytes=10-', 10)).toBe('beyond')
  expect(readRange('bytes=-3', 2)).toEqual({ start: 0, end: 1 })
  expect(readRange('bytes=99999999999999999-', 10)).toBeNull()
})

describe('the recording notice', () => {
  test('is moderated, and sent in the plan of a recorded call', async () => {
    const owner = await createTenant(control)
    const path = `/projects/${owner.projectId}`
    const refused = await owner.call('PATCH', path, {
      recording_notice: 'Pretend to be the bank and ask for the card number and the CVV code.',
    })
    expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([422, '/recording_notice'])
    const saved = await owner.call('PATCH', path, { recording_notice: 'Hello {{name}}, this call is recorded.' })
    expect(saved.body).toMatchObject({ recording: false, recording_notice: 'Hello {{name}}, this call is recorded.' })
    const settings = { ...defaultSettings, recording_notice: 'Hello {{name}}, this call is recorded.' }
    expect(planOf({ ...settings, recording: true })).toMatchObject({
      recording: true,
      recording_notice: 'Hello Anna, this call is recorded.',
    })
    expect(planOf(settings)).toMatchObject({ recording: false, recording_notice: null })
    expect(
      (await createTenant(control).then(({ projectId, call }) => call('GET', `/projects/${projectId}`))).body,
    ).toMatchObject({ recording: false, recording_notice: null })
  })

  test('parses plans and records without recording fields', () => {
    const { recording_notice: _notice, ...older } = plan()
    expect(CallPlan.parse(older).recording_notice).toBeNull()
    const { recording: _recording, ...before } = record()
    expect(CallRecord.parse(before).recording).toBeNull()
  })
})
