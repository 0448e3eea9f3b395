/** Messages of a worker. A worker reads hostile documents, so its messages are validated. */
import { z } from 'zod'
import { KNOWLEDGE_ERRORS } from '../documents/types.ts'
import { sitePageSchema } from './site-schema.ts'

const linksSchema = z.strictObject({
  links: z.array(z.string()),
  canonical: z.string().nullable(),
  refresh: z.string().nullable(),
  noindex: z.boolean(),
  nofollow: z.boolean(),
})

export const fromWorkerSchema = z.discriminatedUnion('type', [
  /** The worker's code is loaded. From here on, a crash is caused by the document. */
  z.strictObject({ type: z.literal('ready') }),
  z.strictObject({
    type: z.literal('blocks'),
    blocks: z.array(z.strictObject({ heading: z.int().min(0).max(6), text: z.string() })),
  }),
  z.strictObject({
    type: z.literal('done'),
    url: z.string().nullable(),
    title: z.string().nullable(),
    html: linksSchema.nullable(),
    site: sitePageSchema.optional(),
  }),
  z.strictObject({ type: z.literal('failed'), code: z.enum(KNOWLEDGE_ERRORS), message: z.string() }),
])
export type FromWorker = z.infer<typeof fromWorkerSchema>
