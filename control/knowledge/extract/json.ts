/**
 * Converts JSON to lines `path: value`. The members of the outermost object become headings. Each object in a list
 * becomes a separate text, so that a record can be found and understood alone.
 */
import { KnowledgeError } from '../documents/types.ts'
import { Blocks, cleanLine } from './blocks.ts'
import type { Parsed } from './parsed.ts'

/** Levels of nesting. Files written by people have ten at most; our traversal is recursive. */
const DEEPEST = 100

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export function readJson(text: string): Parsed {
  const value = parseJson(text)
  const blocks = new Blocks()
  if (isObject(value)) {
    const [plain, nested] = split(Object.entries(value))
    blocks.text(lines(Object.fromEntries(plain)).join('\n'))
    for (const [key, member] of nested) {
      const texts = records(member)
      if (texts.length > 0) blocks.heading(1, key)
      for (const text of texts) blocks.text(text)
    }
  } else for (const text of records(value)) blocks.text(text)
  return { title: null, blocks: blocks.list, html: null }
}

function parseJson(text: string): Json {
  refuseDepth(text)
  try {
    return parseExact(text)
  } catch {
    const rows = text.split(/\r?\n/).filter(line => line.trim() !== '')
    try {
      // One value per line, as in logs and exports.
      if (rows.length > 1) return rows.map(parseExact)
    } catch {}
    throw new KnowledgeError('damaged', 'The file is not valid JSON.')
  }
}

/** Keeps numbers as written: an account number has more digits than a float, and a price ends in zeros. */
function parseExact(text: string): Json {
  type Revive = (key: string, value: Json, context: { source?: string }) => Json
  const revive: Revive = (_, value, { source }) =>
    typeof value !== 'number' || source === undefined || (/e/i.test(source) && Number.isFinite(value)) ? value : source
  // The third argument is from ECMAScript 2026; the type definitions do not have it yet.
  return JSON.parse(text, revive as (key: string, value: Json) => Json) as Json
}

/** Runs before parsing, because every level of nesting costs memory. */
function refuseDepth(text: string): void {
  let depth = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (quoted) {
      if (code === 0x5c) i++
      else if (code === 0x22) quoted = false
    } else if (code === 0x22) quoted = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > DEEPEST)
        throw new KnowledgeError('too_complex', `The file is nested more than ${DEEPEST} levels deep.`)
    } else if (code === 0x7d || code === 0x5d) depth--
  }
}

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isPlain = (value: Json) => typeof value !== 'object' || value === null

function split(entries: [string, Json][]): [[string, Json][], [string, Json][]] {
  return [entries.filter(([, value]) => isPlain(value)), entries.filter(([, value]) => !isPlain(value))]
}

/** Makes a separate text of each object in a list. */
function records(value: Json): string[] {
  if (Array.isArray(value) && !value.every(isPlain)) return value.flatMap(records)
  const text = lines(value).join('\n')
  return text === '' ? [] : [text]
}

function lines(value: Json, path = ''): string[] {
  if (value === null || value === '') return []
  if (isPlain(value)) return [`${path ? `${path}: ` : ''}${cleanLine(String(value))}`]
  if (Array.isArray(value)) {
    if (value.every(isPlain))
      return value.length === 0 ? [] : lines(value.filter(item => item !== null).join(', '), path)
    return value.flatMap((item, index) => lines(item, `${path} ${index + 1}`.trimStart()))
  }
  return Object.entries(value as { [key: string]: Json }).flatMap(([key, member]) =>
    lines(member, path ? `${path} › ${cleanLine(key)}` : cleanLine(key)),
  )
}
