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
  expires_at: z.iso
    .datetime({ offset: true })
    .nullable()
    .optional()
    .describe('When the key expires. Null or omitted: never'),
})
export type KeyInput = z.output<typeof KeyInput>

export const KeyView = z
  .object({
    id: z.uuid(),
    name: z.string(),
    scopes: z.array(Scope),
    prefix: z.string().describe('First characters of the key, to identify it'),
    created_at: z.string(),
    expires_at: z.string().nullable(),
    last_used_at: z.string().nullable().describe('Accurate to the minute'),
    revoked_at: z.string().nullable(),
  })
  .meta({ id: 'Key' })
export const KeyCreated = KeyView.extend({
  value: z
    .string()
    .optional()
    .describe('The key itself. Shown only once: a replay by Idempotency-Key does not include it'),
}).meta({ id: 'KeyCreated' })
export const KeyList = listOf(KeyView)

export const KeyPath = z.object({ key_id: z.uuid() })
