/** The record of a conversation, and the part of it that the next call of the contact gets. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { knownContact } from '../../control/telephony/call-setup/known.ts'
import { selectCall } from '../../control/telephony/call-setup/sql.ts'
import { admitCall } from '../../control/telephony/calls/admit.ts'
import { createDialer } from '../../control/telephony/calls/dialer.ts'
import { finish } from '../../control/telephony/calls/finish.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

const place = async (tenant: Tenant, phone: string, more: object = {}) =>
  (await tenant.call('POST', '/calls', { project_id: tenant.projectId, phone, ...more })).body.id as string
const known = async (tenant: Tenant, id: string, remember: boolean) =>
  knownContact(control.deps.sql, (await selectCall(control.deps.sql, tenant.ownerId, id))!, { remember })

test('a goal is shown by words of the call, and what could not be extracted says why', async () => {
  const tenant = await createTenant(control)
  const id = await place(tenant, nextPhone())
  const part = { goal_reached: true, goal_evidence: 'Yes, on Friday.\0', extraction_problem: 'guests: too many' }
  await finish(control.deps, id, record(part))
  expect((await tenant.call('GET', `/calls/${id}`)).body).toMatchObject({
    goal_evidence: 'Yes, on Friday.',
    extraction_problem: 'guests: too many',
    extracted: null,
  })
})

test('a name that was given on the telephone is the contact’s, unless there is one', async () => {
  const tenant = await createTenant(control)
  const phone = nextPhone()
  const first = await place(tenant, phone)
  await finish(control.deps, first, record({ contact_name: 'Ann Lee' }))
  const found = await tenant.call('GET', '/contacts?q=ann%20lee')
  expect(found.body.items).toMatchObject([{ phone, name: 'Ann Lee' }])
  await finish(control.deps, await place(tenant, phone), record({ contact_name: 'Bob' }))
  expect((await tenant.call('GET', '/contacts?q=bob')).body.items).toEqual([])
  expect(await known(tenant, first, false)).toEqual({ name: 'Ann Lee', history: [] })
})

test('earlier calls are told only where the project remembers, the last three, in order, of this owner', async () => {
  const [tenant, other] = [await createTenant(control), await createTenant(control)]
  const phone = nextPhone()
  for (const summary of ['One.', 'Two.', 'Three.', 'Four.'])
    await finish(control.deps, await place(tenant, phone), record({ summary }))
  await finish(control.deps, await place(other, phone), record({ summary: 'Not yours.' }))
  const id = await place(tenant, phone)
  expect((await known(tenant, id, false))!.history).toEqual([])
  expect((await known(tenant, id, true))!.history.map(({ summary }) => summary)).toEqual(['Two.', 'Three.', 'Four.'])
})

test('vars that nobody gave are told on the call, in and out', async () => {
  const tenant = await createTenant(control)
  const { projectId } = tenant
  await tenant.call('PATCH', `/projects/${projectId}`, {
    prompt: 'For {{name}} of {{ firm }}.',
    greeting: 'Hi {{name}}',
  })
  const id = await place(tenant, nextPhone(), { vars: { firm: 'Acme' }, task: 'Sell {{thing}}' })
  const dialer = createDialer(control.deps)
  await dialer.offer(id)
  await dialer.stop()
  expect((await tenant.call('GET', `/calls/${id}`)).body.missing_vars).toEqual(['name', 'thing'])
  const whole = await place(tenant, nextPhone(), { vars: { firm: 'Acme', name: 'Ann' } })
  expect((await tenant.call('GET', `/calls/${whole}`)).body.missing_vars).toEqual([])
  const admitted = await admitCall(control.deps, {
    engine: 'e',
    boot: 'b',
    trunk_id: tenant.trunkId,
    called: tenant.number,
    caller: nextPhone(),
    source: '192.0.2.1',
  })
  expect(admitted).toMatchObject({ admitted: true, plan: { contact: { name: null, history: [] } } })
  if (admitted.admitted) {
    const detail = await tenant.call('GET', `/calls/${admitted.plan.call_id}`)
    expect(detail.body.missing_vars).toEqual(['name', 'firm'])
  }
})
