import { z } from 'zod'
import { Money } from '../../billing/money-schema.ts'
import { roles } from '../../platform/http/caller.ts'

export const BalanceView = z
  .object({
    balance: Money.describe('Available balance, without money held for live calls'),
    held: Money,
    minute_price: Money.describe("Price per minute: the account's own, or the installation's"),
    subscription: z.object({ status: z.enum(['active', 'inactive']), ends_at: z.string().nullable() }),
  })
  .meta({ id: 'Balance' })

/** Zod's pattern, with host names as DNS accepts them and no longer than SMTP allows. */
const EMAIL =
  /^(?!\.)(?!.*\.\.)[A-Za-z0-9_'+.-]{0,63}[A-Za-z0-9_+-]@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/
export const Email = z.email({ pattern: EMAIL }).max(254)
export const Password = z.string().min(10).max(256)
/** A password that is only compared: an old password may be of any length. */
export const GivenPassword = z.string().min(1).max(256)

export const SignUpInput = z.strictObject({
  email: Email,
  password: Password,
  name: z.string().trim().min(1).max(100).optional(),
})
export type SignUpInput = z.output<typeof SignUpInput>
/** A code of the app, or a recovery code. */
export const Code = z.string().min(1).max(40)
const CodeIfAny = Code.optional().describe('A code of your app, or a recovery code, when you have a second factor')
export const LogInInput = z.strictObject({ email: Email, password: GivenPassword, code: CodeIfAny })
export type LogInInput = z.output<typeof LogInInput>
export const ChangePassword = z.strictObject({ current: GivenPassword, new: Password, code: CodeIfAny })
export const DeleteAccount = z.strictObject({ password: GivenPassword, code: CodeIfAny })
export const AccountClosed = z.object({ closed: z.literal(true) }).meta({ id: 'AccountClosed' })
export const ResetRequest = z.strictObject({ email: Email })
export const ResetConfirm = z.strictObject({ token: z.string().min(1).max(100), password: Password })

export const SessionView = z
  .object({
    account_id: z.uuid(),
    person_id: z.uuid().describe('The person who opened the account has its id'),
    name: z.string().describe('Name of the person'),
    email: z.string().nullable(),
    role: z.enum(roles).describe('What the person may do; see `Member`'),
    expires_at: z.string().describe('When the session expires unless it is used before then'),
  })
  .meta({ id: 'Session' })
export const SessionsEnded = z.object({ sessions_ended: z.int() }).meta({ id: 'SessionsEnded' })
export const ResetRequested = z
  .object({ sent: z.literal(true).describe('An e-mail is sent if an account with this address exists') })
  .meta({ id: 'PasswordResetRequested' })
export const PasswordSet = z.object({ password_set: z.literal(true) }).meta({ id: 'PasswordSet' })
