/** Phrases that the scripted model must not confuse: consent, farewells, numbers and names. */

import { describe, expect, it } from 'vitest'
import { findNumbers, tokenize } from '../../../media/models/scripted/numbers.ts'
import { createScripted } from '../../../media/models/scripted/scripted.ts'
import { fillSlots, slotsOf, yesNo } from '../../../media/models/scripted/slots.ts'
import type { ChatMessage, LlmEvent } from '../../../media/ports/llm.ts'

const today = new Date('2026-11-21T09:00:00Z')
const tools = [
  {
    name: 'book_table',
    description: 'Book a table in the restaurant.',
    parameters: {
      type: 'object',
      properties: {
        date: { type: 'string', format: 'date', description: 'For which day?' },
        party_size: { type: 'integer', description: 'For how many people?' },
      },
      required: ['date', 'party_size'],
    },
  },
]

async function after(words: string[], language = 'en'): Promise<LlmEvent[]> {
  const messages = words.map((text): ChatMessage => ({ role: 'caller', text }))
  const events: LlmEvent[] = []
  const request = { system: '', boundary: 'b0undaryOfTests1', language, messages, tools, today }
  for await (const event of createScripted({ confirms: () => true }).respond(request, new AbortController().signal))
    events.push(event)
  return events
}
const types = async (words: string[], language?: string) =>
  (await after(words, language)).map(event => (event.type === 'tool' ? event.name : event.type))
const said = async (words: string[], language?: string) =>
  (await after(words, language)).map(event => (event.type === 'text' ? event.delta : '')).join('')

describe('never to be called again', () => {
  it.each([
    "Please don't call me again.",
    'Do not call us anymore!',
    "Don't call me at this number.",
    'Stop calling me.',
    'Take me off your call list.',
    'Never call me again, please.',
    'Не звоните мне больше.',
    'Больше мне не звоните',
  ])('is meant by %j', async text => {
    expect(await types([text])).toContain('do_not_call')
  })

  it.each([
    "Please don't call me before nine.",
    "Don't call me Mister, call me John.",
    'Take me off the waiting list.',
    'I never call restaurants.',
    'Почему вы не звоните?',
    'Не звоните мне до девяти.',
  ])('is not meant by %j', async text => {
    expect(await types([text])).not.toContain('do_not_call')
  })
})

describe('a farewell', () => {
  it.each(['Goodbye.', "That's all, thank you.", 'No, thank you.', 'Nothing else.', "That's it.", 'You can hang up.'])(
    'is %j',
    async text => {
      expect(await types([text])).toContain('end_call')
    },
  )
  it.each([
    "Please don't hang up.",
    'Is it true that it is closed on Monday?',
    'That is all wrong!',
    'No, what does it cost?',
  ])('is not %j', async text => {
    expect(await types([text])).not.toContain('end_call')
  })
})

describe('what was read back', () => {
  const booking = ['Book a table for four people tomorrow.']

  it.each(['Yes.', 'Yes, that is correct.', 'Right.', 'No problem, yes.', 'Sure, why not.'])(
    'is done after %j',
    async text => {
      expect(await types([...booking, text])).toEqual(['book_table'])
    },
  )
  it.each([
    'Yes, but change the date.',
    'Okay, wait a moment.',
    'Okay, let me think.',
    'I said no.',
    'Not today.',
    'Right, no.',
  ])('is not done after %j', async text => {
    expect(await types([...booking, text])).not.toContain('tool')
  })
  it('can be left as it was', async () => {
    expect(await said([...booking, 'No.', 'Nothing, it is fine.'])).toMatch(/read that back/)
    expect(await types([...booking, 'No.', 'Nothing, it is fine.', 'Yes.'])).toEqual(['book_table'])
  })
  it('is dropped when the caller says goodbye', async () => {
    expect(await types([...booking, 'Goodbye.'])).toEqual(['text', 'end_call'])
  })
})

describe('yes and no', () => {
  it.each([
    ['No problem, yes', true],
    ['Right', true],
    ['not today', false],
    ['I said no', null],
  ] as const)('%j', (text, answer) => {
    expect(yesNo(text)).toBe(answer)
  })
  it('a number of people in Russian is no cry for a person', async () => {
    expect(await said(['Забронируйте table book', 'на четыре человека'], 'ru')).not.toMatch(/сообщение/)
  })
})

describe('a number said digit by digit', () => {
  it.each([
    ['four seven one one', [4711]],
    ['it is four seven one one please', [4711]],
    ['четыре семь один один', [4711]],
    ['two or three', [2, 3]],
    ['twenty one', [21]],
    ['one two', [1, 2]],
  ])('%j is %o', (text, values) => {
    expect(findNumbers(tokenize(text)).map(({ value }) => value)).toEqual(values)
  })
})

describe('a name', () => {
  const slot = slotsOf({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] })!
  it.each([
    ['K, I, M.', 'Kim'],
    ['k. i. m.', 'Kim'],
    ['A B R A H A M', 'Abraham'],
    ['John Miller.', 'John Miller'],
    ['это Анна', 'Анна'],
  ])('of %j is %s', (text, name) => {
    expect(fillSlots(text, slot, 'name', new Date(0))).toEqual({ name })
  })
})
