/** Bodies: one JSON document in UTF-8, or none. */
import type { FastifyInstance } from 'fastify'
import { isCleanText } from '../db/text.ts'
import { Problem } from './problem.ts'

/** Deeper than any schema of ours, and shallow enough for whatever walks through it later. */
const MAX_DEPTH = 64
/** More than any schema of ours takes. Judging a megabyte of wrong fields one by one would hold up everybody for a second. */
const MAX_FIELDS = 1000
const MAX_ENTRIES = 10_000

/** Fastify's own parser, but an empty body is no body rather than an error: a POST without fields may say JSON. */
export function readJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  // Bytes that are no UTF-8 are an error, not a replacement character.
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    let text: string
    try {
      text = utf8.decode(body as Buffer)
    } catch {
      return done(new Problem('malformed_json', { detail: 'The body is not UTF-8.' }))
    }
    parse(request, text, (error, value) => {
      const wrong = error ? undefined : whatIsWrong(value, MAX_DEPTH)
      if (error) done(new Problem('malformed_json'))
      else if (wrong) done(new Problem('malformed_json', { detail: wrong }))
      else done(null, value)
    })
  })
}

/** Of what Postgres would not take, or what would exhaust the stack. Null: nothing. */
function whatIsWrong(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return isCleanText(value) ? null : 'Text must be Unicode without NUL.'
  if (value === null || typeof value !== 'object') return null
  if (depth === 0) return `Values may be nested ${MAX_DEPTH} deep.`
  const size = Object.keys(value).length
  if (Array.isArray(value) && size > MAX_ENTRIES) return `A list may have ${MAX_ENTRIES} entries.`
  // At the top every field has a name that the schema knows, and the others are told at once.
  if (!Array.isArray(value) && size > MAX_FIELDS && depth < MAX_DEPTH) return `An object may have ${MAX_FIELDS} fields.`
  for (const [key, inner] of Object.entries(value)) {
    const wrong = whatIsWrong(key, depth) ?? whatIsWrong(inner, depth - 1)
    if (wrong) return wrong
  }
  return null
}
