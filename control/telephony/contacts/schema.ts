import { z } from 'zod'
import { paging } from '../../platform/http/paging.ts'

export const Channel = z.enum(['phone', 'web', 'lead'])
export const LeadStatus = z.enum(['new', 'in_progress', 'hot', 'won', 'lost'])
export type LeadStatus = z.output<typeof LeadStatus>

export const ContactFilters = z.strictObject({
  q: z.string().max(200).optional().describe('Search text in name, phone, notes and tags; case-insensitive'),
  project_id: z.uuid().optional(),
  channel: Channel.optional(),
  lead: LeadStatus.optional().describe('Return only contacts with this lead status'),
  ...paging,
})
export type ContactFilters = z.output<typeof ContactFilters>

const NOTES_MAX = 10_000
const TAGS_MAX = 50

export const ContactPatch = z
  .strictObject({
    name: z.string().trim().max(200).describe('An empty string clears the name'),
    notes: z.string().max(NOTES_MAX).describe('An empty string clears the notes'),
    tags: z
      .array(z.string().trim().min(1).max(64))
      .max(TAGS_MAX)
      .transform(tags => [...new Set(tags)])
      .describe('Replaces the whole list'),
    lead_status: z.union([LeadStatus, z.literal('')]).describe('An empty string clears the status'),
  })
  .partial()
export type ContactPatch = z.output<typeof ContactPatch>

export const ContactView = z
  .object({
    id: z.uuid(),
    phone: z.string().describe('E.164'),
    name: z.string().nullable(),
    notes: z.string().nullable(),
    tags: z.array(z.string()),
    lead_status: LeadStatus.nullable(),
    channel: Channel,
    project_ids: z.array(z.uuid()),
    last_call_at: z.string().nullable(),
    do_not_call: z.boolean(),
    consent: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('Evidence of consent to calls: who confirmed it, when, and with which text'),
    created_at: z.string(),
  })
  .meta({ id: 'Contact' })

export const ContactPath = z.object({ contact_id: z.uuid() })
