/** Extracts typed values from the caller's words, by a tool's JSON Schema. Pure. It never invents a value. */
import { findDate, findTime } from './dates.ts'
import { digitOf, findNumbers, tokenize } from './numbers.ts'

export type SlotKind =
  | 'date'
  | 'time'
  | 'datetime'
  | 'number'
  | 'phone'
  | 'email'
  | 'name'
  | 'boolean'
  | 'enum'
  | 'text'

export interface Slot {
  name: string
  kind: SlotKind
  required: boolean
  /** Words to ask for it: the schema's description or title, else its name in words. */
  label: string
  options: string[]
  integer: boolean
  minimum: number | null
  maximum: number | null
}

type Schema = Record<string, unknown>

/**
 * Slots in the order of `required`, which storage preserves, unlike that of the properties. Returns null when a
 * required property cannot be asked for by voice (nested objects, arrays).
 */
export function slotsOf(schema: Schema): Slot[] | null {
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>
  const required = ((schema['required'] ?? []) as string[]).filter(name => name in properties)
  const slots: Slot[] = []
  for (const name of new Set([...required, ...Object.keys(properties)])) {
    const kind = kindOf(name, properties[name]!)
    if (kind) slots.push(toSlot(name, properties[name]!, kind, required.includes(name)))
    else if (required.includes(name)) return null
  }
  return slots
}

function toSlot(name: string, property: Schema, kind: SlotKind, required: boolean): Slot {
  const number = (key: string) => (typeof property[key] === 'number' ? (property[key] as number) : null)
  const label = property['description'] ?? property['title'] ?? inWords(name)
  return {
    name,
    kind,
    required,
    label: String(label),
    options: Array.isArray(property['enum']) ? property['enum'].map(String) : [],
    integer: property['type'] === 'integer',
    minimum: number('minimum'),
    maximum: number('maximum'),
  }
}

function kindOf(name: string, property: Schema): SlotKind | null {
  const { type, format } = property
  if (Array.isArray(property['enum'])) return 'enum'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'boolean'
  if (type !== 'string') return null
  const byFormat: Record<string, SlotKind> = {
    date: 'date',
    time: 'time',
    'date-time': 'datetime',
    email: 'email',
    phone: 'phone',
    tel: 'phone',
  }
  if (typeof format === 'string' && byFormat[format]) return byFormat[format]!
  const hint = `${inWords(name)} ${property['title'] ?? ''}`.toLowerCase()
  if (/\b(?:e-?mail)\b|почт/.test(hint)) return 'email'
  if (/\b(?:phone|telephone|mobile)\b|телефон/.test(hint)) return 'phone'
  if (/\bdate\b|дата/.test(hint)) return 'date'
  if (/\btime\b|время/.test(hint)) return 'time'
  if (/\bname\b|имя|фамилия/.test(hint)) return 'name'
  return 'text'
}

export const inWords = (name: string) =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_\-.]+/g, ' ')
    .toLowerCase()
    .trim()

export type SlotValue = string | number | boolean
export type SlotValues = Record<string, SlotValue>

/**
 * Returns values for the open slots from one utterance. A bare answer may fill the slot that was asked for; the others
 * require words of their kind (a day, a time with "at", a number near the slot's word).
 */
