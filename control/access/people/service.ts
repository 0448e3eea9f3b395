/** People of an account: invitations by mail, roles, and removal. */
import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import type { Caller, Role } from '../../platform/http/caller.ts'
import type { Page } from '../../platform/http/paging.ts'
import { limitReached, notFound, Problem } from '../../platform/http/problem.ts'
import { countUse } from '../../platform/http/use-counter.ts'
import { newToken, sha256, uuidv7 } from '../../platform/ids.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import { lockAccount } from '../accounts/sql.ts'
import { keyCache } from '../keys/service.ts'
import { mayGive } from '../permissions/table.ts'
import { forgetSessions } from '../sessions/sessions.ts'
import {
  countInvitations,
  countPeople,
  deleteInvitation,
  deleteInvitationsBy,
  dismissMember,
  type InvitationRow,
  type PersonRow,
  selectInvitation,
  selectInvitations,
  selectPeople,
  selectPerson,
  selectPersonByEmail,
  updateRole,
  upsertInvitation,
} from './sql.ts'

const INVITED_MS = 7 * 24 * 3600 * 1000
const MOST_PEOPLE = 200
/** Invitations write to strangers. */
const INVITATIONS_A_DAY = 50
const DAY_SECONDS = 24 * 3600

const presentMember = ({ id, owner_id, name, email, role, created_at }: PersonRow) => ({
  id,
  name,
  email,
  role,
  first_owner: id === owner_id,
  created_at: created_at.toISOString(),
})

export async function listMembers(deps: Pick<Deps, 'sql'>, ownerId: string, page: Page) {
  const [rows, total] = await Promise.all([selectPeople(deps.sql, ownerId, page), countPeople(deps.sql, ownerId)])
  return { items: rows.map(presentMember), total, limit: page.limit, offset: page.offset }
}

/** Takes effect at once in this process and within 5 s elsewhere, also for the keys that the person created. */
export async function changeRole(deps: Deps, caller: Caller, id: string, role: Role) {
  const member = await changeMember(deps, caller, id, [role], async (tx, found) => {
    await updateRole(tx, caller.ownerId, id, role)
    // Nobody enters by the word of a person who may no longer give it.
    if (found.role !== role) await deleteInvitationsBy(tx, caller.ownerId, id)
  })
  return presentMember({ ...member, role })
}

export async function removeMember(deps: Deps, caller: Caller, id: string): Promise<void> {
  await changeMember(deps, caller, id, [], tx => dismissMember(tx, caller.ownerId, id, wallDate(deps)))
}

/** Throws `not_found`, `first_owner`, or `insufficient_role` when the caller may not change this person. */
async function changeMember(
  deps: Deps,
  caller: Caller,
  id: string,
  given: readonly Role[],
  change: (tx: Tx, member: PersonRow) => Promise<void>,
): Promise<PersonRow> {
  const { ownerId, role } = caller
  const member = await deps.sql.begin(async tx => {
    await lockAccount(tx, ownerId) // two people who change each other at the same time are judged one after the other
    const found = await selectPerson(tx, ownerId, id)
    if (!found) throw notFound()
    const own = await selectPerson(tx, ownerId, caller.personId)
    if (found.id === ownerId) throw new Problem('first_owner')
    if (!own || !mayGive(own.role, found.role, ...given)) throw tooLow(role)
    await change(tx, found)
    return found
  })
  forgetSessions(deps, ownerId)
  keyCache(deps).forget(key => key.owner_id === ownerId)
  return member
}

const tooLow = (role: Role) =>
  new Problem('insufficient_role', {
    detail: `Your role is ${role}. Only an owner may invite, change or remove an owner.`,
  })

// ---- Invitations ----

const presentInvitation = ({ id, email, role, inviter, created_at, expires_at }: InvitationRow) => ({
  id,
  email,
  role,
  invited_by: inviter,
  created_at: created_at.toISOString(),
  expires_at: expires_at.toISOString(),
})

