/** The table of permissions: no operation is missing, and REST and MCP follow it for every role. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey } from '../../control/access/keys/service.ts'
import { insertMember } from '../../control/access/people/sql.ts'
import {
  listedOperations,
  mayGive,
  mayUse,
  openOperations,
  rolesByOperation,
} from '../../control/access/permissions/table.ts'
import { openSession } from '../../control/access/sessions/sessions.ts'
import { type Role, roles } from '../../control/platform/http/caller.ts'
import { uuidv7 } from '../../control/platform/ids.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../support/control.ts'
import { ask, type Target, type Walk, walkDocument } from './owasp/walk.ts'

let control: TestControl
let walk: Walk
let tenant: Tenant
const people = new Map<Role, { id: string; session: Record<string, string>; key: string }>()
beforeAll(async () => {
  control = await createControl()
  walk = await walkDocument(control)
  tenant = await createTenant(control)
  for (const role of roles) people.set(role, await createPerson(role))
})
afterAll(() => control?.close())

async function createPerson(role: Role) {
  const { deps } = control
  const id = uuidv7(deps.clock.wall())
  await insertMember(deps.sql, {
    id,
    owner_id: tenant.ownerId,
    email: `${role}@example.com`,
    name: role,
    role,
    password_hash: null,
    created_at: new Date(),
  })
  const { value } = await createKey(deps, tenant.ownerId, { name: role, scopes: ['read', 'write'], person_id: id })
  return { id, session: await sessionOf(id), key: value }
}

async function sessionOf(id: string) {
  const { token } = await openSession(control.deps, tenant.ownerId, { personId: id })
  return { cookie: `parley_session=${token}`, origin: 'http://control.test' }
}

const behindLogIn = () => walk.targets.filter(({ reach }) => reach !== 'anybody')
const codeOf = async (target: Target, headers: Record<string, string>) =>
  (await ask(control, target, headers)).body?.code

/** Operations that end the session or the account of the one who asks. */
const LAST = ['log_out', 'log_out_everywhere', 'delete_account']

describe('the table', () => {
  test('has every operation once, and no other', () => {
    const ids = behindLogIn().map(({ id }) => id)
    expect([...listedOperations].sort()).toEqual([...ids].sort())
    expect(new Set(listedOperations).size).toBe(listedOperations.length)
    const open = walk.targets.filter(({ reach }) => reach === 'anybody').map(({ id }) => id)
    expect([...openOperations].sort()).toEqual(open.sort())
    const declared = control.app.operations.map(({ id }) => id)
    expect(declared.filter(id => !rolesByOperation.has(id))).toEqual([])
  })

  test('is published with each operation', () => {
    const paths = walk.document['paths'] as Record<
      string,
      Record<string, { operationId: string; 'x-roles'?: string[] }>
    >
    for (const operation of Object.values(paths).flatMap(methods => Object.values(methods))) {
      expect([operation.operationId, operation['x-roles'] ?? null]).toEqual([
        operation.operationId,
        rolesByOperation.get(operation.operationId) ?? null,
      ])
    }
  })

  test('gives an owner everything, and reading changes nothing', () => {
    for (const id of listedOperations) expect([id, mayUse('owner', id)]).toEqual([id, true])
    const own = [
      ...['change_password', 'log_out', 'log_out_everywhere', 'end_session'],
      ...['verify_second_factor', 'start_totp', 'confirm_totp', 'disable_totp'],
      ...['start_passkey', 'add_passkey', 'remove_passkey', 'renew_recovery_codes'],
    ]
    const reads = walk.targets.filter(({ id, method }) => method !== 'GET' && mayUse('read_only', id))
    expect(reads.map(({ id }) => id).sort()).toEqual([...own, 'search_knowledge'].sort())
  })

  test('lets owner, admin and operator listen, and nobody else', () => {
    for (const id of ['monitor_call', 'get_call_recording']) {
      expect(roles.filter(role => mayUse(role, id))).toEqual(['owner', 'admin', 'operator'])
    }
  })

  test('refuses an operation that is missing to all but owners and admins', () => {
    expect(roles.filter(role => mayUse(role, 'no_such_operation'))).toEqual(['owner', 'admin'])
  })

  test('lets only an owner give or change the role of an owner', () => {
    const able = (given: Role) => roles.filter(giver => mayGive(giver, given))
    expect(able('owner')).toEqual(['owner'])
    for (const role of roles.filter(one => one !== 'owner')) expect(able(role)).toEqual(['owner', 'admin'])
    expect(mayGive('admin', 'developer', 'owner')).toBe(false)
  })
})

describe.each(roles)('%s', role => {
  test('uses over REST what the table says, by session and by key', async () => {
    const { session, key } = people.get(role)!
    for (const target of behindLogIn().filter(({ id }) => !LAST.includes(id))) {
      const code = await codeOf(target, session)
      expect([target.id, code === 'insufficient_role']).toEqual([target.id, !mayUse(role, target.id)])
      if (target.reach === 'session') continue
      const byKey = await codeOf(target, { 'x-api-key': key })
      expect([target.id, byKey === 'insufficient_role']).toEqual([target.id, !mayUse(role, target.id)])
    }
  })

  test('ends the own sessions; the account is deleted by owners only', async () => {
    const { id } = people.get(role)!
    for (const operation of LAST) {
      const target = walk.targets.find(one => one.id === operation)!
      const code = await codeOf(target, await sessionOf(id))
      expect([operation, code === 'insufficient_role']).toEqual([operation, !mayUse(role, operation)])
    }
  })

  test('has the tools over MCP that the table says', async () => {
    const { key } = people.get(role)!
    const mcp = async (method: string, params: object) => {
      const headers = { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' }
      const payload = { jsonrpc: '2.0', id: 1, method, params }
      return (await request(control.app, { method: 'POST', url: '/mcp', headers, payload })).body.result
    }
    const { tools } = await mcp('tools/list', {})
    const names = tools.map(({ name }: { name: string }) => name).sort()
    const all = control.app.operations.filter(({ notATool }) => notATool === undefined).map(({ id }) => id)
    expect(names).toEqual(all.filter(id => mayUse(role, id)).sort())
    const refused = all.find(id => !mayUse(role, id))
    if (refused === undefined) return
    const answer = await mcp('tools/call', { name: refused, arguments: {} })
    expect(answer.isError).toBe(true)
    expect(JSON.parse(answer.content[0].text).code).toBe('insufficient_role')
  })
})
