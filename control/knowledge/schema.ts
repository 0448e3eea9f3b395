import { z } from 'zod'
import { isFetchable } from '../platform/http/shapes.ts'
import { KNOWLEDGE_ERRORS, SKIP_REASONS } from './documents/types.ts'
import type { Upload } from './upload.ts'

export const MOST_FOUND = 20
/** As the agent's tool takes it. */
export const LONGEST_QUERY = 400

export const SourceInput = z
  .strictObject({
    type: z.enum(['text', 'url']),
    title: z.string().trim().min(1).max(200).optional().describe('Its name; what the agent’s answers are traced to'),
    content: z.string().min(1).optional().describe('Of `text`: plain or Markdown, whose headings help to find things'),
    url: z
      .string()
      .max(2048)
      .refine(isFetchable, { error: 'must be an http(s) URL without credentials' })
      .meta({ format: 'http-url' })
      .optional()
      .describe('Of `url`: http(s), without credentials'),
    crawl: z.boolean().optional().describe('Of `url`: the whole site, by its links and its sitemap'),
    max_pages: z.int().min(1).max(50).optional().describe('Of `url` with `crawl`: pages indexed at most; default 15'),
  })
  .superRefine(({ type, content, url, crawl, max_pages }, context) => {
    const wrong = (field: string, code: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message, params: { code } })
    const needed = type === 'text' ? { content } : { url }
    const strange = type === 'text' ? { url, crawl, max_pages } : { content }
    for (const [field, value] of Object.entries(needed)) {
      if (value === undefined) wrong(field, 'required', `is needed where \`type\` is \`${type}\``)
    }
    for (const [field, value] of Object.entries(strange)) {
      if (value !== undefined) wrong(field, 'unknown_field', `has no meaning where \`type\` is \`${type}\``)
    }
    if (type === 'text' && content?.trim() === '') wrong('content', 'empty', 'has no text in it')
  })
export type SourceInput = z.output<typeof SourceInput>

/** Says what the body is; `upload.ts` reads it. */
export const FileBody: z.ZodType<Upload> = z.any().meta({
  type: 'object',
  properties: { file: { type: 'string', format: 'binary', description: 'One file; its name is that of the source' } },
  required: ['file'],
  additionalProperties: false,
})

export const SourceView = z
  .object({
    id: z.uuid(),
    kind: z.enum(['text', 'url', 'file']),
    name: z.string(),
    status: z
      .enum(['pending', 'indexing', 'ready', 'error'])
      .describe('The agent knows what is `ready`; the others are on their way, or say in `error` why not'),
    chunks: z.int().describe('Passages that it was cut into; grows while it is indexed'),
    pages: z.int().describe('Of a site, those that were read so far; 1 for a text or a file'),
    skipped: z
      .array(z.object({ reason: z.enum(SKIP_REASONS), count: z.int() }))
      .describe('Of a site that was read: what was found there and is not indexed, and why'),
    error: z.object({ code: z.enum(KNOWLEDGE_ERRORS), message: z.string() }).nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'KnowledgeSource' })

export const SearchInput = z.strictObject({
  query: z.string().trim().min(1).max(LONGEST_QUERY).describe('A question, or a few words'),
  limit: z.int().min(1).max(MOST_FOUND).default(5),
})

export const Passage = z
  .object({
    chunk_id: z.uuid(),
    source_id: z.uuid(),
    source: z.string().describe('Name of the source'),
    heading: z.string().describe('The headings above it, outermost first; empty when there are none'),
    text: z.string(),
    url: z.string().nullable().describe('The page that it is from'),
    score: z.number().describe('0–1; tells the passages of one answer apart, and not those of two'),
  })
  .meta({ id: 'KnowledgePassage' })
export const SearchAnswer = z.object({ items: z.array(Passage) }).meta({ id: 'KnowledgeFound' })

export const SourcePath = z.object({ project_id: z.uuid(), source_id: z.uuid() })
