import { afterAll, beforeAll, expect, test } from 'vitest'
import { handleEvent } from '../../control/background/engine.ts'
import { finishLost } from '../../control/telephony/calls/finish.ts'
import { createControl, createTenant, nextPhone, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

test('keeps a do-not-call request when the engine dies before the end of the call', async () => {
  const owner = await createTenant(control)
  const phone = nextPhone()
  const { id } = (await owner.call('POST', '/calls', { project_id: owner.projectId, phone })).body
  const event = { v: 1 as const, at: Date.now(), call_id: id, owner_id: owner.ownerId }
  await handleEvent(control.deps, { ...event, seq: 1, type: 'call.started', engine: 'e', boot: 'b' })
  const tool = {
    name: 'do_not_call',
    arguments: {},
    started_ms: 900,
    ms: 1,
    status: 'ok' as const,
    http_status: null,
    result: 'Noted.',
    filler: [],
  }
  await handleEvent(control.deps, { ...event, seq: 2, type: 'tool.finished', tool })
  await finishLost(control.deps, id)
  const again = await owner.call('POST', '/calls', { project_id: owner.projectId, phone })
  expect(again.status).toBeGreaterThanOrEqual(400)
  expect(JSON.stringify(again.body)).toMatch(/do.not.call/i)
})
