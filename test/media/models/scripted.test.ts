import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isOwnTool } from '../../../media/contract/own-tools.ts'
import { findDate, findTime } from '../../../media/models/scripted/dates.ts'
import { findNumbers, tokenize } from '../../../media/models/scripted/numbers.ts'
import { createScripted } from '../../../media/models/scripted/scripted.ts'
import { fillSlots, slotsOf } from '../../../media/models/scripted/slots.ts'
import { speakResult, speakValue } from '../../../media/models/scripted/speak.ts'
import type { ChatMessage, LlmTool } from '../../../media/ports/llm.ts'

/** A Saturday. */
const today = new Date('2026-11-21T09:00:00Z')

describe('numbers', () => {
  it.each([
    ['twenty three', [23]],
    ['one hundred and five', [105]],
    ['two thousand twenty six', [2026]],
    ['room 12 and 13', [12, 13]],
    ['five five five', [555]],
    ['twenty twenty', [20, 20]],
    ['двадцать пять', [25]],
    ['сто сорок два рубля', [142]],
    ['nothing here', []],
    ['twenty-one', [21]],
    ['the 3rd', [3]],
  ])('in %j', (text, values) => {
    expect(findNumbers(tokenize(text)).map(number => number.value)).toEqual(values)
  })
})

describe('days', () => {
  it.each([
    ['tomorrow', '2026-11-22'],
    ['to-morrow', '2026-11-22'],
    ['the day after tomorrow', '2026-11-23'],
    ['on Friday', '2026-11-27'],
    ['Saturday', '2026-11-28'],
    ['December 5th', '2026-12-05'],
    ['the fifth of December', '2026-12-05'],
    ['March third', '2027-03-03'],
    ['2026-12-24', '2026-12-24'],
    ['tonight', '2026-11-21'],
    ['завтра', '2026-11-22'],
    ['послезавтра', '2026-11-23'],
    ['в пятницу', '2026-11-27'],
    ['пятого декабря', '2026-12-05'],
    ['31 February', null],
    ['a table for four', null],
    ['I may come', null],
  ])('in %j', (text, value) => {
    expect(findDate(tokenize(text), today)?.value ?? null).toBe(value)
  })
})

describe('times of day', () => {
  it.each([
    ['at seven in the evening', '19:00'],
    ['at seven', '07:00'],
    ['7:30 p.m.', '19:30'],
    ['7:30pm', '19:30'],
    ['half past seven', '07:30'],
    ['quarter to eight in the evening', '19:45'],
    ['noon', '12:00'],
    ["8 o'clock in the evening", '20:00'],
    ['at nineteen thirty', '19:30'],
    ['в семь вечера', '19:00'],
    ['в 19:30', '19:30'],
    ['в девять утра', '09:00'],
    ['midnight', '00:00'],
    ['at twelve am', '00:00'],
    ['a table for four people', null],
    ['for five people', null],
  ])('in %j', (text, value) => {
    expect(findTime(tokenize(text), false)?.value ?? null).toBe(value)
  })
})

const schema = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
})

