/** Large lists: read from an index, never sorted, and no slower as the table grows. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject } from '../../control/agents/projects/service.ts'
import type { Db } from '../../control/platform/db/connect.ts'
import { CallFilters } from '../../control/telephony/call-setup/schema.ts'
import { selectCalls } from '../../control/telephony/call-setup/sql.ts'
import { fillCalls } from '../support/calls.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
let owner: Tenant
let second: string
beforeAll(async () => {
  control = await createControl()
  owner = await createTenant(control)
  second = (await createProject(control.deps, owner.ownerId, { name: 'Second', language: 'en' })).id
  await fillCalls(control.deps.sql, owner.ownerId, owner.projectId, { rows: 20_000 })
  await fillCalls(control.deps.sql, owner.ownerId, second, {
    rows: 200,
    from: 20_000,
    status: 'busy',
    direction: 'web',
  })
}, 180_000)
afterAll(() => control?.close())

interface Plan {
  'Node Type': string
  'Parent Relationship'?: string
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Plan[]
}

/** The statement that the list really runs, explained. */
async function explain(filters: object): Promise<{ nodes: string[]; blocks: number }> {
  const { sql } = control.deps
  let explained: Promise<{ 'QUERY PLAN': [{ Plan: Plan }] }[]> | undefined
  const spy = ((first: TemplateStringsArray, ...rest: never[]) => {
    if (!Array.isArray(first) || !('raw' in first))
      return (sql as never as (...args: unknown[]) => unknown)(first, ...rest)
    if (!/^\s*select/.test(first[0]!)) return (sql as never as (...args: unknown[]) => unknown)(first, ...rest)
    if (explained) return [{ total: 0 }]
    const texts = [`explain (analyze, buffers, format json) ${first[0]}`, ...first.slice(1)]
    const strings = Object.assign(texts, { raw: texts }) as never as TemplateStringsArray
    explained = (sql as never as (...args: unknown[]) => typeof explained)(strings, ...rest)
    return []
  }) as never as Db
  await selectCalls(spy, owner.ownerId, CallFilters.parse(filters))
  const [row] = (await explained)!
  const plan = row!['QUERY PLAN'][0].Plan
  const nodes: string[] = []
  const visit = (node: Plan) => {
    if (node['Parent Relationship'] === 'InitPlan') return // the total, off the counters
    nodes.push(node['Node Type'])
    for (const inner of node.Plans ?? []) visit(inner)
  }
  visit(plan)
  return { nodes, blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] }
}

describe('a page of calls', () => {
  const filters: [string, () => object][] = [
    ['all', () => ({})],
    ['of a project', () => ({ project_id: second })],
    ['of a direction', () => ({ direction: 'in' })],
    ['of a status', () => ({ status: 'completed' })],
    ['of a status of which there are few', () => ({ status: 'busy' })],
    ['of a status of which there are none', () => ({ status: 'in_progress' })],
    ['of a project and status', () => ({ project_id: second, status: 'busy' })],
    ['of everything', () => ({ project_id: second, status: 'busy', direction: 'web' })],
  ]
  test.each(filters)('%s: read off an index, not sorted, few blocks', async (_, make) => {
    const { nodes, blocks } = await explain(make())
    expect(nodes.join()).toMatch(/Index (?:Only )?Scan/)
    expect(nodes.join()).not.toMatch(/Sort|Seq Scan|Bitmap/)
    expect(blocks).toBeLessThan(300)
  })

  test('costs the same when there are five times as many', async () => {
    const before = await explain({})
    await fillCalls(control.deps.sql, owner.ownerId, owner.projectId, { rows: 80_000, from: 30_000 })
    const after = await explain({})
    expect(after.blocks).toBeLessThan(before.blocks * 2)
    expect((await owner.call('GET', '/calls?limit=1')).body.total).toBe(100_200)
    expect((await owner.call('GET', '/calls?limit=1&status=busy&direction=web')).body.total).toBe(200)
    expect((await owner.call('GET', '/calls?limit=1&offset=100000')).body).toMatchObject({
      total: 100_200,
      offset: 100_000,
    })
    expect((await owner.call('GET', '/calls?offset=200000')).body).toMatchObject({ total: 100_200, items: [] })
  }, 180_000)
})
