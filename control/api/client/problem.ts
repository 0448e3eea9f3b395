/** Refusals of the API as errors; for Node and for browsers. */
import type { components } from './api.ts'

export type Problem = components['schemas']['Problem']

/** A refusal of the API: decide by `code`. */
export class ParleyError extends Error {
  readonly code: Problem['code']
  readonly problem: Problem

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail}`)
    this.name = 'ParleyError'
    this.code = problem.code
    this.problem = problem
  }
}

/** `const call = await must(parley.POST('/v1/public/calls', { body }))` */
export async function must<T>(result: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await result
  if (response.ok) return data as T
  if (isProblem(error)) throw new ParleyError(error)
  // Not ours: a proxy in between, for example.
  throw new Error(`HTTP ${response.status} without a problem document`)
}

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && typeof (value as Problem).code === 'string'
