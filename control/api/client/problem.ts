/** Errors of the API as exceptions, for Node and browsers. */
import type { components } from './api.ts'

export type Problem = components['schemas']['Problem']

/** An error response of the API. Branch on `code`. */
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

/**
 * Returns the data of a successful response and throws otherwise: `const call = await
 * must(parley.POST('/v1/public/calls', { body }))`
 */
export async function must<T>(result: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await result
  if (response.ok) return data as T
  if (isProblem(error)) throw new ParleyError(error)
  // The response is not from Parley; it may be from a proxy.
  throw new Error(`HTTP ${response.status} without a problem document`)
}

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && typeof (value as Problem).code === 'string'