export async function listInvitations(deps: Pick<Deps, 'sql' | 'clock'>, ownerId: string, page: Page) {
  const now = wallDate(deps)
  const [rows, total] = await Promise.all([
    selectInvitations(deps.sql, ownerId, now, page),
    countInvitations(deps.sql, ownerId, now),
  ])
  return { items: rows.map(presentInvitation), total, limit: page.limit, offset: page.offset }
}

/**
 * The answer is the same whether or not the e-mail has a log-in elsewhere; only the reader of the mailbox learns it. The
 * answer never has the code: whoever invites must not be able to enter as the invited person.
 */
export async function invite(deps: Deps, caller: Caller, { email, role }: { email: string; role: Role }) {
  const { ownerId } = caller
  if (!mayGive(caller.role, role)) throw tooLow(caller.role)
  const found = await selectPersonByEmail(deps.sql, email)
  if (found?.owner_id === ownerId) {
    throw new Problem('email_taken', { detail: 'A person of this account already has this e-mail.' })
  }
  const created_at = wallDate(deps)
  const expires_at = new Date(created_at.getTime() + INVITED_MS)
  const token = newToken()
  const row = {
    id: uuidv7(created_at.getTime()),
    owner_id: ownerId,
    email,
    role,
    invited_by: caller.personId,
    created_at,
    expires_at,
  }
  await countInvitation(deps, ownerId)
  await deps.sql.begin(async tx => {
    await lockAccount(tx, ownerId)
    const people = (await countPeople(tx, ownerId)) + (await countInvitations(tx, ownerId, created_at))
    if (people >= MOST_PEOPLE) throw limitReached(MOST_PEOPLE, 'people and invitations')
    await upsertInvitation(tx, { ...row, hash: sha256(token) })
  })
  inBackground(deps, 'invitation was not sent', sendInvitation(deps, row, caller.person, found ? null : token))
  return presentInvitation({ ...row, inviter: caller.person })
}

async function countInvitation(deps: Deps, ownerId: string): Promise<void> {
  const key = `${deps.config.redis_prefix}:invitations:${ownerId}`
  const { count, leftSeconds } = await countUse(deps.redis, key, DAY_SECONDS)
  if (count > INVITATIONS_A_DAY) {
    throw new Problem('rate_limited', {
      detail: `An account may send at most ${INVITATIONS_A_DAY} invitations a day.`,
      retryAfterSeconds: leftSeconds,
    })
  }
}

/** `token` is null when the e-mail has a log-in: one e-mail has one account. */
async function sendInvitation(
  deps: Deps,
  { email, role }: { email: string; role: Role },
  inviter: string | null,
  token: string | null,
): Promise<void> {
  const { base_url } = deps.config
  const start = `${inviter ?? 'An owner'} wants you to join an account at ${base_url}, as ${role}.`
  const text =
    token === null
      ? [start, '', 'This e-mail already has a log-in there, and one e-mail belongs to one account.'].concat(
          'Ask for another invitation, to an e-mail that has no log-in yet.',
        )
      : [
          start,
          '',
          // The code comes after the #, so that no server log contains it.
          `Choose a password here: ${base_url}/dashboard/invitation#code=${token}`,
          '',
          'The link is valid for seven days and works once.',
          `Programs send the code as \`token\`, with a \`password\`, to ${base_url}/auth/accept-invitation.`,
          'If you do not know who sent this, ignore this e-mail.',
        ]
  await deps.mail.send({ to: email, subject: 'Join an account at Parley', text: text.join('\n') })
}

export async function revokeInvitation(deps: Pick<Deps, 'sql'>, caller: Caller, id: string): Promise<void> {
  const found = await selectInvitation(deps.sql, caller.ownerId, id)
  if (!found) throw notFound()
  if (!mayGive(caller.role, found.role)) throw tooLow(caller.role)
  await deleteInvitation(deps.sql, caller.ownerId, id)
}
