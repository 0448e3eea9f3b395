/** Sign-up, log-in and passwords of people. */
import { randomBytes } from 'node:crypto'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { sha256 } from '../../platform/ids.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import type { LogInInput, SignUpInput } from '../accounts/schema.ts'
import { createAccount } from '../accounts/service.ts'
import {
  type AccountRow,
  lockAccount,
  selectAccount,
  selectAccountByEmail,
  updateLogin,
  updatePassword,
} from '../accounts/sql.ts'
import { entering, noteDone } from '../audit/service.ts'
import { forgetSessions, type NewSession, openSession, type SessionRow, type UsedFrom } from '../sessions/sessions.ts'
import { countResetsSince, deleteResets, deleteSessions, findReset, insertReset, spendReset } from '../sessions/sql.ts'
import { hashPassword, matchPassword } from './passwords.ts'
import { countGuess, forgetGuesses } from './throttle.ts'

export interface LoggedIn extends NewSession {
  account: AccountRow
}

export async function signUp(deps: Deps, input: SignUpInput, from: UsedFrom): Promise<LoggedIn> {
  if (!deps.config.sign_up) throw new Problem('sign_up_closed')
  if (await selectAccountByEmail(deps.sql, input.email)) throw new Problem('email_taken')
  const account = await createPerson(deps, { ...input, password_hash: await hashPassword(input.password) })
  return { account, ...(await openSession(deps, account.id, from)) }
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
    const { code, constraint_name } = error as { code?: string; constraint_name?: string }
    if (code === '23505' && constraint_name === 'accounts_email') throw new Problem('email_taken') // unique_violation
    throw error
  }
}

export async function logIn(
  deps: Deps,
  { email, password }: LogInInput,
  address: string,
  from: UsedFrom,
): Promise<LoggedIn> {
  const guess = await countGuess(deps, email, address)
  const account = await selectAccountByEmail(deps.sql, email)
  const match = await matchPassword(password, account?.password_hash ?? null)
  if (!account || !match.ok) throw new Problem('invalid_credentials')
  await guess.right()
  if (match.stale) await updatePassword(deps.sql, account.id, await hashPassword(password))
  return { account, ...(await openSession(deps, account.id, from)) }
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
  passwords: { current: string; new: string },
  address: string,
): Promise<AccountRow> {
  const account = await accountOf(deps, session)
  const guess = await countGuess(deps, account.email ?? account.id, address)
  const match = await matchPassword(passwords.current, account.password_hash)
  if (!match.ok) throw new Problem('invalid_credentials', { detail: 'The current password is incorrect.' })
  await guess.right()
  await setPassword(deps, account.id, passwords.new, session.id)
  return account
}

export async function accountOf(deps: Pick<Deps, 'sql'>, session: SessionRow): Promise<AccountRow> {
  const account = await selectAccount(deps.sql, session.owner_id)
  if (!account || account.deleted_at) throw new Problem('unauthorized')
  return account
}

async function setPassword(deps: Deps, ownerId: string, password: string, exceptSession: string): Promise<void> {
  const hash = await hashPassword(password)
  await deps.sql.begin(async tx => {
    await updatePassword(tx, ownerId, hash)
    await deleteSessions(tx, ownerId, { except: exceptSession })
    await deleteResets(tx, ownerId) // an e-mail sent before must not undo this change
  })
  forgetSessions(deps, ownerId)
}

// ---- Password reset ----

const RESET_MS = 3_600_000
const RESETS_AN_HOUR = 3
const TOKEN_BYTES = 32

/** The response never waits for the e-mail, so its timing does not reveal whether the address is known. */
export function requestReset(deps: Deps, email: string): void {
  inBackground(deps, 'password reset e-mail was not sent', sendReset(deps, email))
}

async function sendReset(deps: Deps, email: string): Promise<void> {
  const account = await selectAccountByEmail(deps.sql, email)
  if (!account?.email || account.closed_at !== null) return
  const now = wallDate(deps)
  const anHourAgo = new Date(now.getTime() - RESET_MS)
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const reset = {
    hash: sha256(token),
    owner_id: account.id,
    created_at: now,
    expires_at: new Date(now.getTime() + RESET_MS),
  }
  const counted = await deps.sql.begin(async tx => {
    await lockAccount(tx, account.id) // otherwise many concurrent requests would all pass the count
    if ((await countResetsSince(tx, account.id, anHourAgo)) >= RESETS_AN_HOUR) return false
    await insertReset(tx, reset)
    return true
  })
  if (!counted) return
  await deps.mail.send({
    to: account.email,
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
  const ownerId = await findReset(deps.sql, hash, wallDate(deps))
  if (ownerId === null) throw spent()
  const passwordHash = await hashPassword(password)
  await deps.sql.begin(async tx => {
    if (!(await spendReset(tx, ownerId, hash))) throw spent()
    await updatePassword(tx, ownerId, passwordHash)
    await deleteSessions(tx, ownerId, {})
    await noteDone(tx, deps, ownerId, entering('confirm_password_reset', request))
  })
  forgetSessions(deps, ownerId)
  const account = await selectAccount(deps.sql, ownerId)
  if (account?.email) await forgetGuesses(deps, account.email, request.ip)
}

const spent = () =>
  new Problem('invalid_credentials', {
    detail: 'The code is unknown, already used, or older than one hour. Request a new one.',
  })
