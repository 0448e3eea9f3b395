import { z } from 'zod'
import { Phone } from '../../platform/phone.ts'

export const ErasureInput = z.strictObject({
  phone: Phone.describe('Phone number of the person, in E.164 format'),
  do_not_call: z
    .enum(['keep', 'add', 'forget'])
    .default('keep')
    .describe(
      'Do-not-call entry of the number: `keep` an existing entry (number and date only), `add` one, or `forget` it. Without an entry, the number can be called again when it is uploaded again.',
    ),
})
export type ErasureInput = z.output<typeof ErasureInput>

export const ErasureView = z
  .object({
    contacts: z.int().describe('Deleted contacts'),
    calls: z.int().describe('Erased calls. Time, duration, status and cost are kept'),
    campaign_contacts: z.int().describe('Anonymised campaign contacts. Those not dialled yet are skipped'),
    leads: z.int().describe('Anonymised leads. Their cost is kept'),
    do_not_call: z.boolean().describe('The number is on the do-not-call list'),
    mentions: z
      .array(
        z.object({
          kind: z.enum(['project', 'knowledge_source', 'campaign', 'lead_search', 'contact', 'call']),
          id: z.uuid(),
        }),
      )
      .describe('Other texts and transcripts that contain the number. Review them yourself. At most 100'),
  })
  .meta({ id: 'Erasure' })
