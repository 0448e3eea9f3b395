import { z } from 'zod'
import type { SitePage } from '../documents/site-page.ts'

const place = z.enum(['top', 'main', 'bottom'])
const texts = z.array(z.string())

export const sitePageSchema: z.ZodType<SitePage> = z.strictObject({
  title: z.string().nullable(),
  language: z.string().nullable(),
  viewport: z.boolean(),
  lines: z.array(z.strictObject({ text: z.string(), as: z.enum(['text', 'heading', 'hint']), place })),
  links: z.array(z.strictObject({ href: z.string(), text: z.string(), line: z.int().min(0), place })),
  frames: texts,
  embeds: texts,
  data: texts,
  json: texts,
})
