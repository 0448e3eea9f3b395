/**
 * Applies the rules to a text. Words under a negation (`never ask for the PIN`) or about somebody else (`fraudsters ask
 * for the PIN`) are not an instruction.
 */
import { anyOf, type Rule, rules, word } from './rules.ts'

/**
 * Words between a negation and its verb: `do not under any circumstances ask`. But `do not forget to ask` is an
 * instruction.
 */
const BETWEEN = anyOf(
  ...[
    'ever',
    'even',
    'under',
    'in',
    'any',
    'no',
    'circumstances?',
    'case',
    'allowed',
    'permitted',
    'supposed',
    'to',
    'try',
  ],
  ...['attempt', 'have', 'need', 'be', 'you', 'must', 'should', 'may', 'can', 'please', 'at', 'all', 'time', 'never'],
  ...[
    'не',
    'никогда',
    'ни',
    'при',
    'каких',
    'каким',
    'под',
    'видом',
    'обстоятельствах',
    'условиях',
    'случае',
    'должен',
  ],
  ...['должна', 'должны', 'надо', 'нужно', 'имеешь', 'имеете', 'права', 'пытайся', 'пытайтесь', 'вы', 'ты', 'агент'],
)
const NEGATION = new RegExp(
  `(?:${word(
    ...['never', 'not', 'cannot', 'without', 'avoid', 'refuse to', 'forbidden to', 'prohibited from', 'instead of'],
    ...['не', 'нельзя', 'никогда', 'запрещено', 'запрещается', 'недопустимо', 'без', 'вместо того чтобы'],
  )}|n't)(?:[\\s,:]+${BETWEEN}(?!\\p{L})){0,7}[\\s,:]*$`,
  'iu',
)
const OTHERS = new RegExp(
  `${word(
    ...['scammers?', 'fraudsters?', 'criminals?', 'thieves', 'strangers?', 'someone', 'somebody', 'anyone', 'anybody'],
    ...['nobody', 'no one', 'they', 'callers?', 'customers?', 'clients?', 'people', 'who'],
    ...['мошенник\\p{L}*', 'злоумышленник\\p{L}*', 'преступник\\p{L}*', 'аферист\\p{L}*', 'кто-то', 'кто-нибудь'],
    ...['кто-либо', 'никто', 'они', 'клиенты', 'люди', 'которые', 'который'],
  )}(?:\\s+${anyOf(
    ...['who', 'that', 'may', 'might', 'can', 'could', 'will', 'would', 'often', 'sometimes', 'usually', 'also'],
    ...['(?:try|tries|want|wants|pretend) to', 'могут', 'может', 'часто', 'иногда', 'обычно', 'пытаются', 'просят'],
    ...['предлагают', 'убеждают', 'начнут', 'станут', 'будут', 'хотят'],
  )}(?!\\p{L})){0,3}\\s*$`,
  'iu',
)
/** `never ask for or collect …`: the negation applies to both verbs. */
const ALTERNATIVE = /(?<!\p{L})(?:or|nor|или|либо)\s*$/iu

/** Matches an item of a list. The line above the list may forbid what the items name. */
const ITEM = /^\s*(?:[-*•–—]|\d+[.)])\s/
const FORBIDDING = new RegExp(
  `${word('not', 'never', "don'ts?", 'forbidden', 'prohibited', 'не', 'нельзя', 'никогда', 'запрещено', 'запрещается')}|n't`,
  'iu',
)
const ORDERING_ALL_THE_SAME = /forget|fail|hesitate|skip|забуд|забыва|пропус|стесня/i

const forbids = (header: string) =>
  header.trimEnd().endsWith(':') && FORBIDDING.test(header) && !ORDERING_ALL_THE_SAME.test(header)

/** Maps the index of each list item to whether its list names forbidden things. One pass. */
function readItems(text: string): Map<number, boolean> {
  const items = new Map<number, boolean>()
  let forbidden = false
  for (let start = 0; start <= text.length; ) {
    const end = text.indexOf('\n', start)
    const line = text.slice(start, end === -1 ? text.length : end)
    if (ITEM.test(line)) items.set(start, forbidden)
    else if (line.trim() !== '') forbidden = forbids(line)
    start = end === -1 ? text.length + 1 : end + 1
  }
  return items
}

interface Reading {
  text: string
  items: Map<number, boolean>
}

const isForbiddenItem = ({ text, items }: Reading, index: number) =>
  items.get(index === 0 ? 0 : text.lastIndexOf('\n', index - 1) + 1) === true

const CONTEXT = 120

function plain(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, '')
    .replace(/[’ʼ`]/g, "'")
    .replace(/ё/g, 'е')
    .replace(/Ё/g, 'Е')
    .replace(/[ \t\u00a0]+/g, ' ')
}

function breaks({ pattern, unless }: Rule, reading: Reading): boolean {
  const { text } = reading
  if (unless?.test(text)) return false
  pattern.lastIndex = 0
  let excusedBefore = false
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const before = text.slice(Math.max(0, match.index - CONTEXT), match.index)
    const sentence = before.slice(before.search(/[^.!?;\n]*$/))
    const excused: boolean =
      NEGATION.test(sentence) || OTHERS.test(sentence) || (excusedBefore && ALTERNATIVE.test(sentence))
    if (!excused && !isForbiddenItem(reading, match.index)) return true
    excusedBefore = excused
    // The match may contain a second verb: `never ask for the name, but get the PIN`.
    pattern.lastIndex = match.index + 1
  }
  return false
}

/**
 * Yields after each rule, so that reading a long text does not block other work. Returns the first rule that the text
 * breaks.
 */
export function* readByRules(text: string): Generator<undefined, Rule | undefined> {
  const words = plain(text)
  const reading = { text: words, items: readItems(words) }
  for (const rule of rules) {
    if (breaks(rule, reading)) return rule
    yield
  }
  return undefined
}
