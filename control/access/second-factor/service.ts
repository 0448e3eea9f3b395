/** The second factor of a person: enrolment, proof, and recovery. */
import { type Deps, wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { time } from '../../platform/http/shapes.ts'
import { countUse } from '../../platform/http/use-counter.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import type { PersonRow } from '../people/sql.ts'
import { forgetSessions, type SessionRow } from '../sessions/sessions.ts'
import { addPasskey, verifyPasskey } from './passkeys.ts'
import { createRecoveryCodes, hashRecoveryCode, readRecoveryCode } from './recovery.ts'
import type { Assertion, Attestation } from './schema.ts'
import {
  confirmTotp,
  countRecoveryCodes,
  deletePasskey,
  deleteRecoveryCodes,
  deleteTotp,
  hasSecondFactor,
  type PasskeyRow,
  replaceRecoveryCodes,
  selectPasskeys,
  selectRequired,
  selectTotp,
  spendRecoveryCode,
  spendStep,
  updateProof,
  updateRequired,
  upsertTotp,
} from './sql.ts'
import { createTotpSecret, totpStep, totpUri } from './totp.ts'

/** Milliseconds after a proof in which changes of the log-in need no code. */
const STEPPED_UP_MS = 2 * 60_000
const WRONG_CODES_AN_HOUR = 10
const HOUR_SECONDS = 3600

const associated = (personId: string) => `totp:${personId}`

export const presentPasskey = ({ id, name, created_at, last_used_at }: PasskeyRow) => ({
  id,
  name,
  created_at: created_at.toISOString(),
  last_used_at: time(last_used_at),
})

export async function describeSecondFactor(deps: Pick<Deps, 'sql'>, person: PersonRow) {
  const { sql } = deps
  const [totp, passkeys, recovery_codes_left, required] = await Promise.all([
    selectTotp(sql, person),
    selectPasskeys(sql, person),
    countRecoveryCodes(sql, person),
    selectRequired(sql, person.owner_id),
  ])
  const isConfirmed = (totp?.totp_confirmed_at ?? null) !== null
  return { totp: isConfirmed, passkeys: passkeys.map(presentPasskey), recovery_codes_left, required }
}

// ---- Proof ----

/**
 * Accepts a code of the app or a recovery code, each once. Ten wrong codes in an hour lock codes for that hour, from
 * wherever they come: only somebody who knows the password gets here. A passkey still works.
 */
export async function assertCode(deps: Deps, person: PersonRow, code: string): Promise<void> {
  const key = `${deps.config.redis_prefix}:second-factor:${person.id}`
  const tried = await countUse(deps.redis, key, HOUR_SECONDS).catch(cause => {
    // Without the counter, guessing would be unlimited.
    throw new Problem('service_unavailable', { cause, retryAfterSeconds: 5 })
  })
  if (tried.count > WRONG_CODES_AN_HOUR) {
    const detail = 'Too many wrong codes. Wait, or log in with a passkey.'
    throw new Problem('rate_limited', { detail, retryAfterSeconds: tried.leftSeconds })
  }
  if (!(await isRightCode(deps, person, code))) {
    throw new Problem('invalid_credentials', { detail: 'The code is incorrect, or was used already.' })
  }
  await deps.redis.del(key)
}

async function isRightCode(deps: Deps, person: PersonRow, text: string): Promise<boolean> {
  const recovery = readRecoveryCode(text)
  if (recovery !== null) {
    const found = await spendRecoveryCode(deps.sql, person, hashRecoveryCode(person.id, recovery))
    if (found) tell(deps, person, 'A recovery code was used', 'Somebody entered with one of your recovery codes.')
    return found
  }
  const totp = await selectTotp(deps.sql, person)
  if (!totp?.totp_confirmed_at) return false
  return spendTotp(deps, person, totp.totp_sealed, text)
}

async function spendTotp(deps: Deps, person: PersonRow, sealed: string, text: string): Promise<boolean> {
  const secret = deps.sealer.open(sealed, associated(person.id)) as string
  const step = totpStep(secret, text.replace(/[\s-]/g, ''), deps.clock.wall())
  return step !== null && (await spendStep(deps.sql, person, step))
}

const needed = (detail: string) => new Problem('second_factor_required', { detail })

/** Call at a log-in by password of a person who has a second factor. */
export async function assertLogInCode(deps: Deps, person: PersonRow, code: string | undefined): Promise<void> {
  if (code === undefined) throw needed('Send a code of your app, or a recovery code, as `code`. Or use a passkey.')
  await assertCode(deps, person, code)
}

/** Call before a change of the log-in: the session alone, even of a moment ago, is not enough. */
export async function assertProof(
  deps: Deps,
  person: PersonRow,
  session: Pick<SessionRow, 'stepped_up_at'>,
  code: string | undefined,
): Promise<void> {
  if (!(await hasSecondFactor(deps.sql, person))) return
  if (code !== undefined) return assertCode(deps, person, code)
  const at = session.stepped_up_at?.getTime() ?? Number.NEGATIVE_INFINITY
  if (deps.clock.wall() - at < STEPPED_UP_MS) return
  throw needed(
    'Send a code of your app, or a recovery code, as `code`. With a passkey, use verify_second_factor first.',
  )
}

/** Proves the second factor of a session again, by a code or by a passkey of the same person. */
export async function verifyAgain(
  deps: Deps,
  person: PersonRow,
  session: Pick<SessionRow, 'id' | 'owner_id' | 'person_id'>,
  given: { code?: string | undefined; response?: Assertion | undefined },
): Promise<Date> {
  if (given.code !== undefined) await assertCode(deps, person, given.code)
  else if (given.response !== undefined) {
    const passkey = await verifyPasskey(deps, given.response)
    if (passkey.person_id !== person.id) {
      throw new Problem('invalid_credentials', { detail: 'The passkey belongs to somebody else.' })
    }
  }
  const now = wallDate(deps)
  await updateProof(deps.sql, session, session.id, { proved_at: now, stepped_up_at: now })
  forgetSessions(deps, person.owner_id)
  return new Date(now.getTime() + STEPPED_UP_MS)
}

// ---- App ----

/** Returns the `otpauth:` address of a new secret, which counts only after `finishTotp`. */
export async function startTotp(deps: Deps, person: PersonRow): Promise<string> {
  const secret = createTotpSecret()
  if (!(await upsertTotp(deps.sql, person, deps.sealer.seal(secret, associated(person.id))))) {
    throw new Problem('second_factor_exists')
  }
  return totpUri(secret, person.email ?? person.name)
}

/** Returns recovery codes when the person has no other second factor yet. */
export async function finishTotp(
  deps: Deps,
  person: PersonRow,
  session: SessionRow,
  code: string,
): Promise<string[] | undefined> {
  const totp = await selectTotp(deps.sql, person)
  if (!totp) throw new Problem('invalid_credentials', { detail: 'Start the enrolment first.' })
  if (totp.totp_confirmed_at) throw new Problem('second_factor_exists')
  const isFirst = !(await hasSecondFactor(deps.sql, person))
  if (!(await spendTotp(deps, person, totp.totp_sealed, code))) {
    throw new Problem('invalid_credentials', { detail: 'The code is incorrect. Check the clock of the device.' })
  }
  await confirmTotp(deps.sql, person, wallDate(deps))
  return enrolled(deps, person, session, isFirst)
}

export async function stopTotp(deps: Deps, person: PersonRow): Promise<void> {
  await deleteTotp(deps.sql, person)
  await lessened(deps, person, 'Codes of an app were turned off')
}

// ---- Passkeys and recovery codes ----

export async function enrolPasskey(
  deps: Deps,
  person: PersonRow,
  session: SessionRow,
  given: { name: string; response: Attestation },
) {
  const isFirst = !(await hasSecondFactor(deps.sql, person))
  const passkey = await addPasskey(deps, person, given)
  const recovery_codes = await enrolled(deps, person, session, isFirst)
  return { passkey: presentPasskey(passkey), ...(recovery_codes ? { recovery_codes } : {}) }
}

/** False when the person has no such passkey. */
export async function removePasskey(deps: Deps, person: PersonRow, id: string): Promise<boolean> {
  if (!(await deletePasskey(deps.sql, person, id))) return false
  await lessened(deps, person, 'A passkey was removed')
  return true
}

async function enrolled(
  deps: Deps,
  person: PersonRow,
  session: SessionRow,
  isFirst: boolean,
): Promise<string[] | undefined> {
  const codes = isFirst ? await renewRecoveryCodes(deps, person) : undefined
  await updateProof(deps.sql, session, session.id, { proved_at: wallDate(deps) })
  forgetSessions(deps, person.owner_id)
  tell(deps, person, 'A second factor was added', 'A second factor was added to your log-in.')
  return codes
}

export async function renewRecoveryCodes(deps: Deps, person: PersonRow): Promise<string[]> {
  const codes = createRecoveryCodes()
  const hashes = codes.map(code => hashRecoveryCode(person.id, code))
  await deps.sql.begin(tx => replaceRecoveryCodes(tx, person, hashes, wallDate(deps)))
  return codes
}

/** Without any factor left, recovery codes are of no use. */
async function lessened(deps: Deps, person: PersonRow, what: string): Promise<void> {
  if (!(await hasSecondFactor(deps.sql, person))) await deleteRecoveryCodes(deps.sql, person)
  forgetSessions(deps, person.owner_id)
  tell(deps, person, what, `${what} in your log-in.`)
}

/** Somebody who changes the second factor of another person must not stay unnoticed. */
function tell(deps: Deps, { email }: PersonRow, subject: string, text: string): void {
  if (email === null) return
  const note = `If it was not you, change your password and end your sessions: ${deps.config.base_url}/dashboard/account`
  inBackground(
    deps,
    'notice of a second factor was not sent',
    deps.mail.send({ to: email, subject, text: [text, '', note].join('\n') }),
  )
}

// ---- Requirement of the account ----

/** The person who requires it must have it, or would be locked out first. */
export async function requireSecondFactor(deps: Deps, person: PersonRow, required: boolean): Promise<void> {
  if (required && !(await hasSecondFactor(deps.sql, person))) {
    throw needed('Set up a second factor of your own first.')
  }
  await updateRequired(deps.sql, person.owner_id, required)
  forgetSessions(deps, person.owner_id)
}
