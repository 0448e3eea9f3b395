/**
 * Converts a JSON Schema to form rows and back. Keywords that the form does not support are kept with their row. A
 * schema that would not survive the round trip is edited as JSON.
 */
import { isRecord, same } from './same.ts'

type Json = Record<string, unknown>

export const FIELD_TYPES = ['text', 'number', 'integer', 'boolean', 'choice', 'texts', 'numbers', 'choices'] as const
export type FieldType = (typeof FIELD_TYPES)[number]

export interface FieldRow {
  key: string
  name: string
  type: FieldType
  description: string
  required: boolean
  /** Options of the choice types. */
  options: string[]
  /** Keywords that the form does not support, such as `format` or `minimum`. */
  rest: Json
}

export interface SchemaDraft {
  /** Null means no schema. */
  mode: 'form' | 'json' | null
  rows: FieldRow[]
  rest: Json
  text: string
}

let made = 0
/** Returns a unique key for React lists. */
export const nextKey = () => `k${made++}`

export const emptyRow = (): FieldRow => ({
  key: nextKey(),
  name: '',
  type: 'text',
  description: '',
  required: false,
  options: [],
  rest: {},
})

export const hasOptions = (type: FieldType) => type === 'choice' || type === 'choices'

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(one => typeof one === 'string')

export const showJson = (value: unknown) => JSON.stringify(value, null, 2)

export function toDraft(schema: Json | null): SchemaDraft {
  if (schema === null) return { mode: null, rows: [], rest: {}, text: '' }
  const draft = asForm(schema)
  return draft ?? { mode: 'json', rows: [], rest: {}, text: showJson(schema) }
}

/** Returns null if the form can't represent the schema. */
export function asForm(schema: Json): SchemaDraft | null {
  const { type, properties = {}, required = [], ...rest } = schema
  if (type !== 'object' || !isRecord(properties) || !isTexts(required)) return null
  const rows = Object.entries(properties).map(([name, property]) => rowOf(name, property, required.includes(name)))
  if (rows.some(row => row === null)) return null
  const draft: SchemaDraft = { mode: 'form', rows: rows as FieldRow[], rest, text: '' }
  // Missing properties and an empty list of required names mean the same as none.
  const meant = { type, properties, ...(required.length > 0 ? { required } : {}), ...rest }
  return same(schemaOf(draft), meant) ? draft : null
}

function rowOf(name: string, property: unknown, required: boolean): FieldRow | null {
  if (!isRecord(property)) return null
  const { type, description = '', enum: options, items, ...rest } = property
  if (typeof description !== 'string') return null
  const shape = type === 'array' ? listShape(items, options) : simpleShape(type, options, items)
  return shape && { key: nextKey(), name, description, required, rest, ...shape }
}

type Shape = Pick<FieldRow, 'type' | 'options'>

function simpleShape(type: unknown, options: unknown, items: unknown): Shape | null {
  if (items !== undefined) return null
  if (type === 'string' && isTexts(options)) return { type: 'choice', options }
  if (options !== undefined) return null
  if (type === 'string') return { type: 'text', options: [] }
  return type === 'number' || type === 'integer' || type === 'boolean' ? { type, options: [] } : null
}

function listShape(items: unknown, options: unknown): Shape | null {
  if (options !== undefined || !isRecord(items)) return null
  const { type, enum: choices, ...more } = items
  if (Object.keys(more).length > 0) return null
  if (type === 'string' && isTexts(choices)) return { type: 'choices', options: choices }
  if (choices !== undefined) return null
  return type === 'string'
    ? { type: 'texts', options: [] }
    : type === 'number'
      ? { type: 'numbers', options: [] }
      : null
}

function typeOf({ type, options }: FieldRow): Json {
  switch (type) {
    case 'text':
      return { type: 'string' }
    case 'choice':
      return { type: 'string', enum: options }
    case 'texts':
      return { type: 'array', items: { type: 'string' } }
    case 'numbers':
      return { type: 'array', items: { type: 'number' } }
    case 'choices':
      return { type: 'array', items: { type: 'string', enum: options } }
    default:
      return { type }
  }
}

const propertyOf = (row: FieldRow): Json => ({
  ...typeOf(row),
  ...(row.description === '' ? {} : { description: row.description }),
  ...row.rest,
})

/** Returns text that is not a JSON object unchanged; call `problemsOf` first. */
export function schemaOf({ mode, rows, rest, text }: SchemaDraft): Json | string | null {
  if (mode === null) return null
  if (mode === 'json') return parse(text) ?? text
  const required = rows.filter(row => row.required).map(({ name }) => name.trim())
  return {
    type: 'object',
    properties: Object.fromEntries(rows.map(row => [row.name.trim(), propertyOf(row)])),
    ...(required.length > 0 ? { required } : {}),
    ...rest,
  }
}

export function parse(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

export type SchemaProblem = 'json' | 'objectSchema' | 'required' | 'twice' | 'options'

/** Returns the problems of a schema draft, each with its path in the draft. */
export function problemsOf({ mode, rows, text }: SchemaDraft): [path: string, problem: SchemaProblem][] {
  if (mode === null) return []
  if (mode === 'json') {
    const schema = parse(text)
    if (schema === null) return [['text', 'json']]
    return schema['type'] === 'object' ? [] : [['text', 'objectSchema']]
  }
  const names = rows.map(({ name }) => name.trim())
  return rows.flatMap((row, index): [string, SchemaProblem][] => {
    const name = names[index]!
    if (name === '') return [[`rows.${index}.name`, 'required']]
    if (names.indexOf(name) !== index) return [[`rows.${index}.name`, 'twice']]
    return hasOptions(row.type) && row.options.length === 0 ? [[`rows.${index}.options`, 'options']] : []
  })
}
