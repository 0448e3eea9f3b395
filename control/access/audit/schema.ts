import { z } from 'zod'
import { actors, doors, outcomes } from '../../platform/http/audit-log.ts'
import { paging } from '../../platform/http/paging.ts'
import { isCursor } from './service.ts'

export const AuditFilters = z.strictObject({
  operation: z
    .string()
    .regex(/^[a-z_]{1,64}$/, 'must be the id of an operation, as `place_call`')
    .optional()
    .describe('Only these: the id of an operation, as in this document'),
  limit: paging.limit,
  cursor: z
    .string()
    .refine(isCursor, 'must be the `next_cursor` of the page before')
    .meta({ pattern: '^[0-9a-z]{1,11}_[0-9a-f]{32}$' })
    .optional()
    .describe('`next_cursor` of the page before'),
})

export const AuditEntryView = z
  .object({
    id: z.uuid(),
    at: z.string(),
    actor: z.enum(actors).describe('`person`: by password or by the code of a mail; `operator`: of this installation'),
    actor_id: z.uuid().nullable().describe('Of the key or the session'),
    door: z.enum(doors).describe('`auth`: log-in and the like; `admin`: the operator'),
    address: z.string().nullable().describe('Of the network that it came from'),
    operation: z.string(),
    resource: z.string().nullable().describe('Id or name of what it was done to, unless that is a number of a person'),
    request_id: z.string().nullable(),
    outcome: z
      .enum(outcomes)
      .nullable()
      .describe('`replayed`: an earlier answer, by Idempotency-Key; null: under way, or broken off'),
    code: z.string().nullable().describe('Error code, when it was not done'),
  })
  .meta({ id: 'AuditEntry' })

export const AuditPage = z
  .object({
    items: z.array(AuditEntryView),
    next_cursor: z.string().nullable().describe('For the next page; null: there is none'),
  })
  .meta({ id: 'AuditPage' })
