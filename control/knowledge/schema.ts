import { z } from 'zod'
import { isFetchable } from '../platform/http/shapes.ts'
import { KNOWLEDGE_ERRORS, SKIP_REASONS } from './documents/types.ts'
import type { Upload } from './upload.ts'

export const MOST_FOUND = 20
/** Characters; the same limit as of the agent's tool. */
export const LONGEST_QUERY = 400

export const SourceInput = z
  .strictObject({
    type: z.enum(['text', 'url']),
    title: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .optional()
      .describe("Name of the source, shown with the passages that the agent's answers come from"),
    content: z.string().min(1).optional().describe('Only for `text`: plain text or Markdown. Headings improve search'),
    url: z
      .string()
      .max(2048)
      .refine(isFetchable, { error: 'must be an http(s) URL without credentials' })
      .meta({ format: 'http-url' })
      .optional()
      .describe('Only for `url`: an http(s) address without credentials'),
    crawl: z.boolean().optional().describe('Only for `url`: index the whole site through its links and sitemap'),
    max_pages: z
      .int()
      .min(1)
      .max(50)
      .optional()
      .describe('Only for `url` with `crawl`: maximum number of indexed pages; 15 by default'),
  })
  .superRefine(({ type, content, url, crawl, max_pages }, context) => {
    const wrong = (field: string, code: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message, params: { code } })
    const needed = type === 'text' ? { content } : { url }
    const strange = type === 'text' ? { url, crawl, max_pages } : { content }
    for (const [field, value] of Object.entries(needed)) {
      if (value === undefined) wrong(field, 'required', `is required when \`type\` is \`${type}\``)
    }
    for (const [field, value] of Object.entries(strange)) {
      if (value !== undefined) wrong(field, 'unknown_field', `is not allowed when \`type\` is \`${type}\``)
    }
    if (type === 'text' && content?.trim() === '') wrong('content', 'empty', 'must have text')
  })
export type SourceInput = z.output<typeof SourceInput>

/** Declares the body for OpenAPI; `upload.ts` reads it. */
export const FileBody: z.ZodType<Upload> = z.any().meta({
  type: 'object',
  properties: {
    file: { type: 'string', format: 'binary', description: 'One file. Its name becomes the name of the source' },
  },
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
      .describe('The agent uses `ready` sources. `error` gives the reason of a failure'),
    chunks: z.int().describe('Number of passages; grows during indexing'),
    pages: z.int().describe('Pages of a site that have been read; 1 for a text or a file'),
    skipped: z
      .array(z.object({ reason: z.enum(SKIP_REASONS), count: z.int() }))
      .describe('Pages found on a site that are not indexed, by reason'),
    error: z.object({ code: z.enum(KNOWLEDGE_ERRORS), message: z.string() }).nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'KnowledgeSource' })

export const SearchInput = z.strictObject({
  query: z.string().trim().min(1).max(LONGEST_QUERY).describe('A question or a few words'),
  limit: z.int().min(1).max(MOST_FOUND).default(5),
})

export const Passage = z
  .object({
    chunk_id: z.uuid(),
    source_id: z.uuid(),
    source: z.string().describe('Name of the source'),
    heading: z.string().describe('Headings above the passage, outermost first; empty when there are none'),
    text: z.string(),
    url: z.string().nullable().describe('Address of the page that contains the passage'),
    score: z.number().describe('Relevance, 0–1. Comparable only within one response'),
  })
  .meta({ id: 'KnowledgePassage' })
export const SearchAnswer = z.object({ items: z.array(Passage) }).meta({ id: 'KnowledgeFound' })

export const SourcePath = z.object({ project_id: z.uuid(), source_id: z.uuid() })