export function fillSlots(text: string, open: readonly Slot[], asked: string | null, today: Date): SlotValues {
  const values: SlotValues = {}
  let tokens = tokenize(text)
  const take = (start: number, end: number) => {
    tokens = [...tokens.slice(0, start), '·', ...tokens.slice(end)]
  }
  const byKind = (kind: SlotKind) => open.filter(slot => slot.kind === kind && !(slot.name in values))
  const wanted = (kind: SlotKind) => byKind(kind).find(slot => slot.name === asked) ?? byKind(kind)[0]

  for (const slot of byKind('email')) {
    const email = findEmail(text)
    if (email) values[slot.name] = email
  }
  const phone = wanted('phone')
  if (phone) {
    const number = findPhone(tokens)
    if (number) {
      values[phone.name] = number.value
      take(number.start, number.end)
    }
  }
  const date = wanted('date') ?? wanted('datetime')
  const day = date ? findDate(tokens, today) : null
  if (date && day && date.kind === 'date') {
    values[date.name] = day.value
    take(day.start, day.end)
  }
  const time = wanted('time')
  if (time) {
    const found = findTime(tokens, time.name === asked)
    if (found) {
      values[time.name] = found.value
      take(found.start, found.end)
    }
  }
  if (date?.kind === 'datetime' && day) {
    const found = findTime([...tokens.slice(0, day.start), ...tokens.slice(day.end)], true)
    if (found) values[date.name] = `${day.value}T${found.value}:00`
  }
  for (const slot of byKind('enum')) {
    const option = findOption(tokens, slot.options)
    if (option) values[slot.name] = option
  }
  fillNumbers(tokens, byKind('number'), asked, values)
  fillWords(text, open, asked, values)
  return values
}

function fillNumbers(
  tokens: readonly string[],
  slots: readonly Slot[],
  asked: string | null,
  values: SlotValues,
): void {
  const numbers = findNumbers(tokens)
  for (const slot of slots) {
    const near = numbers.find(number => isNear(tokens, number, slot))
    const bare = slot.name === asked ? numbers[0] : undefined
    const only = slots.length === 1 && numbers.length === 1 ? numbers[0] : undefined
    const number = near ?? bare ?? only
    if (number && fits(number.value, slot)) values[slot.name] = number.value
  }
}

/** "for four people" fills a slot described with "people"; "two nights" one named nights. */
function isNear(tokens: readonly string[], number: { start: number; end: number }, slot: Slot): boolean {
  const words = tokenize(`${inWords(slot.name)} ${slot.label}`)
    .filter(word => word.length > 3)
    .map(stem)
  return [tokens[number.end], tokens[number.end + 1], tokens[number.start - 1]].some(
    token => token !== undefined && words.includes(stem(token)),
  )
}

const fits = (value: number, slot: Slot) =>
  (!slot.integer || Number.isInteger(value)) &&
  (slot.minimum === null || value >= slot.minimum) &&
  (slot.maximum === null || value <= slot.maximum)

function fillWords(text: string, open: readonly Slot[], asked: string | null, values: SlotValues): void {
  for (const slot of open) {
    if (slot.name in values) continue
    if (slot.kind === 'name') {
      const name = findName(text, slot.name === asked)
      if (name) values[slot.name] = name
    } else if (slot.name === asked && slot.kind === 'boolean') {
      const answer = yesNo(text)
      if (answer !== null) values[slot.name] = answer
    } else if (slot.name === asked && slot.kind === 'text') {
      const words = stripLeadIn(text)
      if (words) values[slot.name] = words
    }
  }
}