describe('slots', () => {
  const booking = slotsOf(
    schema({
      date: { type: 'string', format: 'date' },
      time: { type: 'string', format: 'time' },
      guests: { type: 'integer', description: 'How many people?' },
      name: { type: 'string' },
      phone: { type: 'string' },
      email: { type: 'string' },
      room: { type: 'string', enum: ['terrace', 'main_hall'] },
    }),
  )!

  it('are all found in one sentence, each word used once', () => {
    expect(
      fillSlots(
        'A table for four people tomorrow at seven in the evening on the terrace, my name is Ann Lee',
        booking,
        null,
        today,
      ),
    ).toEqual({
      date: '2026-11-22',
      time: '19:00',
      guests: 4,
      name: 'Ann Lee',
      room: 'terrace',
    })
  })

  it.each([
    ['phone', 'five five five one two three four', { phone: '5551234' }],
    ['phone', 'plus one four one five double five five oh one two three', { phone: '+14155550123' }],
    ['email', 'ann dot lee at example dot com', { email: 'ann.lee@example.com' }],
    ['name', "It's Ann.", { name: 'Ann' }],
    ['time', 'seven', { time: '07:00' }],
    ['guests', 'Four.', { guests: 4 }],
    ['room', 'The main hall, please.', { room: 'main_hall' }],
  ])('%s from %j', (asked, text, values) => {
    expect(
      fillSlots(
        text,
        booking.filter(slot => slot.name === asked),
        asked,
        today,
      ),
    ).toEqual(values)
  })

  it('outside their limits are rejected', () => {
    const slots = slotsOf(schema({ guests: { type: 'integer', minimum: 1, maximum: 8 } }))!
    expect(fillSlots('twenty', slots, 'guests', today)).toEqual({})
  })

  it('of unspeakable types exclude a tool when required', () => {
    expect(slotsOf(schema({ items: { type: 'array' } }))).toBeNull()
    expect(slotsOf(schema({ items: { type: 'array' }, name: { type: 'string' } }, ['name']))).toHaveLength(1)
  })

  it("come from the caller's words only", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('well', 'hello', 'please', 'the', 'weather', 'is', 'nice', 'blue', 'и', 'дом'), {
          maxLength: 12,
        }),
        words => {
          expect(fillSlots(words.join(' '), booking, null, today)).toEqual({})
        },
      ),
    )
  })
})

describe('results as speech', () => {
  it.each([
    ['{"message":"All is well."}', 'All is well.'],
    ['{"status":"open","opens_at":"09:00","internal_id":"x"}', 'status: open, opens at: 9 a m.'],
    ['[{"name":"A"},{"name":"B"}]', 'name: A; name: B.'],
    ['"yes"', 'yes.'],
    ['plain words', 'plain words.'],
    ['{}', 'Done.'],
    ['null', 'Done.'],
  ])('%s', (result, speech) => {
    expect(speakResult(result, 'Done.', 'en')).toBe(speech)
  })
  it('says days and times as people do', () => {
    expect(speakValue('2026-11-22', 'en')).toBe('Sunday, November 22')
    expect(speakValue('19:05', 'en')).toBe('7 oh 5 p m')
    expect(speakValue('R-4711', 'en')).toBe('R-4711')
  })
})

// ---- the policy, on tools that it has never seen ----

interface Spoken {
  schema: Record<string, unknown>
  /** A caller's wording, and the value that must result. */
  words: string
  value: unknown
}
const nouns = ['pizza', 'invoice', 'parcel', 'haircut', 'taxi', 'lawnmower', 'passport', 'violin']
const verbs = ['order', 'cancel', 'track', 'repair', 'reserve']
const numberWords = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve']
const slotKinds: Record<string, fc.Arbitrary<Spoken>> = {
  day: fc
    .constantFrom(['tomorrow', '2026-11-22'], ['on Friday', '2026-11-27'], ['the fifth of December', '2026-12-05'])
    .map(([words, value]) => ({
      schema: { type: 'string', format: 'date' },
      words: words!,
      value,
    })),
  hour: fc.integer({ min: 1, max: 11 }).map(n => ({
    schema: { type: 'string', format: 'time' },
    words: `at ${numberWords[n - 1]} in the evening`,
    value: `${n + 12}:00`,
  })),
  amount: fc
    .integer({ min: 1, max: 12 })
    .map(n => ({ schema: { type: 'integer' }, words: numberWords[n - 1]!, value: n })),
  customer_name: fc
    .constantFrom('Ann Lee', 'John Miller')
    .map(name => ({ schema: { type: 'string' }, words: `My name is ${name}.`, value: name })),
  size: fc.constantFrom('small', 'large').map(size => ({
    schema: { type: 'string', enum: ['small', 'medium', 'large'] },
    words: `${size}, please`,
    value: size,
  })),
  telephone: fc.stringMatching(/^[1-9]{7}$/).map(digits => ({
    schema: { type: 'string', description: 'Telephone number', format: 'phone' },
    words: [...digits].map(d => numberWords[Number(d) - 1]).join(' '),
    value: digits,
  })),
  remark: fc
    .constantFrom('leave it at the door', 'ring twice')
    .map(words => ({ schema: { type: 'string', description: 'Remark' }, words, value: words })),
}
const world = fc.record({
  tools: fc.uniqueArray(fc.tuple(fc.constantFrom(...verbs), fc.constantFrom(...nouns)), {
    minLength: 1,
    maxLength: 4,
    selector: ([, noun]) => noun,
  }),
  slots: fc
    .uniqueArray(fc.constantFrom(...Object.keys(slotKinds)), { minLength: 0, maxLength: 5 })
    .chain(names => fc.tuple(...names.map(name => slotKinds[name]!.map(spoken => [name, spoken] as const)))),
  confirms: fc.boolean(),
})

