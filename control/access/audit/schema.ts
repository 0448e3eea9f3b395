import { z } from 'zod'
import { actors, channels, outcomes } from '../../platform/http/audit-log.ts'
import { paging } from '../../platform/http/paging.ts'
import { isCursor } from './service.ts'

export const AuditFilters = z.strictObject({
  operation: z
    .string()
    .regex(/^[a-z_]{1,64}$/, 'must be the id of an operation, such as `place_call`')
    .optional()
    .describe('Return only entries of this operation: an operation id from this document'),
  limit: paging.limit,
  cursor: z
    .string()
    .refine(isCursor, 'must be the `next_cursor` of the previous page')
    .meta({ pattern: '^[0-9a-z]{1,11}_[0-9a-f]{32}$' })
    .optional()
    .describe('`next_cursor` of the previous page'),
})

export const AuditEntryView = z
  .object({
    id: z.uuid(),
    at: z.string(),
    actor: z
      .enum(actors)
      .describe(
        '`person`: identified by password or by an e-mailed code; `operator`: the operator of this installation',
      ),
    actor_id: z.uuid().nullable().describe('Id of the key or the session'),
    person: z
      .string()
      .nullable()
      .describe('E-mail of the person. Null: a key, the operator, or an entry of before 0.2'),
    channel: z.enum(channels).describe('Channel of the request. `auth`: log-in and passwords; `admin`: the operator'),
    address: z.string().nullable().describe('IP address of the request'),
    operation: z.string(),
    resource: z.string().nullable().describe("Id or name of the target, unless it is a person's phone number"),
    request_id: z.string().nullable(),
    outcome: z
      .enum(outcomes)
      .nullable()
      .describe('`replayed`: an earlier response was returned by Idempotency-Key; null: in progress or interrupted'),
    code: z.string().nullable().describe('Error code, if the operation failed or was refused'),
  })
  .meta({ id: 'AuditEntry' })

export const AuditPage = z
  .object({
    items: z.array(AuditEntryView),
    next_cursor: z.string().nullable().describe('Cursor of the next page; null on the last page'),
  })
  .meta({ id: 'AuditPage' })
