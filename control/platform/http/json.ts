/** Request bodies: one JSON document in UTF-8, or none. */
import type { FastifyInstance } from 'fastify'
import { isCleanText } from '../db/text.ts'
import { Problem } from './problem.ts'

/** Deeper than any of our schemas, and shallow enough for later recursion. */
const MAX_DEPTH = 64
/**
 * More than any of our schemas has. Checking a megabyte of wrong fields one by one would block the event loop for a
 * second.
 */
const MAX_FIELDS = 1000
const MAX_ENTRIES = 10_000

/** Fastify's own parser, except that an empty body is allowed: a POST without fields may declare JSON. */
export function readJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  // Invalid UTF-8 is an error instead of a replacement character.
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

/** Finds what Postgres would reject or what would exhaust the stack; null when there is nothing. */
function whatIsWrong(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return isCleanText(value) ? null : 'Text must be Unicode without NUL.'
  if (value === null || typeof value !== 'object') return null
  if (depth === 0) return `Values may be nested at most ${MAX_DEPTH} levels deep.`
  const size = Object.keys(value).length
  if (Array.isArray(value) && size > MAX_ENTRIES) return `A list may have at most ${MAX_ENTRIES} entries.`
  // The schema knows all fields at the top level, and reports unknown ones at once.
  if (!Array.isArray(value) && size > MAX_FIELDS && depth < MAX_DEPTH)
    return `An object may have at most ${MAX_FIELDS} fields.`
  for (const [key, inner] of Object.entries(value)) {
    const wrong = whatIsWrong(key, depth) ?? whatIsWrong(inner, depth - 1)
    if (wrong) return wrong
  }
  return null
}
