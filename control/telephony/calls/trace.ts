import type { Deps } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { selectCall } from '../call-setup/sql.ts'
import { ladderOf, presentMessage } from '../trace/ladder.ts'
import type { CallTrace } from '../trace/schema.ts'
import { selectTrace } from '../trace/sql.ts'

export async function getTrace(deps: Pick<Deps, 'sql'>, ownerId: string, id: string): Promise<CallTrace> {
  const trace = await selectTrace(deps.sql, ownerId, id)
  if (trace) return { call_id: id, ...trace, messages: trace.messages.map(presentMessage) }
  if (!(await selectCall(deps.sql, ownerId, id))) throw notFound()
  throw new Problem('no_trace')
}

export function traceAsText({ call_id, messages, ...rest }: CallTrace): string {
  const seen = messages.map(({ at, ...message }) => ({ ...message, at: Date.parse(at) }))
  return ladderOf({ title: `SIP messages of call ${call_id}`, messages: seen, ...rest })
}
