/** Where a session alone is not enough: the account requires a second factor, or the change is worth another proof. */
import type { Caller } from '../../platform/http/caller.ts'
import { Problem } from '../../platform/http/problem.ts'

/** Milliseconds after a proof of the second factor in which sensitive operations need no other. */
const FRESH_MS = 15 * 60_000

/** Operations that let somebody in, keep somebody in, or lift a protection of the account. */
export const sensitiveOperations: readonly string[] = [
  ...['create_key', 'invite_member', 'update_member', 'remove_member'],
  ...['update_limits', 'resume_calls', 'update_second_factor'],
]

/** Operations by which a person sets up the second factor that the account requires. */
const BEFORE_ENROLMENT: readonly string[] = [
  ...['get_session', 'log_out', 'log_out_everywhere', 'list_sessions', 'end_session', 'change_password'],
  ...['get_second_factor', 'start_totp', 'confirm_totp', 'start_passkey', 'add_passkey'],
]

/** Throws `second_factor_required`. Keys have no second factor; making one needs it. `now` is in ms. */
export function assertSecondFactor(
  { secondFactor }: Pick<Caller, 'secondFactor'>,
  operation: string,
  now: number,
): void {
  if (secondFactor === null) return
  const { has, required, provedAt } = secondFactor
  if (!has && required && !BEFORE_ENROLMENT.includes(operation)) {
    throw new Problem('second_factor_required', {
      detail: 'The account requires a second factor. Set one up under Account in the dashboard.',
    })
  }
  const isFresh = provedAt !== null && now - provedAt < FRESH_MS
  if (has && !isFresh && sensitiveOperations.includes(operation)) {
    throw new Problem('second_factor_required', {
      detail: 'Prove your second factor again with verify_second_factor, then repeat the request.',
    })
  }
}
