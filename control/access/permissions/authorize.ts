/** Applies the table of permissions to a caller. */
import type { Caller } from '../../platform/http/caller.ts'
import { Problem } from '../../platform/http/problem.ts'
import { mayUse, rolesOf } from './table.ts'

/** Throws `insufficient_role`, which names the roles that may use the operation. */
export function assertRole({ role, keyId }: Pick<Caller, 'role' | 'keyId'>, operation: string): void {
  if (mayUse(role, operation)) return
  const whose = keyId === null ? `Your role is ${role}` : `The key was created by a person whose role is ${role}`
  throw new Problem('insufficient_role', {
    detail: `${whose}. This operation needs one of the roles ${rolesOf(operation).join(', ')}.`,
  })
}
