import type { Db, Tx } from '../db/connect.ts'
import { type Deps, wallDate } from '../deps.ts'
import { notFound } from '../http/problem.ts'
import { uuidv7 } from '../ids.ts'
import { moderate } from '../moderation.ts'
import { defaultSettings, ProjectCreate, type ProjectInput, type ProjectPatch, ProjectSettings } from './schema.ts'
import { insertProject, markDeleted, type ProjectRow, selectProject, updateProject } from './sql.ts'

type Save = (db: Db, answer: unknown) => Promise<void>

export function presentProject(row: ProjectRow) {
  return {
    id: row.id,
    name: row.name,
    language: row.language,
    // Projects saved before a setting existed have its default.
    ...ProjectSettings.parse({ ...defaultSettings, ...row.settings }),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

function check(settings: ProjectSettings): void {
  moderate({
    '/prompt': settings.prompt,
    '/greeting': settings.greeting,
    '/disclosure': settings.disclosure,
    '/goal': settings.goal,
    '/voicemail/text': settings.voicemail.action === 'leave_message' ? settings.voicemail.text : null,
  })
}

function merge(settings: ProjectSettings, patch: ProjectPatch): ProjectSettings {
  const { name: _name, language: _language, ...rest } = patch
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  return { ...settings, ...given }
}

export async function createProjectIn(
  deps: Pick<Deps, 'clock'>,
  tx: Tx,
  ownerId: string,
  input: ProjectInput,
): Promise<ProjectRow> {
  const { name, language, ...rest } = ProjectCreate.parse(input)
  const at = wallDate(deps)
  const settings = merge(defaultSettings, rest)
  check(settings)
  const row = { id: uuidv7(at.getTime()), name, language, settings, created_at: at, updated_at: at }
  await insertProject(tx, ownerId, row)
  return { ...row, owner_id: ownerId, deleted_at: null }
}

export async function createProject(
  deps: Pick<Deps, 'sql' | 'clock'>,
  ownerId: string,
  input: ProjectInput,
  save: Save = async () => {},
): Promise<ProjectRow> {
  return deps.sql.begin(async tx => {
    const row = await createProjectIn(deps, tx, ownerId, input)
    await save(tx, presentProject(row))
    return row
  })
}

export async function getProject(deps: Pick<Deps, 'sql'>, ownerId: string, id: string): Promise<ProjectRow> {
  const row = await selectProject(deps.sql, ownerId, id)
  if (!row) throw notFound()
  return row
}

export async function patchProject(
  deps: Pick<Deps, 'sql' | 'clock'>,
  ownerId: string,
  id: string,
  patch: ProjectPatch,
): Promise<ProjectRow> {
  return deps.sql.begin(async tx => {
    const row = await selectProject(tx, ownerId, id, true)
    if (!row) throw notFound()
    const next: ProjectRow = {
      ...row,
      name: patch.name ?? row.name,
      language: patch.language ?? row.language,
      settings: merge({ ...defaultSettings, ...row.settings }, patch),
      updated_at: wallDate(deps),
    }
    check(next.settings)
    await updateProject(tx, ownerId, next)
    return next
  })
}

/** Its calls stay readable; its numbers are free. */
export async function deleteProject(deps: Pick<Deps, 'sql' | 'clock'>, ownerId: string, id: string): Promise<void> {
  const found = await deps.sql.begin(tx => markDeleted(tx, ownerId, id, wallDate(deps)))
  if (!found) throw notFound()
}
