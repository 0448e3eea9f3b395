import { z } from 'zod'
import { scopes } from '../../platform/http/caller.ts'
import { listOf } from '../../platform/http/paging.ts'
import { readNetwork } from './addresses.ts'

const Scope = z.enum(scopes)
const Network = z
  .string()
  .max(50)
  .transform((text, context) => {
    const network = readNetwork(text)
    if (network !== null) return network
    const message = 'must be an IP address or a CIDR network such as 192.0.2.0/24, with a prefix of 1 or more'
    context.addIssue({ code: 'custom', message, params: { code: 'network' } })
    return z.NEVER
  })

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
  addresses: z
    .array(Network)
    .min(1)
    .max(100)
    .transform(networks => [...new Set(networks)])
    .nullable()
    .optional()
    .describe('The key works from these IP addresses and CIDR networks only. Null or omitted: from everywhere'),
  project_ids: z
    .array(z.uuid().transform(id => id.toLowerCase()))
    .min(1)
    .max(100)
    .transform(ids => [...new Set(ids)])
    .nullable()
    .optional()
    .describe(
      'The key sees and changes these projects only, with their calls, campaigns and contacts, and nothing of the account itself. Null or omitted: no limit',
    ),
})
export type KeyInput = z.output<typeof KeyInput>

export const KeyView = z
  .object({
    id: z.uuid(),
    name: z.string(),
    scopes: z.array(Scope),
    addresses: z.array(z.string()).nullable().describe('Networks that the key works from. Null: everywhere'),
    project_ids: z.array(z.uuid()).nullable().describe('The only projects that the key sees. Null: no limit'),
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