const YES =
  /^(?:yes|yeah|yep|yup|sure|correct|right|exactly|of course|please do|ok|okay|that's right|that is right|go ahead|absolutely|да|конечно|верно|правильно|хорошо|угу|ага)\b/i
const NO = /^(?:no|nope|not|nah|wrong|incorrect|нет|неверно|неправильно|не надо|не)(?![\p{L}])/iu

export function yesNo(text: string): boolean | null {
  const start = text
    .trim()
    .replace(/^(?:oh|well|um+|uh+|ну|э+)[,\s]+/i, '')
    .replace(/^(?:no problem|not a problem|no worries|без проблем|нет проблем)[.,!\s]*/i, '')
  if (/^(?:да|конечно|верно|правильно|хорошо|угу|ага)(?![\p{L}])/iu.test(start) || YES.test(start)) return true
  return NO.test(start) ? false : null
}

function findEmail(text: string): string | null {
  const joined = text
    .toLowerCase()
    .replace(/\s+(?:at|собака)\s+/g, '@')
    .replace(/\s+(?:dot|точка)\s+/g, '.')
    .replace(/\s*(@)\s*/g, '$1')
  return /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/.exec(joined)?.[0]?.replace(/\.$/, '') ?? null
}

function findPhone(tokens: readonly string[]): { value: string; start: number; end: number } | null {
  for (let start = 0; start < tokens.length; start++) {
    let digits = ''
    let end = start
    let repeat = 1
    for (; end < tokens.length; end++) {
      const token = tokens[end]!
      const figures = /^\+?\d[\d./-]*$/.test(token) ? token.replace(/[./-]/g, '') : digitOf(token)
      if (token === 'double' || token === 'triple') repeat = token === 'double' ? 2 : 3
      else if (token === 'plus' || token === 'плюс') digits += '+'
      else if (figures !== null) {
        digits += figures.repeat(repeat)
        repeat = 1
      } else break
    }
    if (/^\+?\d{7,15}$/.test(digits)) return { value: digits, start, end }
  }
  return null
}

function findOption(tokens: readonly string[], options: readonly string[]): string | null {
  const stems = tokens.map(stem)
  const scored = options
    .map(option => ({ option, words: tokenize(inWords(option)).map(stem) }))
    .filter(({ words }) => words.length > 0 && words.every(word => stems.includes(word)))
    .sort((a, b) => b.words.length - a.words.length)
  return scored[0]?.option ?? null
}

const NAME_LEAD =
  /(?<![\p{L}\p{N}])(?:my name is|the name is|name's|name is|this is|i am|i'm|call me|it's|under the name|меня зовут|моя фамилия|имя|это)\s+/iu

/** "The name is wrong" contains no name. */
const NO_NAME = /^(?:wrong|not|incorrect|correct|right|misspelled|spelled|different|fine|the same)\b/i

function findName(text: string, asked: boolean): string | null {
  const lead =
    /\b(?:my name is|the name is|name is|name's|under the name(?: of)?|call me)\s+([\p{L}'’-]+(?:\s+\p{Lu}[\p{L}'’-]+)?)/iu.exec(
      text,
    ) ?? /(?:меня зовут|моя фамилия|на имя)\s+([\p{L}-]+(?:\s+\p{Lu}[\p{L}-]+)?)/iu.exec(text)
  if (lead && !NO_NAME.test(lead[1]!)) return title(lead[1]!)
  if (!asked) return null
  const words = stripLeadIn(text.replace(NAME_LEAD, ''))
    .split(/[\s,]+/)
    .filter(word => /^[\p{L}'’.-]+$/u.test(word))
  const letters = words.map(word => word.replace(/\.$/, ''))
  if (letters.length > 1 && letters.every(letter => letter.length === 1)) return title(letters.join('').toLowerCase())
  return words.length >= 1 && words.length <= 4 ? title(words.join(' ')) : null
}

const title = (name: string) =>
  name
    .replace(/[.,!?]+$/, '')
    .replace(/(^|[\s-])(\p{L})/gu, (_, gap: string, letter: string) => gap + letter.toUpperCase())

const stripLeadIn = (text: string) =>
  text
    .trim()
    .replace(/^(?:(?:um+|uh+|well|so|ok|okay|yes|ну|э+|да)[,\s]+)+/i, '')
    .replace(/^(?:it is|it's|that is|that's|это)\s+/i, '')
    .replace(/[.!?,\s]+$/, '')

/** Deliberately simple: it matches "booking" with "book" and "столика" with "столик". */
export function stem(word: string): string {
  const lower = word.toLowerCase().replace(/ё/g, 'е')
  if (/[а-я]/.test(lower)) return lower.length > 5 ? lower.slice(0, 5) : lower
  return lower.replace(/(?:'s|ing|ings|ed|es|s|ment|ations?|ions?|e)$/, '') || lower
}
