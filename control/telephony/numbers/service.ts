import { selectProject } from '../../agents/projects/sql.ts'
import type { Db } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { toE164 } from '../../platform/phone.ts'
import type { BindDirection } from './schema.ts'
import { deleteBindings, insertBinding, type NumberRow, selectNumber } from './sql.ts'

type OneWay = 'in' | 'out'
const ways = (direction: BindDirection): OneWay[] => (direction === 'both' ? ['in', 'out'] : [direction])

export function presentNumber(row: NumberRow) {
  const byProject = Map.groupBy(row.bindings, binding => binding.project_id)
  const bindings = [...byProject].map(([project_id, bound]) => ({
    project_id,
    direction: (bound.length === 2 ? 'both' : bound[0]!.direction) as BindDirection,
  }))
  return {
    number: row.number,
    trunk_id: row.trunk_id,
    trunk_name: row.trunk_name,
    verified: row.verified_at !== null,
    status: bindings.length > 0 ? ('bound' as const) : ('unbound' as const),
    bindings,
  }
}

/** A limited key may take a number that no project has, and none that only others have. */
const isVisible = ({ bindings }: NumberRow, visible: readonly string[] | null) =>
  visible === null || bindings.length === 0 || bindings.some(one => visible.includes(one.project_id))

export async function bindNumber(
  deps: Pick<Deps, 'sql' | 'clock'>,
  ownerId: string,
  projectId: string,
  input: { number: string; direction: BindDirection },
  save: (db: Db, answer: unknown) => Promise<void> = async () => {},
  /** The projects that a limited key sees; null: all. */
  visible: readonly string[] | null = null,
) {
  const wanted = ways(input.direction)
  return deps.sql.begin(async tx => {
    const project = await selectProject(tx, ownerId, projectId, true) // locked so that it is not deleted meanwhile
    const number = await selectNumber(tx, ownerId, toE164(input.number) ?? '')
    if (!project || !number || !isVisible(number, visible)) throw notFound()
    for (const direction of wanted) {
      await insertBinding(tx, ownerId, { number_id: number.id, project_id: projectId, direction, at: wallDate(deps) })
    }
    const bound = await selectNumber(tx, ownerId, number.number)
    const taken = bound!.bindings.some(one => wanted.includes(one.direction) && one.project_id !== projectId)
    if (taken) throw new Problem('number_bound')
    const seen = bound!.bindings.filter(one => visible === null || visible.includes(one.project_id))
    const view = presentNumber({ ...bound!, bindings: seen })
    await save(tx, view)
    return view
  })
}

export async function unbindNumber(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  projectId: string,
  number: string,
  direction: BindDirection = 'both',
): Promise<string> {
  const row = await selectNumber(deps.sql, ownerId, toE164(number) ?? '')
  const gone = row
    ? await deleteBindings(deps.sql, ownerId, { number_id: row.id, project_id: projectId, directions: ways(direction) })
    : 0
  if (!row || gone === 0) throw notFound()
  return row.number
}
