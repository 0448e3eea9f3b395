import type { components } from '../../../client/api.ts'

export type Schemas = components['schemas']
export type { Problem } from '../../../client/problem.ts'
