/** What a worker says. It reads hostile documents, so that it is not believed without a look. */
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
  /** Its code is loaded: from here on, it is the document that ends it. */
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
