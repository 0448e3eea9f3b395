/** Which of a project's numbers a call is placed from. Pure. */
import { Problem } from '../../platform/http/problem.ts'

/**
 * The number that the project has set, or one of those bound to it, always the same for a phone. A number that is set and
 * not bound is an error, and no reason to call from another: people call back what they see.
 */
export function pickLine<L extends { number: string }>(lines: readonly L[], callerId: string | null, phone: string): L {
  if (lines.length === 0) throw new Problem('no_outbound_line')
  if (callerId !== null) {
    const set = lines.find(line => line.number === callerId)
    if (set) return set
    throw new Problem('no_outbound_line', {
      detail: `The project's caller_id ${callerId} is not bound to it for outgoing calls: bind it, or set another.`,
    })
  }
  let hash = 0
  for (const char of phone) hash = (hash * 31 + char.charCodeAt(0)) >>> 0
  return lines[hash % lines.length]!
}
