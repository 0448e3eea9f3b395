import type { components } from '../../../api/client/api.ts'

export type Schemas = components['schemas']
export type { Problem } from '../../../api/client/problem.ts'
