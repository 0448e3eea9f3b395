import { againWhenReferenced } from '../../platform/db/again.ts'
import type { Deps } from '../../platform/deps.ts'
import { notFound } from '../../platform/http/problem.ts'
import { time } from '../../platform/http/shapes.ts'
import type { ContactFilters, ContactPatch } from './schema.ts'
import {
  type ContactRow,
  deleteContact,
  lockContact,
  selectContact,
  selectContacts,
  totalContacts,
  updateContact,
} from './sql.ts'

/** `visible`: only these projects are named; null: all. */
export function presentContact(row: ContactRow, visible: readonly string[] | null = null) {
  const { id, phone, name, notes, tags, lead_status, channel, do_not_call, consent } = row
  const project_ids = row.project_ids.filter(project => visible === null || visible.includes(project))
  return {
    id,
    phone,
    name,
    notes,
    tags,
    lead_status,
    channel,
    project_ids,
    last_call_at: time(row.last_call_at),
    do_not_call,
    consent,
    created_at: row.created_at.toISOString(),
  }
}

export async function listContacts(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  filters: ContactFilters,
  visible: readonly string[] | null,
) {
  const [rows, total] = await Promise.all([
    selectContacts(deps.sql, ownerId, { ...filters, visible }),
    totalContacts(deps.sql, ownerId, { ...filters, visible }),
  ])
  return { items: rows.map(row => presentContact(row, visible)), total, limit: filters.limit, offset: filters.offset }
}

export async function getContact(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  id: string,
  visible: readonly string[] | null,
) {
  const row = await selectContact(deps.sql, ownerId, id)
  if (!row) throw notFound()
  return presentContact(row, visible)
}

export async function removeContact(deps: Pick<Deps, 'sql'>, ownerId: string, id: string): Promise<void> {
  await againWhenReferenced(() =>
    deps.sql.begin(async tx => {
      if (!(await lockContact(tx, ownerId, id))) throw notFound()
      await deleteContact(tx, ownerId, id)
    }),
  )
}

/** Omitted fields stay; tags replace the whole list; an empty string clears a field. */
export async function patchContact(deps: Pick<Deps, 'sql'>, ownerId: string, id: string, patch: ContactPatch) {
  return deps.sql.begin(async tx => {
    const before = await lockContact(tx, ownerId, id)
    if (!before) throw notFound()
    const changed = (given: string | undefined, old: string | null) => (given === undefined ? old : given || null)
    await updateContact(tx, ownerId, {
      ...before,
      name: changed(patch.name, before.name),
      notes: changed(patch.notes, before.notes),
      tags: patch.tags ?? before.tags,
      lead_status: changed(patch.lead_status, before.lead_status) as ContactRow['lead_status'],
    })
    return presentContact((await selectContact(tx, ownerId, id))!)
  })
}