async function talk(tools: LlmTool[], confirms: boolean, callerSays: (agent: string) => string | null, maxTurns = 20) {
  const llm = createScripted({ confirms: () => confirms })
  const messages: ChatMessage[] = []
  const calls: { name: string; arguments: Record<string, unknown>; turn: number }[] = []
  let heard = 'Hello.'
  let hungUp = false
  for (let turn = 0; turn < maxTurns && !hungUp; turn++) {
    const text = callerSays(heard)
    if (text === null) break
    messages.push({ role: 'caller', text })
    for (let again = true; again; ) {
      again = false
      for await (const event of llm.respond(
        { system: '', boundary: 'b0undaryOfTests1', language: 'en', messages, tools, today },
        new AbortController().signal,
      )) {
        if (event.type === 'text') {
          heard = event.delta
          messages.push({ role: 'agent', text: heard, interrupted: false })
        } else if (event.name === 'end_call') hungUp = true
        else if (!isOwnTool(event.name)) {
          calls.push({ name: event.name, arguments: event.arguments, turn })
          messages.push({
            role: 'tool',
            id: event.id,
            step: event.id,
            name: event.name,
            arguments: event.arguments,
            result: '{"message":"It is done."}',
            ok: true,
          })
          again = true
        }
      }
    }
  }
  return { calls, messages, heard, hungUp, llm }
}

