/**
 * Says what a key that is limited to projects may use. Operations that are not listed concern the whole account, so such a key
 * may not use them.
 */
import type { Db } from '../../platform/db/connect.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'

/**
 * How the project of a request is found. `list`: the operation itself returns only what the key may see. `path`, `body`:
 * `project_id`. The others: the project of the object that the path names.
 */
type Rule = 'list' | 'path' | 'body' | 'call' | 'campaign' | 'contact' | 'shared contact'

const rules: Readonly<Record<string, Rule>> = {
  list_projects: 'list',
  get_project: 'path',
  update_project: 'path',
  delete_project: 'path',
  test_tool: 'path',
  list_knowledge: 'path',
  add_knowledge: 'path',
  add_knowledge_file: 'path',
  delete_knowledge: 'path',
  search_knowledge: 'path',
  list_numbers: 'list',
  bind_number: 'path',
  unbind_number: 'path',
  place_call: 'body',
  list_calls: 'list',
  get_call: 'call',
  erase_call: 'call',
  hang_up_call: 'call',
  stream_call_events: 'call',
  get_call_recording: 'call',
  get_call_trace: 'call',
  monitor_call: 'call',
  unmonitor_call: 'call',
  create_realtime_session: 'body',
  list_contacts: 'list',
  get_contact: 'shared contact',
  update_contact: 'contact',
  delete_contact: 'contact',
  list_campaigns: 'list',
  create_campaign: 'body',
  get_campaign: 'campaign',
  update_campaign: 'campaign',
  delete_campaign: 'campaign',
  upload_campaign_contacts: 'campaign',
  list_campaign_contacts: 'campaign',
  explain_campaign_contact: 'campaign',
  start_campaign: 'campaign',
  pause_campaign: 'campaign',
  resume_campaign: 'campaign',
  stop_campaign: 'campaign',
  requeue_campaign: 'campaign',
  stream_campaign_events: 'campaign',
  get_campaign_results: 'campaign',
}

/** True when a key that is limited to projects has a use for the operation. */
export const concernsProjects = (operation: string): boolean => rules[operation] !== undefined

/** Throws `insufficient_scope` when a key that is limited to projects asks for something of the whole account. */
export function assertConcernsProjects({ projects }: Pick<Caller, 'projects'>, operation: string): void {
  if (projects === null || concernsProjects(operation)) return
  throw new Problem('insufficient_scope', {
    detail: 'This key is limited to projects, and the operation concerns the whole account.',
  })
}

interface Request {
  params: unknown
  body: unknown
}

/**
 * Throws `not_found` for a project that the key may not see, as for one that does not exist. Keys without a limit and
 * sessions pass without a query.
 */
export async function assertProject(
  db: Db,
  caller: Pick<Caller, 'ownerId' | 'projects'>,
  operation: string,
  request: Request,
): Promise<void> {
  const { projects } = caller
  if (projects === null) return
  assertConcernsProjects(caller, operation)
  // Also where the path names the object: a campaign must not be moved to another project.
  const named = [fieldOf(request.params, 'project_id'), fieldOf(request.body, 'project_id')]
  if (named.some(id => id !== null && !projects.includes(id.toLowerCase()))) throw notFound()
  if (!(await isVisible(db, caller.ownerId, projects, rules[operation]!, request))) throw notFound()
}

async function isVisible(
  db: Db,
  ownerId: string,
  projects: readonly string[],
  rule: Rule,
  { params, body }: Request,
): Promise<boolean> {
  switch (rule) {
    case 'list':
      return true
    case 'path':
      return fieldOf(params, 'project_id') !== null
    case 'body':
      return fieldOf(body, 'project_id') !== null
    case 'call':
      return isOfProjects(db, 'calls', ownerId, fieldOf(params, 'call_id'), projects)
    case 'campaign':
      return isOfProjects(db, 'campaigns', ownerId, fieldOf(params, 'campaign_id'), projects)
    case 'contact':
      return isContactOf(db, ownerId, fieldOf(params, 'contact_id'), projects, true)
    case 'shared contact':
      return isContactOf(db, ownerId, fieldOf(params, 'contact_id'), projects, false)
  }
}

function fieldOf(value: unknown, name: string): string | null {
  const field = (value as Record<string, unknown> | null | undefined)?.[name]
  return typeof field === 'string' ? field : null
}

async function isOfProjects(
  db: Db,
  table: 'calls' | 'campaigns',
  ownerId: string,
  id: string | null,
  projects: readonly string[],
): Promise<boolean> {
  const rows = await db`
    select 1 from ${db(table)} where owner_id = ${ownerId} and id = ${id} and project_id = any(${projects as string[]})`
  return rows.length > 0
}

/** A contact may be known to several projects. Only a key for all of them may change it. */
async function isContactOf(
  db: Db,
  ownerId: string,
  id: string | null,
  projects: readonly string[],
  alone: boolean,
): Promise<boolean> {
  const [row] = await db<{ inside: boolean | null; outside: boolean | null }[]>`
    select bool_or(project_id = any(${projects as string[]})) as inside,
      bool_or(project_id <> all(${projects as string[]})) as outside
    from contact_projects join contacts on contacts.id = contact_id
    where contacts.owner_id = ${ownerId} and contacts.id = ${id}`
  return row?.inside === true && !(alone && row.outside)
}
