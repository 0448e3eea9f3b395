import { dialingLimitsOf } from '../../billing/limits/service.ts'
import type { Db, Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { limitReached, notFound } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { withJobs } from '../../platform/jobs/jobs.ts'
import { passModeration } from '../moderation/moderation.ts'
import { defaultSettings, ProjectCreate, type ProjectInput, type ProjectPatch, ProjectSettings } from './schema.ts'
import { countProjects, insertProject, markDeleted, type ProjectRow, selectProject, updateProject } from './sql.ts'
import { checkTransfers } from './transfers.ts'

/** Upper limit of projects an account may have: the list is not paged. */
const MOST_PROJECTS = 500

type Save = (db: Db, answer: unknown) => Promise<void>

export function presentProject(row: ProjectRow) {
  return {
    id: row.id,
    name: row.name,
    language: row.language,
    // Projects saved before a setting existed get its default.
    ...ProjectSettings.parse({ ...defaultSettings, ...row.settings }),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

/** Collects all texts that instruct an agent or that it speaks. */
function textsOf(settings: Partial<ProjectSettings>) {
  const { prompt, greeting, disclosure, recording_notice, goal, voicemail, tools = [], transfers = [] } = settings
  const texts: Record<string, string | null | undefined> = {
    '/prompt': prompt,
    '/greeting': greeting,
    '/disclosure': disclosure,
    '/recording_notice': recording_notice,
    '/goal': goal,
    '/voicemail/text': voicemail?.action === 'leave_message' ? voicemail.text : null,
  }
  for (const [index, { description, filler }] of tools.entries()) {
    texts[`/tools/${index}/description`] = description
    const phrases = Array.isArray(filler) ? filler.map(stage => stage.text) : [filler]
    texts[`/tools/${index}/filler`] = phrases.filter(phrase => phrase !== null).join('\n')
  }
  for (const [index, { name, description, announce }] of transfers.entries()) {
    texts[`/transfers/${index}/description`] = `${name}\n${description}`
    texts[`/transfers/${index}/announce`] = announce
  }
  return texts
}

const given = (settings: ProjectPatch): Partial<ProjectSettings> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

/** The caller has already moderated the texts, or they are our own. */
export async function createProjectIn(
  deps: Pick<Deps, 'clock'>,
  tx: Tx,
  ownerId: string,
  input: ProjectInput,
): Promise<ProjectRow> {
  const { name, language, ...rest } = ProjectCreate.parse(input)
  const at = wallDate(deps)
  const settings = { ...defaultSettings, ...given(rest) }
  const row = { id: uuidv7(at.getTime()), name, language, settings, created_at: at, updated_at: at }
  await insertProject(tx, ownerId, row)
  return { ...row, owner_id: ownerId, deleted_at: null }
}

type Ports = Pick<Deps, 'sql' | 'clock' | 'fetch' | 'log' | 'config'>

export async function createProject(
  deps: Ports,
  ownerId: string,
  input: ProjectInput,
  save: Save = async () => {},
): Promise<ProjectRow> {
  const { name: _name, language: _language, ...settings } = ProjectCreate.parse(input)
  checkTransfers(settings.transfers ?? [], await dialingLimitsOf(deps, deps.sql, ownerId))
  await passModeration(deps, textsOf(settings as Partial<ProjectSettings>))
  return deps.sql.begin(async tx => {
    if ((await countProjects(tx, ownerId)) >= MOST_PROJECTS) throw limitReached(MOST_PROJECTS, 'projects')
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

export async function patchProject(deps: Ports, ownerId: string, id: string, patch: ProjectPatch): Promise<ProjectRow> {
  try {
    if (patch.transfers) checkTransfers(patch.transfers, await dialingLimitsOf(deps, deps.sql, ownerId))
    // Fields that are not in the patch were moderated when they were saved.
    await passModeration(deps, textsOf(patch as Partial<ProjectSettings>))
  } catch (error) {
    await getProject(deps, ownerId, id) // a missing project takes precedence over other errors
    throw error
  }
  const { name, language, ...rest } = patch
  const row = await updateProject(deps.sql, ownerId, id, { name, language, settings: given(rest), at: wallDate(deps) })
  if (!row) throw notFound()
  return row
}

/** Runs in the transaction that deletes a project. Resolves to a function to call after the commit. */
export type ProjectDeletedHandler = (
  deps: ProjectDeps,
  tx: Tx,
  ownerId: string,
  projectId: string,
) => Promise<() => Promise<void>>

export interface ProjectDeps extends Deps {
  /** Run in this order. */
  projectDeleted: readonly ProjectDeletedHandler[]
}

/** Keeps the calls of the project, unbinds its numbers and deletes its knowledge sources. */
export async function deleteProject(deps: ProjectDeps, ownerId: string, id: string): Promise<void> {
  const { found, after } = await withJobs(deps, async tx => {
    const found = await markDeleted(tx, ownerId, id, wallDate(deps))
    const after: (() => Promise<void>)[] = []
    for (const handler of deps.projectDeleted) after.push(await handler(deps, tx, ownerId, id))
    return { found, after }
  })
  if (!found) throw notFound()
  for (const step of after) await step()
}