describe('the policy', () => {
  it("fills and calls any tool of any project, with the caller's own values, once", async () => {
    await fc.assert(
      fc.asyncProperty(world, async ({ tools: names, slots, confirms }) => {
        const properties = Object.fromEntries(slots.map(([name, spoken]) => [name, spoken.schema]))
        const tools = names.map(([verb, noun]) => ({
          name: `${verb}_${noun}`,
          description: `${verb} a ${noun}`,
          parameters: schema(properties),
        }))
        const [verb, noun] = names[0]!
        let started = false
        let confirmed = 0
        const { calls } = await talk(tools, confirms, agent => {
          if (!started) {
            started = true
            return `I would like to ${verb} a ${noun}`
          }
          if (/Is that correct\?$/.test(agent)) {
            confirmed++
            return 'Yes.'
          }
          if (/anything else\?$/.test(agent)) return 'No, thank you.'
          const asked = slots.find(([name, spoken]) =>
            agent
              .toLowerCase()
              .includes(
                String(
                  (spoken.schema as { description?: string }).description ?? name.replace(/_/g, ' '),
                ).toLowerCase(),
              ),
          )
          expect(asked, `nobody knows what "${agent}" asks for`).toBeDefined()
          return asked![1].words
        })
        expect(calls).toHaveLength(1)
        expect(calls[0]!.name).toBe(`${verb}_${noun}`)
        expect(calls[0]!.arguments).toEqual(Object.fromEntries(slots.map(([name, spoken]) => [name, spoken.value])))
        expect(confirmed).toBe(confirms ? 1 : 0)
      }),
      { numRuns: 300 },
    )
  })

  const order: LlmTool = {
    name: 'order_pizza',
    description: 'Order a pizza',
    parameters: schema({
      amount: { type: 'integer', description: 'How many?' },
      day: { type: 'string', format: 'date', description: 'For which day?' },
    }),
  }
  const say = (...lines: string[]) => talk([order], true, () => lines.shift() ?? null)

  it('accepts a correction at the read-back', async () => {
    const { calls, messages } = await say('Order a pizza', 'Two.', 'Tomorrow.', 'No, make it three, please', 'Yes')
    expect(calls[0]!.arguments).toEqual({ amount: 3, day: '2026-11-22' })
    expect(messages.filter(message => message.role === 'agent' && /correct/.test(message.text))).toHaveLength(2)
  })

  it('never calls without a yes, and asks what to change after a no', async () => {
    const { calls, heard } = await say('Order a pizza', 'Two.', 'Tomorrow.', 'No.')
    expect(calls).toEqual([])
    expect(heard).toBe('What should I change?')
  })

  it('repeats when asked to, keeping what it has', async () => {
    expect((await say('Order a pizza', 'Two.', 'Sorry, what did you say?')).heard).toBe('For which day?')
  })

  it('explains itself at the first miss, takes a message at the second', async () => {
    expect((await say('My cat is ill.')).heard).toMatch(/order a pizza/)
    const { heard, messages, llm } = await say('My cat is ill.', 'She will not eat.', 'Please call my wife.')
    expect(heard).toMatch(/noted/)
    const extraction = schema({ message: { type: 'string' } })
    const wrap = await llm.wrapUp(
      {
        system: '',
        boundary: 'b0undaryOfTests1',
        language: 'en',
        messages,
        tools: [order],
        today,
        goal: null,
        extraction,
        repair: null,
      },
      new AbortController().signal,
    )
    expect(wrap).toMatchObject({
      extracted: { message: 'Please call my wife.' },
      goalReached: false,
      goalEvidence: null,
      contactName: null,
    })
    expect(wrap.summary).toContain('Please call my wife.')
  })

  it('detects a do-not-call request', async () => {
    const llm = createScripted({ confirms: () => true })
    for (const text of ["Don't call me again.", 'Please take me off your list', 'Больше не звоните мне']) {
      const events = []
      for await (const event of llm.respond(
        {
          system: '',
          boundary: 'b0undaryOfTests1',
          language: 'en',
          messages: [{ role: 'caller', text }],
          tools: [order],
          today,
        },
        new AbortController().signal,
      ))
        events.push(event.type === 'tool' ? event.name : event.type)
      expect(events).toEqual(['text', 'do_not_call', 'end_call'])
    }
  })

  it('works in Russian', async () => {
    const tool: LlmTool = {
      name: 'book',
      description: 'Забронировать столик в ресторане',
      parameters: schema({ day: { type: 'string', format: 'date', description: 'На какой день?' } }),
    }
    const llm = createScripted({ confirms: () => false })
    const ask = async (messages: ChatMessage[]) => {
      for await (const event of llm.respond(
        { system: '', boundary: 'b0undaryOfTests1', language: 'ru', messages, tools: [tool], today },
        new AbortController().signal,
      ))
        return event
      return null
    }
    const first: ChatMessage = { role: 'caller', text: 'Хочу забронировать столик' }
    expect(await ask([first])).toEqual({ type: 'text', delta: 'На какой день?' })
    expect(await ask([first, { role: 'caller', text: 'На завтра' }])).toMatchObject({
      type: 'tool',
      name: 'book',
      arguments: { day: '2026-11-22' },
    })
  })

  it('is stateless', async () => {
    const one = await say('Order a pizza', 'Two.')
    const two = await say('Order a pizza', 'Two.')
    expect(two.messages).toEqual(one.messages)
  })
})
