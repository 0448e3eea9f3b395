/** Runs an operation once for each Idempotency-Key, and returns the first response to repeated requests. */
import type { z } from 'zod'
import type { Db } from '../db/connect.ts'
import type { Deps } from '../deps.ts'
import { toProblem } from './errors.ts'
import { claimKey, type IdempotencyClaim, releaseKey, saveAnswer } from './idempotency.ts'
import type { Context, OperationResult, RouteSpec } from './operation.ts'
import { Problem } from './problem.ts'

export async function once<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  deps: Deps,
  spec: RouteSpec<P, Q, B, R>,
  claim: IdempotencyClaim,
  context: Context<z.output<P>, z.output<Q>, z.output<B>>,
  requestId: string,
): Promise<OperationResult> {
  const status = spec.status ?? 200
  const { params, query, body, extras } = context
  const before = await claimKey(deps, claim, { operation: spec.id, params, query, body, extras })
  if (before) return { status: before.status, body: JSON.parse(before.body), replayed: true }
  const keep = (db: Db, answer: unknown) => {
    const shown = spec.secret ? { ...(answer as object), [spec.secret]: undefined } : answer
    return saveAnswer(db, claim, { status, body: JSON.stringify(shown) })
  }
  let answer: z.input<R>
  try {
    answer = await spec.handle({
      ...context,
      async save(db, made) {
        // Another request has taken over the key and creates the resource; this transaction is rolled back.
        if (!(await keep(db, made))) throw new Problem('idempotency_in_flight', { retryAfterSeconds: 1 })
      },
    })
  } catch (error) {
    const problem = toProblem(error)
    if (problem.status >= 500) await releaseKey(deps, claim)
    else {
      const document = problem.toDocument(deps.config.base_url, requestId)
      await saveAnswer(deps.sql, claim, { status: problem.status, body: JSON.stringify(document) })
    }
    throw problem
  }
  await keep(deps.sql, answer) // for operations that did not call `save`; otherwise this changes nothing
  return { status, body: answer, replayed: false }
}
