/**
 * The scripted policy: a pure function of the conversation so far and the project's tools. It finds the intended tool,
 * asks for missing values, reads back values before it changes something, and calls the tool. It says so when it cannot
 * help.
 */
import { isOwnTool, type OwnTool } from '../../contract/own-tools.ts'
import type { ChatMessage } from '../../ports/llm.ts'
import { compileIntents, type Intent, matchIntent } from './intents.ts'
import { type Lines, linesFor } from './lines.ts'
import { answerFrom, hasContent } from './lookup.ts'
import { tokenize } from './numbers.ts'
import { fillSlots, type Slot, type SlotValue, type SlotValues, slotsOf, stem, yesNo } from './slots.ts'
import { speakResult, speakValue } from './speak.ts'

interface Asking {
  at: 'asking'
  intent: Intent
  values: SlotValues
  slot: Slot
  misses: number
}

export type PolicyStep =
  /** Nothing is in progress. `open`: something was done, and the agent asked "anything else?". */
  | { at: 'idle'; open: boolean }
  | Asking
  | { at: 'confirming'; intent: Intent; values: SlotValues; changing: boolean }
  | { at: 'calling'; intent: Intent; values: SlotValues }
  | { at: 'told'; intent: Intent; result: string; ok: boolean }
  /** `back`: the question that the search interrupted. */
  | { at: 'looking_up'; question: string; back: Asking | null }
  | { at: 'looked_up'; answer: string | null; back: Asking | null }
  | { at: 'message'; taken: boolean }
  | { at: 'over'; doNotCall: boolean }

export interface PolicyState {
  step: PolicyStep
  misses: number
  /** Everything that the caller has given so far, by slot name. */
  known: SlotValues
  message: string | null
  greeted: boolean
}

export interface PolicyContext {
  intents: Intent[]
  lines: Lines
  language: string
  today: Date
  /**
   * True when the arguments are read back first, because the tool may change something; by its HTTP method when known.
   */
  confirms(intent: Intent): boolean
  /** True when there is knowledge to search. */
  knows: boolean
}

export type PolicyAction =
  | { say: string }
  | { say: string; next: 'hangup' | 'do_not_call' }
  | { say: string; next: 'take_message'; message: string }
  | { call: string; arguments: SlotValues }

const MAX_MISSES = 2
const SEARCH: OwnTool = 'search_knowledge'
const MAX_QUERY = 400

/**
 * Matches a complete request, not one about a time or a manner of calling: the person who makes it is never called
 * again.
 */
