import { z } from 'zod'
import { scopes } from '../../platform/http/caller.ts'
import { listOf } from '../../platform/http/paging.ts'

const Scope = z.enum(scopes)

export const KeyInput = z.strictObject({
  name: z.string().trim().min(1).max(100),
  scopes: z
    .array(Scope)
    .min(1)
    .refine(given => new Set(given).size === given.length, { error: 'must not repeat' })
    .meta({ uniqueItems: true }),
  expires_at: z.iso.datetime({ offset: true }).nullable().optional().describe('Null or left out: it does not expire'),
})
export type KeyInput = z.output<typeof KeyInput>

export const KeyView = z
  .object({
    id: z.uuid(),
    name: z.string(),
    scopes: z.array(Scope),
    prefix: z.string().describe('The first characters of the key, to recognise it'),
    created_at: z.string(),
    expires_at: z.string().nullable(),
    last_used_at: z.string().nullable().describe('To the minute'),
    revoked_at: z.string().nullable(),
  })
  .meta({ id: 'Key' })
export const KeyCreated = KeyView.extend({
  value: z.string().optional().describe('The key itself, shown once; a replay by Idempotency-Key comes without it'),
}).meta({ id: 'KeyCreated' })
export const KeyList = listOf(KeyView)

export const KeyPath = z.object({ key_id: z.uuid() })
