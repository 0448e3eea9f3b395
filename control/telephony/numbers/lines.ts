/** Selects the number that a call is placed from. Pure. */
import { Problem } from '../../platform/http/problem.ts'

/**
 * Returns the project's caller id, or one of its bound numbers, always the same for a phone. A caller id that is not
 * bound is an error: calling from another number would be wrong, because people call back the number they see.
 */
export function pickLine<L extends { number: string }>(lines: readonly L[], callerId: string | null, phone: string): L {
  if (lines.length === 0) throw new Problem('no_outbound_line')
  if (callerId !== null) {
    const set = lines.find(line => line.number === callerId)
    if (set) return set
    throw new Problem('no_outbound_line', {
      detail: `The caller_id ${callerId} is not bound to the project for outbound calls. Bind it, or set another one.`,
    })
  }
  let hash = 0
  for (const char of phone) hash = (hash * 31 + char.charCodeAt(0)) >>> 0
  return lines[hash % lines.length]!
}
