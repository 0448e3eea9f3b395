/** Sign-up, log-in and passwords of people. */
import { type Deps, wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { newToken, sha256, uuidv7 } from '../../platform/ids.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import type { LogInInput, SignUpInput } from '../accounts/schema.ts'
import { createAccount } from '../accounts/service.ts'
import { type AccountRow, lockAccount, selectAccount, updateLogin } from '../accounts/sql.ts'
import { entering, noteDone } from '../audit/service.ts'
import type { AcceptInvitation } from '../people/schema.ts'
import {
  insertMember,
  type PersonRow,
  selectPerson,
  selectPersonByEmail,
  spendInvitation,
  updatePersonPassword,
} from '../people/sql.ts'
import { verifyPasskey } from '../second-factor/passkeys.ts'
import type { Assertion } from '../second-factor/schema.ts'
import { assertLogInCode, assertProof } from '../second-factor/service.ts'
import { hasSecondFactor } from '../second-factor/sql.ts'
import {
  forgetSessions,
  type NewSession,
  openSession,
  type SessionRow,
  type UsedFrom,
  whoseOf,
} from '../sessions/sessions.ts'
import { countResetsSince, deleteResets, deleteSessions, findReset, insertReset, spendReset } from '../sessions/sql.ts'
import { hashPassword, matchPassword } from './passwords.ts'
import { countGuess, forgetGuesses } from './throttle.ts'

export interface LoggedIn extends NewSession {
  person: PersonRow
}

async function letIn(deps: Deps, person: PersonRow, from: UsedFrom, proved = false): Promise<LoggedIn> {
  return { person, ...(await openSession(deps, person.owner_id, { from, personId: person.id, proved })) }
}

export async function signUp(deps: Deps, input: SignUpInput, from: UsedFrom): Promise<LoggedIn> {
  if (!deps.config.sign_up) throw new Problem('sign_up_closed')
  if (await selectPersonByEmail(deps.sql, input.email)) throw new Problem('email_taken')
  const account = await createPerson(deps, { ...input, password_hash: await hashPassword(input.password) })
  return letIn(deps, (await selectPerson(deps.sql, account.id, account.id))!, from)
}

/** `name` defaults to the first part of the e-mail. */
export async function createPerson(
  deps: Pick<Deps, 'sql' | 'clock' | 'config'>,
  { email, name, password_hash }: { email: string; name?: string | undefined; password_hash: string | null },
): Promise<AccountRow> {
  try {
    const { id } = await createAccount(deps, { name: name ?? email.split('@')[0]!, email, password_hash })
    return (await selectAccount(deps.sql, id))!
  } catch (error) {
    throw isEmailTaken(error) ? new Problem('email_taken') : error
  }
}

function isEmailTaken(error: unknown): boolean {
  const { code, constraint_name = '' } = error as { code?: string; constraint_name?: string }
  return code === '23505' && ['accounts_email', 'members_email'].includes(constraint_name) // unique_violation
}

/** Creates the invited person with a password, and logs in. The code is spent also when the e-mail is taken. */
export async function acceptInvitation(deps: Deps, input: AcceptInvitation, from: UsedFrom): Promise<LoggedIn> {
  const { token, password, name } = input
  const now = wallDate(deps)
  const invitation = await spendInvitation(deps.sql, sha256(token), now)
  if (!invitation) {
    throw new Problem('invalid_credentials', {
      detail: 'The code is unknown, already used, revoked, or older than seven days. Ask for another invitation.',
    })
  }
  const { owner_id, email, role } = invitation
  const id = uuidv7(now.getTime())
  const password_hash = await hashPassword(password)
  const member = { id, owner_id, email, role, name: name ?? email.split('@')[0]!, password_hash, created_at: now }
  try {
    await insertMember(deps.sql, member)
  } catch (error) {
    throw isEmailTaken(error) ? new Problem('email_taken') : error
  }
  return letIn(deps, { ...member, closed_at: null }, from)
}

export async function logIn(
  deps: Deps,
  { email, password, code }: LogInInput,
  address: string,
  from: UsedFrom,
): Promise<LoggedIn> {
  const guess = await countGuess(deps, email, address)
  const person = await selectPersonByEmail(deps.sql, email)
  const match = await matchPassword(password, person?.password_hash ?? null)
  if (!person || !match.ok) throw new Problem('invalid_credentials')
  const proves = await hasSecondFactor(deps.sql, person)
  if (proves && code === undefined) await guess.undecided()
  if (proves) await assertLogInCode(deps, person, code)
  await guess.right()
  if (match.stale) await updatePersonPassword(deps.sql, person, await hashPassword(password))
  return letIn(deps, person, from, proves)
}

/** A passkey with user verification is two factors at once. */
export async function logInWithPasskey(deps: Deps, response: Assertion, from: UsedFrom): Promise<LoggedIn> {
  const { owner_id, person_id } = await verifyPasskey(deps, response)
  const person = await selectPerson(deps.sql, owner_id, person_id)
  if (!person || person.closed_at !== null) throw new Problem('invalid_credentials')
  return letIn(deps, person, from, true)
}

/** Lets a person log in to an account that a program created. */
export async function giveLogin(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  { email, password }: { email: string; password: string },
): Promise<void> {
  await updateLogin(deps.sql, ownerId, email, await hashPassword(password))
}

/** Ends the other sessions: the password may have been changed because it leaked. */
export async function changePassword(
  deps: Deps,
  session: SessionRow,
  passwords: { current: string; new: string; code?: string | undefined },
  address: string,
): Promise<PersonRow> {
  const person = await personOf(deps, session)
  await assertPassword(deps, person, passwords.current, address, 'The current password is incorrect.')
  await assertProof(deps, person, session, passwords.code)
  await setPassword(deps, person, passwords.new, session.id)
  return person
}

/** Counts the guess; a stolen session must not serve to guess the password. */
export async function assertPassword(
  deps: Deps,
  person: PersonRow,
  password: string,
  address: string,
  detail = 'The password is incorrect.',
): Promise<void> {
  const guess = await countGuess(deps, person.email ?? person.id, address)
  const match = await matchPassword(password, person.password_hash)
  if (!match.ok) throw new Problem('invalid_credentials', { detail })
  await guess.right()
}

export async function personOf(
  deps: Pick<Deps, 'sql'>,
  { owner_id, person_id }: Pick<SessionRow, 'owner_id' | 'person_id'>,
): Promise<PersonRow> {
  const person = await selectPerson(deps.sql, owner_id, person_id ?? owner_id)
  if (!person) throw new Problem('unauthorized')
  return person
}

async function setPassword(deps: Deps, person: PersonRow, password: string, exceptSession: string): Promise<void> {
  const hash = await hashPassword(password)
  const whose = whoseOf(person)
  await deps.sql.begin(async tx => {
    await updatePersonPassword(tx, person, hash)
    await deleteSessions(tx, whose, { except: exceptSession })
    await deleteResets(tx, whose) // an e-mail sent before must not undo this change
  })
  forgetSessions(deps, person.owner_id)
}

// ---- Password reset ----

const RESET_MS = 3_600_000
const RESETS_AN_HOUR = 3

/** The response never waits for the e-mail, so its timing does not reveal whether the address is known. */
export function requestReset(deps: Deps, email: string): void {
  inBackground(deps, 'password reset e-mail was not sent', sendReset(deps, email))
}

async function sendReset(deps: Deps, email: string): Promise<void> {
  const person = await selectPersonByEmail(deps.sql, email)
  if (!person?.email || person.closed_at !== null) return
  const now = wallDate(deps)
  const anHourAgo = new Date(now.getTime() - RESET_MS)
  const token = newToken()
  const reset = {
    hash: sha256(token),
    ...whoseOf(person),
    created_at: now,
    expires_at: new Date(now.getTime() + RESET_MS),
  }
  const counted = await deps.sql.begin(async tx => {
    await lockAccount(tx, person.owner_id) // otherwise many concurrent requests would all pass the count
    if ((await countResetsSince(tx, whoseOf(person), anHourAgo)) >= RESETS_AN_HOUR) return false
    await insertReset(tx, reset)
    return true
  })
  if (!counted) return
  await deps.mail.send({
    to: person.email,
    subject: 'Reset your Parley password',
    text: [
      `We received a request to reset the password of your account at ${deps.config.base_url}.`,
      'This code is valid for one hour:',
      '',
      token,
      '',
      // The code comes after the #, so that no server log contains it.
      `Set a new password here: ${deps.config.base_url}/dashboard/password#code=${token}`,
      `Programs send the code as \`token\`, with the new \`password\`, to ${deps.config.base_url}/auth/password-reset/confirm.`,
      'If you did not request this, ignore this e-mail. Your password stays the same.',
    ].join('\n'),
  })
}

/** Ends all sessions, so that anyone with the old password is logged out. */
export async function confirmReset(
  deps: Deps,
  token: string,
  password: string,
  request: { id: string; ip: string },
): Promise<void> {
  const hash = sha256(token)
  const whose = await findReset(deps.sql, hash, wallDate(deps))
  const person = whose && (await selectPerson(deps.sql, whose.owner_id, whose.person_id ?? whose.owner_id))
  if (!whose || !person) throw spent()
  const passwordHash = await hashPassword(password)
  await deps.sql.begin(async tx => {
    if (!(await spendReset(tx, whose, hash))) throw spent()
    await updatePersonPassword(tx, person, passwordHash)
    await deleteSessions(tx, whose)
    await noteDone(tx, deps, whose.owner_id, entering('confirm_password_reset', request, person.id))
  })
  forgetSessions(deps, whose.owner_id)
  if (person.email) await forgetGuesses(deps, person.email, request.ip)
}

const spent = () =>
  new Problem('invalid_credentials', {
    detail: 'The code is unknown, already used, or older than one hour. Request a new one.',
  })
