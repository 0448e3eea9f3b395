import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertMember } from '../../control/access/people/sql.ts'
import { forgetSessions, openSession } from '../../control/access/sessions/sessions.ts'
import { type Control, startControl } from '../../control/app.ts'
import { uuidv7 } from '../../control/platform/ids.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'
import { until } from '../support/world.ts'

let control: TestControl
let running: Control
let address: string
beforeAll(async () => {
  control = await createControl()
  running = await startControl(control.deps)
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(async () => {
  await running?.stop()
  await control?.close()
})

async function liveCall(owner: Tenant) {
  const { body } = await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })
  const engine = control.engine()
  const emit = engine.emitter({ call_id: body.id, owner_id: owner.ownerId })
  return { id: body.id as string, emit, engine }
}

/** The stream's text as it grows, read until it ends. */
async function open(owner: Tenant, id: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${address}/v1/public/calls/${id}/events`, {
    headers: { 'x-api-key': owner.key, ...headers },
  })
  const stream = { response, text: '', ended: Promise.resolve() }
  stream.ended = (async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) stream.text += chunk
  })()
  return stream
}
const names = (text: string) => [...text.matchAll(/^event: (.+)$/gm)].map(match => match[1])
const turn = (text: string) => ({
  type: 'turn.finished' as const,
  turn: { role: 'agent' as const, text, heard_text: text, started_ms: 0, ended_ms: 1, interrupted: false },
  latency: null,
})

test('streams past and new events once each, and the end', async () => {
  const owner = await createTenant(control)
  const { id, emit, engine } = await liveCall(owner)
  await emit({ type: 'call.started', engine: engine.engine, boot: engine.boot })
  await emit(turn('one'))
  await until(async () => (await owner.call('GET', `/calls/${id}`)).body.transcript.length === 1)
  const stream = await open(owner, id)
  expect(stream.response.headers.get('content-type')).toMatch('text/event-stream')
  await until(() => stream.text.includes('"one"'), 'the past')
  await emit(turn('two'))
  await until(() => stream.text.includes('"two"'), 'the present')
  await emit({ type: 'dtmf.received', digit: '7' })
  await emit({ type: 'call.ended', record: record() })
  await stream.ended
  expect(names(stream.text)).toEqual(['call.started', 'turn.finished', 'turn.finished', 'call.ended'])
  expect(stream.text).toContain('data: {"status":"completed","ended_reason":"caller_hangup"}')

  await until(async () => (await owner.call('GET', `/calls/${id}`)).body.status === 'completed')
  const again = await open(owner, id, { 'last-event-id': '2' })
  await again.ended
  expect(names(again.text)).toEqual(['turn.finished', 'call.ended'])
})

test('ends for a person who has lost the role that may watch', async () => {
  const owner = await createTenant(control)
  const { id, emit, engine } = await liveCall(owner)
  const personId = uuidv7(control.deps.clock.wall())
  await insertMember(control.deps.sql, {
    id: personId,
    owner_id: owner.ownerId,
    email: 'watcher@example.com',
    name: 'Watcher',
    role: 'operator',
    password_hash: null,
    created_at: new Date(),
  })
  const { token } = await openSession(control.deps, owner.ownerId, { personId })
  await emit({ type: 'call.started', engine: engine.engine, boot: engine.boot })
  const response = await fetch(`${address}/v1/public/calls/${id}/events`, {
    headers: { cookie: `parley_session=${token}` },
  })
  expect(response.status).toBe(200)
  await control.deps.sql`update members set role = 'billing' where id = ${personId}`
  forgetSessions(control.deps, owner.ownerId)
  const text = await response.text()
  expect(names(text)).not.toContain('call.ended')
})

test('releases a client that disconnects, and closes the others at shutdown', async () => {
  const owner = await createTenant(control)
  const { id } = await liveCall(owner)
  const leaving = new AbortController()
  const response = await fetch(`${address}/v1/public/calls/${id}/events`, {
    headers: { 'x-api-key': owner.key },
    signal: leaving.signal,
  })
  expect(response.status).toBe(200)
  leaving.abort()
  const staying = await open(owner, id)
  await control.app.close()
  await staying.ended
})
