/**
 * Questions that no tool answers: the offline language model searches the knowledge base, and says what it found or
 * that it found nothing.
 */
import { describe, expect, it } from 'vitest'
import { answerFrom } from '../../../media/models/scripted/lookup.ts'
import { createScripted } from '../../../media/models/scripted/scripted.ts'
import type { ChatMessage, LlmEvent, LlmTool } from '../../../media/ports/llm.ts'

const today = new Date('2026-11-21T09:00:00Z')
const object = (properties: Record<string, unknown>, required: string[]) => ({ type: 'object', properties, required })
const search: LlmTool = {
  name: 'search_knowledge',
  description: 'Look up what is known about the business, before you answer a question about it.',
  parameters: object({ query: { type: 'string' } }, ['query']),
}
const book: LlmTool = {
  name: 'book_table',
  description: 'Book a table. For guests of the restaurant.',
  parameters: object({ day: { type: 'string', format: 'date' }, guests: { type: 'integer' } }, ['day', 'guests']),
}

const llm = createScripted({ confirms: () => false })
async function reply(messages: ChatMessage[], tools = [search], language = 'en'): Promise<LlmEvent[]> {
  const events: LlmEvent[] = []
  const request = { system: '', boundary: 'b0undaryOfTests1', language, messages, tools, today }
  for await (const event of llm.respond(request, new AbortController().signal)) events.push(event)
  return events
}
const caller = (text: string): ChatMessage => ({ role: 'caller', text })
const agent = (text: string): ChatMessage => ({ role: 'agent', text, interrupted: false })
const passage = (text: string, heading = '') => ({ source: 'faq.md', heading, text })
const found = (query: string, ...passages: object[]): ChatMessage => ({
  role: 'tool',
  id: 'c1',
  step: '1',
  name: 'search_knowledge',
  arguments: { query },
  ok: true,
  result: JSON.stringify(passages),
})
const said = (events: LlmEvent[]) => events.map(event => (event.type === 'text' ? event.delta : '')).join('')
const called = (events: LlmEvent[]) => events.find(event => event.type === 'tool')

const REFUNDS = passage('We are glad to help. A refund is paid back within nine days. Ask at the desk for the form.')
const PARKING = passage('There are twelve places behind the house.\nThey are free for guests.', 'Hotel › Parking')

describe('the sentence that answers', () => {
  it.each([
    ['how soon do I get my refund', 'A refund is paid back within nine days. Ask at the desk for the form.'],
    ['Is there parking?', 'There are twelve places behind the house. They are free for guests.'],
    ['which places are free', 'There are twelve places behind the house. They are free for guests.'],
    ['do you sell violins', null],
    ['what', null],
  ])('%s', (question, answer) => {
    expect(answerFrom(question, JSON.stringify([REFUNDS, PARKING]), 'en')).toBe(answer)
  })

  it('is matched in Russian in any inflection', () => {
    const passages = [passage('Мы рады гостям. Завтрак подают с восьми до одиннадцати в большом зале на первом этаже.')]
    expect(answerFrom('А во сколько у вас завтраки?', JSON.stringify(passages), 'ru')).toBe(
      'Завтрак подают с восьми до одиннадцати в большом зале на первом этаже.',
    )
  })

  it('is short and speakable', () => {
    const long = passage(`- **Refunds** are ${'really '.repeat(100)}slow.`)
    const answer = answerFrom('refunds', JSON.stringify([long]), 'en')!
    expect(answer.length).toBeLessThanOrEqual(301)
    expect(answer).toMatch(/^Refunds are really .*…$/)
  })

  it.each(['Nothing was found. Say that you do not know.', '[]', '{}', '[1]', 'null', '{"source":'])(
    'detects no question in %j',
    result => {
      expect(answerFrom('refund', result, 'en')).toBeNull()
    },
  )
})

describe('a question', () => {
  it("is searched with the caller's words", async () => {
    const question = caller('How soon do I get my refund?')
    expect(called(await reply([question]))).toMatchObject({
      name: 'search_knowledge',
      arguments: { query: 'How soon do I get my refund?' },
    })
    expect(called(await reply([question], []))).toBeUndefined()
  })

  it('is answered from the knowledge base', async () => {
    const messages = [caller('How soon do I get my refund?'), found('How soon do I get my refund?', REFUNDS)]
    const answer = await reply(messages)
    expect(called(answer)).toBeUndefined()
    expect(said(answer)).toBe(
      'A refund is paid back within nine days. Ask at the desk for the form. Is there anything else?',
    )
    const thanks = [...messages, agent(said(answer)), caller('Okay, thank you.')]
    expect([said(await reply(thanks)), called(await reply(thanks))]).toEqual(['Is there anything else?', undefined])
    const over = await reply([...messages, agent(said(answer)), caller('No, goodbye.')])
    expect(called(over)).toMatchObject({ name: 'end_call' })
  })

  it('without an answer is admitted; the second one is taken as a message', async () => {
    const messages = [caller('Do you sell violins?'), found('Do you sell violins?', REFUNDS)]
    const first = said(await reply(messages))
    expect(first).toBe('I am sorry, I do not know that. Is there anything else?')
    const again = [...messages, agent(first), caller('And trumpets?'), found('And trumpets?')]
    expect(said(await reply(again))).toMatch(/Please tell me your message/)
  })

  it('that failed to be searched is not answered', async () => {
    const failed = { ...found('refund'), ok: false, result: 'It did not work.' } as ChatMessage
    expect(said(await reply([caller('My refund?'), failed]))).toMatch(/^I am sorry, I do not know that/)
  })

  it('is answered within an order, which continues', async () => {
    const tools = [book, search]
    const messages = [caller('I want to book a table.')]
    const asked = said(await reply(messages, tools))
    expect(asked).toMatch(/day/i)
    messages.push(agent(asked), caller('Is there parking?'))
    expect(called(await reply(messages, tools))).toMatchObject({ name: 'search_knowledge' })
    messages.push(found('Is there parking?', PARKING))
    const answer = said(await reply(messages, tools))
    expect(answer).toBe(`There are twelve places behind the house. They are free for guests. ${asked}`)
    messages.push(agent(answer), caller('Tomorrow, for four.'))
    expect(called(await reply(messages, tools))).toMatchObject({
      name: 'book_table',
      arguments: { day: '2026-11-22', guests: 4 },
    })
  })

  it('yields to an intent, a goodbye, or a request for a person', async () => {
    const tools = [book, search]
    expect(called(await reply([caller('A table for tomorrow for four guests, please book it.')], tools))).toMatchObject(
      {
        name: 'book_table',
      },
    )
    expect(called(await reply([caller('Goodbye.')], tools))).toMatchObject({ name: 'end_call' })
    expect(said(await reply([caller('I want to talk to a human.')], tools))).toMatch(/message/)
    expect(said(await reply([caller('Hello?')], tools))).toBe('What can I do for you?')
  })
})
