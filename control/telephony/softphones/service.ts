import { createHash, randomInt } from 'node:crypto'
import {
  SOFTPHONE_REALM,
  type SoftphonePlan,
  SoftphonePlan as SoftphonePlanSchema,
  type SoftphoneState,
} from '../../../media/contract/softphones.ts'
import { selectProject } from '../../agents/projects/sql.ts'
import type { Db, Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import type { Page } from '../../platform/http/paging.ts'
import { limitReached, notFound } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { enqueue, withJobs } from '../../platform/jobs/jobs.ts'
import type { SoftphoneCreate, SoftphonePatch } from './schema.ts'
import {
  countSoftphones,
  deleteSoftphone,
  insertSoftphone,
  lockPublishing,
  lockSoftphone,
  lockSoftphones,
  type SoftphoneRow,
  selectAllSoftphones,
  selectSoftphone,
  selectSoftphoneById,
  selectSoftphones,
  selectSoftphonesOf,
  updateSoftphone,
} from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock' | 'sealer' | 'boss' | 'bus' | 'config'>
type Save = (db: Db, answer: unknown) => Promise<void>

const MOST_SOFTPHONES = 50
/** Characters that cannot be confused when they are read out or typed. */
const LETTERS = 'abcdefghjkmnpqrstvwxyz23456789'
/** Two equal names out of about 10^11 are very unlikely; three indicate a fault. */
const NAME_TRIES = 3
/** Milliseconds after which a list is returned without the state from Redis. */
const REDIS_MS = 1000

const associated = (id: string) => `softphone:${id}`
const letters = (count: number) => Array.from({ length: count }, () => LETTERS[randomInt(LETTERS.length)]).join('')
/** Eighty bits, in groups that can be typed on a phone. */
const newPassword = () => [4, 4, 4, 4].map(letters).join('-')

/** Hashes for digest authentication (RFC 7616 §3.4.2); the password itself is not stored. */
function credentialsOf(username: string, password: string): SoftphonePlan['ha1'] {
  const text = `${username}:${SOFTPHONE_REALM}:${password}`
  const hash = (name: string) => createHash(name).update(text, 'utf8').digest('hex')
  return { md5: hash('md5'), sha256: hash('sha256') }
}

export function presentSoftphone(
  { config, clock }: Pick<Deps, 'config' | 'clock'>,
  row: SoftphoneRow,
  state: SoftphoneState | null,
) {
  const { id, name, project_id, username } = row
  const { host: server, port, transports } = config.sip
  const live = (state?.contacts ?? []).filter(contact => contact.expires_at > clock.wall())
  const contacts = live.map(({ host, port: at, transport, user_agent, expires_at }) => ({
    address: host.includes(':') ? `[${host}]:${at}` : `${host}:${at}`,
    transport,
    user_agent,
    expires_at: new Date(expires_at).toISOString(),
  }))
  return {
    id,
    name,
    project_id,
    username,
    settings: { server, port, transports, realm: SOFTPHONE_REALM, dial: 'agent' },
    status: {
      registered: contacts.length > 0,
      contacts,
      last_seen_at: state === null ? null : new Date(state.seen_at).toISOString(),
    },
    created_at: row.created_at.toISOString(),
  }
}

/** Returns the result of `asked`, or `late` when Redis does not respond in time. */
async function orElse<T>({ clock }: Pick<Deps, 'clock'>, asked: Promise<T>, late: T): Promise<T> {
  let cancel = () => {}
  const patience = new Promise<T>(resolve => {
    cancel = clock.after(REDIS_MS, () => resolve(late))
  })
  return Promise.race([asked.catch(() => late), patience]).finally(() => cancel())
}

const statesOf = (deps: Pick<Deps, 'bus' | 'clock'>, ids: string[]): Promise<(SoftphoneState | null)[]> =>
  orElse(deps, deps.bus.softphones.states(ids), [])

async function checkProject(tx: Tx, ownerId: string, projectId: string): Promise<void> {
  if (await selectProject(tx, ownerId, projectId)) return
  throw notFound()
}

/** `password` is shown now and never again. The engines know it by then, unless Redis is unreachable. */
export async function createSoftphone(
  deps: Ports,
  ownerId: string,
  input: SoftphoneCreate,
  save: Save = async () => {},
) {
  const answer = await insertNew(deps, ownerId, input, save)
  await publishNow(deps, answer)
  return answer
}

/** The job does this too, possibly later; but a user tries a new password at once. */
const publishNow = (deps: Ports, softphone: Pick<SoftphoneRow, 'id' | 'username'>): Promise<void> =>
  orElse(deps, publishSoftphone(deps, softphone), undefined)

async function insertNew(deps: Ports, ownerId: string, { name, project_id }: SoftphoneCreate, save: Save) {
  const created_at = wallDate(deps)
  const id = uuidv7(created_at.getTime())
  return withJobs(deps, async tx => {
    await checkProject(tx, ownerId, project_id)
    await lockSoftphones(tx, ownerId)
    if ((await countSoftphones(tx, ownerId)) >= MOST_SOFTPHONES) throw limitReached(MOST_SOFTPHONES, 'softphones')
    for (let tries = 0; tries < NAME_TRIES; tries++) {
      const [username, password] = [`phone-${letters(8)}`, newPassword()]
      const credentials_sealed = deps.sealer.seal(credentialsOf(username, password), associated(id))
      const row = { id, owner_id: ownerId, project_id, name, username, credentials_sealed, created_at }
      if (!(await insertSoftphone(tx, row))) continue
      await enqueue(deps, tx, 'softphone.publish', { id, username })
      const answer = { ...presentSoftphone(deps, row, null), password }
      await save(tx, answer)
      return answer
    }
    throw new Error('could not find a free user name for a softphone')
  })
}

export async function listSoftphones(deps: Ports, ownerId: string, page: Page) {
  const [rows, total] = await Promise.all([
    selectSoftphones(deps.sql, ownerId, page),
    countSoftphones(deps.sql, ownerId),
  ])
  const ids = rows.map(row => row.id)
  const states = await statesOf(deps, ids)
  const items = rows.map((row, i) => presentSoftphone(deps, row, states[i] ?? null))
  return { items, total, limit: page.limit, offset: page.offset }
}

async function present(deps: Ports, row: SoftphoneRow) {
  const [state] = await statesOf(deps, [row.id])
  return presentSoftphone(deps, row, state ?? null)
}

export async function getSoftphone(deps: Ports, ownerId: string, id: string) {
  const row = await selectSoftphone(deps.sql, ownerId, id)
  if (!row) throw notFound()
  return present(deps, row)
}

export async function patchSoftphone(deps: Ports, ownerId: string, id: string, patch: SoftphonePatch) {
  const row = await deps.sql.begin(async tx => {
    const before = await lockSoftphone(tx, ownerId, id)
    if (!before) throw notFound()
    if (patch.project_id !== undefined) await checkProject(tx, ownerId, patch.project_id)
    const { name = before.name, project_id = before.project_id } = patch
    const next = { ...before, name, project_id }
    await updateSoftphone(tx, ownerId, next)
    return next
  })
  return present(deps, row)
}

/** Registrations with the old password are dropped. */
export async function renewPassword(deps: Ports, ownerId: string, id: string, save: Save) {
  const answer = await withJobs(deps, async tx => {
    const before = await lockSoftphone(tx, ownerId, id)
    if (!before) throw notFound()
    const password = newPassword()
    const credentials_sealed = deps.sealer.seal(credentialsOf(before.username, password), associated(id))
    const row = { ...before, credentials_sealed }
    await updateSoftphone(tx, ownerId, row)
    await enqueue(deps, tx, 'softphone.publish', { id, username: row.username })
    const shown = { ...presentSoftphone(deps, row, null), password }
    await save(tx, shown)
    return shown
  })
  await publishNow(deps, answer)
  return answer
}

export async function removeSoftphone(deps: Ports, ownerId: string, id: string): Promise<void> {
  await withJobs(deps, async tx => {
    const username = await deleteSoftphone(tx, ownerId, id)
    if (username === undefined) throw notFound()
    await enqueue(deps, tx, 'softphone.publish', { id, username })
  })
}

/** Call before an account's rows are deleted: its softphones can no longer register. */
export async function withdrawSoftphones(deps: Pick<Deps, 'boss'>, tx: Tx, ownerId: string): Promise<void> {
  for (const softphone of await selectSoftphonesOf(tx, ownerId)) await enqueue(deps, tx, 'softphone.publish', softphone)
}

function planOf(
  deps: Pick<Deps, 'sealer'>,
  { id, owner_id, username, credentials_sealed }: SoftphoneRow,
): SoftphonePlan {
  const ha1 = deps.sealer.open(credentials_sealed, associated(id))
  return SoftphonePlanSchema.parse({ id, owner_id, username, ha1 })
}

/** Publishes the current state of a softphone to the engines. */
export async function publishSoftphone(
  deps: Pick<Deps, 'sql' | 'sealer' | 'bus'>,
  { id, username }: Pick<SoftphoneRow, 'id' | 'username'>,
): Promise<void> {
  await deps.sql.begin(async tx => {
    await lockPublishing(tx)
    const row = await selectSoftphoneById(tx, id)
    if (!row) return deps.bus.softphones.remove(username, id)
    await deps.bus.softphones.put(planOf(deps, row))
  })
}

/** Publishes all softphones, for a Redis that has lost its data. */
export async function publishSoftphones(deps: Pick<Deps, 'sql' | 'sealer' | 'bus'>): Promise<void> {
  await deps.sql.begin(async tx => {
    await lockPublishing(tx)
    await deps.bus.softphones.publish((await selectAllSoftphones(tx)).map(row => planOf(deps, row)))
  })
}