const DO_NOT_CALL = new RegExp(
  [
    String.raw`\b(?:do(?:n['’]t| not) (?:ever )?|never )(?:call|phone|contact) (?:me|us|here|this number)(?: (?:at|on) this number)?(?: (?:again|any ?more|ever|please|ever again))*(?=\s*(?:[.,!?;]|$))`,
    String.raw`\b(?:stop|quit) calling(?: (?:me|us|here|this number))?(?=\s*(?:[.,!?;]|please|$))`,
    String.raw`\b(?:take|remove) (?:me|us|my number|this number) (?:off|from) (?:of )?(?:your|the|this|that) (?:\w*call\w* )?(?:lists?|database|records|system)\b`,
    String.raw`\bremove my number\b`,
    String.raw`(?<!почему (?:вы )?)не звоните(?: (?:больше|мне|нам|сюда|никогда|пожалуйста|по этому номеру))*(?=\s*(?:[.,!?;]|$))`,
    'больше (?:мне |нам |сюда )?не звон|(?:удалите|уберите) мой номер',
  ].join('|'),
  'i',
)
/** Matches at the end of a clause only: "that is all wrong" and "is it true that it is closed?" are no farewells. */
const GOODBYE =
  /\b(?:good ?bye|bye(?: bye)?)\b|\b(?:that(?:['’]s| is| was| will be|['’]ll be| would be) (?:all|it|everything)|nothing else|no,? thank(?:s| you))(?=\s*(?:[.,!?;]|$|thanks|thank you|for (?:now|today)|then))|\b(?:you (?:can|may)|i(?:['’]ll| will| have to| must)|please|just|^) ?hang up\b|(?:до свидания|всего доброго|это вс[её](?=\s*(?:[.,!?;]|$))|больше ничего|спасибо,? нет|нет,? спасибо)/i
const OPERATOR =
  /\b(?:operator|human|real person|representative|manager|somebody|someone else|leave a message)\b|(?:оператор|жив\p{L}* человек|с человеком|менеджер|сообщени)/iu
/** Words that revoke a yes; nothing is confirmed by it. */
const OBJECTION =
  /\b(?:but|except|however|wait|hold on|moment|second|think|change|wrong|incorrect|instead|actually|not|no|don['’]t|cancel|stop)\b|(?:^|[^\p{L}])(?:но|кроме|подожд\p{L}*|измени\p{L}*|исправ\p{L}*|не|нет|неверно|неправильно|стоп|отмен\p{L}*)(?!\p{L})/iu
const HARMLESS_NO = /\b(?:no problem|not a problem|no worries|why not)\b|без проблем|нет проблем|почему бы и нет/giu
const FINE_AS_IT_IS =
  /\b(?:nothing|(?:it|that|everything)(?:['’]s| is) (?:all )?(?:fine|ok|okay|good|correct|right))\b|ничего|вс[её] (?:верно|правильно)/i
const QUESTION = /\?|\b(?:what|when|where|which|how|who|can|could|do you|is there|are you|i need|i want)\b/i
/** Separate pattern, since `\b` does not match Cyrillic. */
const RUSSIAN_QUESTION =
  /(?:^|[^\p{L}])(?:что|чем|когда|где|куда|сколько|как|кто|почему|как(?:ой|ая|ое|ие)|можно|есть ли)(?!\p{L})/iu
const REPEAT =
  /\b(?:repeat|say (?:that|it) again|pardon|what did you say|come again|sorry\?)|(?:повторите|не расслышал|что вы сказали)/i
const NEVER_MIND =
  /\b(?:never ?mind|forget it|cancel that|start over|something else)\b|(?:неважно|забудьте|не надо ничего|сначала)/i
const HELLO =
  /^(?:hello|hi|hey|good (?:morning|afternoon|evening)|здравствуйте|привет|алло|добрый (?:день|вечер))[\s,.!?]*(?:there)?[.!?]*$/i

/** Acknowledgements, which contain nothing to search for. */
const HEARD =
  /^(?:(?:ok(?:ay)?|all ?right|great|good|perfect|i see|thanks?(?: you)?(?: (?:very|so) much)?|спасибо(?: большое)?|хорошо|понятно|ясно|отлично)[\s,.!]*)+$/i

export function decide(messages: readonly ChatMessage[], context: PolicyContext): PolicyAction {
  return actionOf(replay(messages, context), context)
}

export function replay(messages: readonly ChatMessage[], context: PolicyContext): PolicyState {
  let state: PolicyState = { step: { at: 'idle', open: false }, misses: 0, known: {}, message: null, greeted: false }
  for (const message of messages) {
    if (message.role === 'caller') state = onCaller(state, message.text, context)
    else if (message.role === 'tool') state = onTool(state, message, context)
  }
  return state
}

function onTool(
  state: PolicyState,
  message: Extract<ChatMessage, { role: 'tool' }>,
  context: PolicyContext,
): PolicyState {
  if (message.name === SEARCH) return onFound(state, message, context)
  const intent = context.intents.find(({ tool }) => tool.name === message.name)
  if (!intent) return state
  return { ...state, step: { at: 'told', intent, result: message.result, ok: message.ok }, misses: 0 }
}

function onFound(
  state: PolicyState,
  { arguments: { query }, result, ok }: Extract<ChatMessage, { role: 'tool' }>,
  { language }: PolicyContext,
): PolicyState {
  const back = state.step.at === 'looking_up' ? state.step.back : null
  const answer = ok ? answerFrom(String(query), result, language) : null
  if (answer !== null) return { ...state, misses: 0, step: { at: 'looked_up', answer, back } }
  const misses = state.misses + 1
  if (misses >= MAX_MISSES && !back) return { ...state, misses: 0, step: { at: 'message', taken: false } }
  return { ...state, misses, step: { at: 'looked_up', answer, back } }
}

function onCaller(state: PolicyState, text: string, context: PolicyContext): PolicyState {
  const { step } = state
  if (step.at === 'over') return state
  if (DO_NOT_CALL.test(text)) return { ...state, step: { at: 'over', doNotCall: true } }
  if (step.at === 'calling' || REPEAT.test(text)) return state
  switch (step.at) {
    case 'idle':
    case 'told':
      return onOpen(state, text, step.at === 'told' || step.open, context)
    case 'looking_up':
    case 'looked_up':
      return step.back ? onAnswer(state, step.back, text, context) : onOpen(state, text, true, context)
    case 'asking':
      return onAnswer(state, step, text, context)
    case 'confirming':
      return onConfirm(state, step, text, context)
    case 'message':
      return step.taken
        ? onOpen(state, text, true, context)
        : { ...state, step: { at: 'message', taken: true }, message: text, misses: 0 }
  }
}

function onOpen(state: PolicyState, text: string, open: boolean, context: PolicyContext): PolicyState {
  const intent = matchIntent(text, context.intents, context.today)
  if (intent) return begin({ ...state, misses: 0, greeted: true }, intent, text, context)
  const answer = yesNo(text)
  if (GOODBYE.test(text) || (open && answer === false && !QUESTION.test(text)))
    return { ...state, step: { at: 'over', doNotCall: false } }
  if (OPERATOR.test(text)) return { ...state, step: { at: 'message', taken: false } }
  if (open && context.knows && HEARD.test(text.trim())) return { ...state, step: { at: 'idle', open: true } }
  if (open && answer === true) return { ...state, step: { at: 'idle', open: false }, misses: 0, greeted: false }
  if (HELLO.test(text.trim())) return { ...state, step: { at: 'idle', open: false }, greeted: false }
  if (context.knows && hasContent(text)) return lookUp({ ...state, greeted: true }, text, null)
  const misses = state.misses + 1
  if (misses >= MAX_MISSES || context.intents.length === 0)
    return { ...state, misses: 0, step: { at: 'message', taken: false } }
  return { ...state, misses, greeted: true, step: { at: 'idle', open: false } }
}

const lookUp = (state: PolicyState, question: string, back: Asking | null): PolicyState => ({
  ...state,
  step: { at: 'looking_up', question, back },
})

function begin(state: PolicyState, intent: Intent, text: string, context: PolicyContext): PolicyState {
  const given = fillSlots(text, intent.slots, null, context.today)
  return advance(state, intent, given, 0, context)
}

/** Asks for the next missing value, or continues to confirm or call. */
function advance(
  state: PolicyState,
  intent: Intent,
  values: SlotValues,
  misses: number,
  context: PolicyContext,
): PolicyState {
  const missing = intent.slots.find(slot => slot.required && !(slot.name in values))
  const known = { ...state.known, ...values }
  if (missing) return { ...state, known, step: { at: 'asking', intent, values, slot: missing, misses } }
  const step: PolicyStep = context.confirms(intent)
    ? { at: 'confirming', intent, values, changing: false }
    : { at: 'calling', intent, values }
  return { ...state, known, step }
}

function onAnswer(
  state: PolicyState,
  step: Extract<PolicyStep, { at: 'asking' }>,
  text: string,
  context: PolicyContext,
): PolicyState {
  const { intent, slot } = step
  if (NEVER_MIND.test(text)) return { ...state, step: { at: 'idle', open: false }, misses: 0, greeted: false }
  const open = intent.slots.filter(candidate => !(candidate.name in step.values))
  const given = fillSlots(text, open, slot.name, context.today)
  // The caller may have answered another question; keep the given values.
  if (Object.keys(given).length > 0) return advance(state, intent, { ...step.values, ...given }, 0, context)
  if (GOODBYE.test(text)) return { ...state, step: { at: 'over', doNotCall: false } }
  if (OPERATOR.test(text)) return { ...state, step: { at: 'message', taken: false } }
  const other = matchIntent(text, context.intents, context.today)
  if (other && other !== intent) return begin(state, other, text, context)
  const asks = QUESTION.test(text) || RUSSIAN_QUESTION.test(text)
  if (context.knows && asks && hasContent(text)) return lookUp(state, text, step)
  const misses = step.misses + 1
  if (misses > MAX_MISSES) return { ...state, step: { at: 'message', taken: false } }
  return { ...state, step: { ...step, misses } }
}

function onConfirm(
  state: PolicyState,
  step: Extract<PolicyStep, { at: 'confirming' }>,
  text: string,
  context: PolicyContext,
): PolicyState {
  const { intent, values } = step
  const answer = yesNo(text)
  const changed = corrections(text, intent.slots, values, context.today)
  if (Object.keys(changed).length > 0) return advance(state, intent, { ...values, ...changed }, 0, context)
  const meant = answer === true && !OBJECTION.test(text.replace(HARMLESS_NO, ''))
  if (meant && !step.changing) return { ...state, step: { at: 'calling', intent, values } }
  if (NEVER_MIND.test(text)) return { ...state, step: { at: 'idle', open: true } }
  if (step.changing && (meant || FINE_AS_IT_IS.test(text))) return { ...state, step: { ...step, changing: false } }
  if (answer === false) return { ...state, step: { ...step, changing: true } }
  // "Change the time": ask for that value again.
  const named = intent.slots.find(slot => slot.name in values && mentions(text, slot))
  if (!named && GOODBYE.test(text)) return { ...state, step: { at: 'over', doNotCall: false } }
  if (!named && OPERATOR.test(text)) return { ...state, step: { at: 'message', taken: false } }
  if (!named) return { ...state, step }
  const rest = Object.fromEntries(Object.entries(values).filter(([name]) => name !== named.name))
  return advance(state, intent, rest, 0, context)
}

function corrections(text: string, slots: readonly Slot[], values: SlotValues, today: Date): SlotValues {
  const stated = slots.filter(slot => slot.kind !== 'text' && slot.kind !== 'boolean')
  const found = fillSlots(text, stated, null, today)
  return Object.fromEntries(Object.entries(found).filter(([name, value]) => values[name] !== value))
}

const mentions = (text: string, slot: Slot) => {
  const words = new Set(tokenize(text).map(stem))
  return tokenize(slot.name.replace(/[_-]/g, ' ')).some(word => word.length > 2 && words.has(stem(word)))
}

export function actionOf(state: PolicyState, context: PolicyContext): PolicyAction {
  const { lines, language } = context
  const { step } = state
  switch (step.at) {
    case 'idle':
      if (step.open || !state.greeted) return { say: step.open ? lines.whatElse : lines.whatCanIDo }
      return { say: canDo(context) }
    case 'asking':
      return { say: lines.ask(step.slot.label) }
    case 'confirming':
      return {
        say: step.changing
          ? lines.whatToChange
          : lines.confirm(readBack(step.intent.slots, step.values, lines, language)),
      }
    case 'calling':
      return { call: step.intent.tool.name, arguments: step.values }
    case 'told':
      return { say: `${step.ok ? speakResult(step.result, lines.done, language) : lines.failed} ${lines.whatElse}` }
    case 'looking_up':
      return { call: SEARCH, arguments: { query: step.question.slice(0, MAX_QUERY).toWellFormed() } }
    case 'looked_up': {
      const whatNow = step.back
        ? lines.ask(step.back.slot.label)
        : step.answer === null
          ? canDo(context)
          : lines.whatElse
      return { say: `${step.answer ?? lines.unknown} ${whatNow}` }
    }
    case 'message':
      if (!step.taken) return { say: lines.takeMessage }
      return { say: `${lines.noted} ${lines.whatElse}`, next: 'take_message', message: state.message ?? '' }
    case 'over':
      return step.doNotCall ? { say: lines.noAgain, next: 'do_not_call' } : { say: lines.goodbye, next: 'hangup' }
  }
}

const canDo = ({ intents, lines }: PolicyContext): string =>
  intents.length === 0
    ? lines.whatElse
    : lines.canDo(intents.map(({ tool }) => describe(tool.description)).join(lines.or))

function readBack(slots: readonly Slot[], values: SlotValues, lines: Lines, language: string): string {
  return slots
    .filter(slot => slot.name in values)
    .map(slot => `${slot.name.replace(/[_-]+/g, ' ')} ${speakSlot(slot, values[slot.name]!, lines, language)}`)
    .join(lines.and)
}

function speakSlot(slot: Slot, value: SlotValue, lines: Lines, language: string): string {
  if (typeof value === 'boolean') return value ? lines.yes : lines.no
  if (slot.kind === 'phone') return [...String(value)].join(' ')
  return speakValue(value, language)
}

/** Returns a description as a spoken item: its first clause, without the full stop. */
const describe = (description: string) => {
  const first = description.split(/[.;\n]/)[0]!.trim()
  return /^\p{Lu}\p{Ll}/u.test(first) ? first[0]!.toLowerCase() + first.slice(1) : first
}

/** Returns all values that could be parsed from the caller's words, by the properties of an extraction schema. */
export function extract(
  messages: readonly ChatMessage[],
  schema: Record<string, unknown>,
  context: PolicyContext,
): SlotValues {
  const { known, message } = replay(messages, context)
  const slots = slotsOf({ ...schema, required: [] }) ?? []
  const values: SlotValues = {}
  for (const entry of messages) {
    if (entry.role === 'caller') Object.assign(values, fillSlots(entry.text, slots, null, context.today))
  }
  for (const slot of slots) {
    if (slot.name in known) values[slot.name] = known[slot.name]!
    else if (slot.kind === 'text' && message && /message|note|сообщ/i.test(`${slot.name} ${slot.label}`))
      values[slot.name] = message
  }
  return values
}

export function contextFor(
  tools: Parameters<typeof compileIntents>[0],
  language: string,
  today: Date,
  confirms: (name: string) => boolean,
): PolicyContext {
  return {
    intents: compileIntents(tools.filter(({ name }) => !isOwnTool(name))),
    knows: tools.some(({ name }) => name === SEARCH),
    lines: linesFor(language),
    language,
    today,
    confirms: ({ tool }) => confirms(tool.name),
  }
}
