import { z } from 'zod'
import { Phone } from '../../platform/phone.ts'

export const ErasureInput = z.strictObject({
  phone: Phone.describe('Of the person, E.164'),
  do_not_call: z
    .enum(['keep', 'add', 'forget'])
    .default('keep')
    .describe(
      'Of the do-not-call list: `keep` an entry that is there (number and date alone), `add` one, or `forget` it. Without an entry the number may be called again by whoever uploads it anew.',
    ),
})
export type ErasureInput = z.output<typeof ErasureInput>

export const ErasureView = z
  .object({
    contacts: z.int().describe('Deleted'),
    calls: z.int().describe('Of which nothing is left but time, duration, status and cost'),
    campaign_contacts: z.int().describe('Made nameless; those still to be dialled are skipped'),
    leads: z.int().describe('Made nameless; what they cost stays'),
    do_not_call: z.boolean().describe('The number is on the do-not-call list'),
    mentions: z
      .array(
        z.object({
          kind: z.enum(['project', 'knowledge_source', 'campaign', 'lead_search', 'contact', 'call']),
          id: z.uuid(),
        }),
      )
      .describe('Texts of yours, or words of others, with the number in them: see to them yourself; at most 100'),
  })
  .meta({ id: 'Erasure' })
