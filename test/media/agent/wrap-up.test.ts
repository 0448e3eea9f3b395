import { describe, expect, it } from 'vitest'
import { isShown, wrapUpCall } from '../../../media/agent/wrap-up.ts'
import type { ChatMessage, Llm, WrapUp, WrapUpRequest } from '../../../media/ports/llm.ts'

const messages: ChatMessage[] = [
  { role: 'agent', text: 'Shall I book it for Friday?', interrupted: false },
  { role: 'caller', text: 'Yes, please, my name is Ann Lee.' },
  { role: 'tool', id: '1', step: '1', name: 'book', arguments: { day: 'Friday' }, result: '{"number":12}', ok: true },
]
const extraction = { type: 'object', properties: { guests: { type: 'integer' } }, required: ['guests'] }
const request = {
  system: '',
  boundary: 'b0undaryOfTests1',
  language: 'en',
  messages,
  tools: [],
  today: new Date(0),
  goal: 'Booked',
  extraction: null as Record<string, unknown> | null,
}
const never = new AbortController().signal

function writes(...answers: (Partial<WrapUp> | Error)[]) {
  const asked: WrapUpRequest[] = []
  const llm: Pick<Llm, 'wrapUp'> = {
    async wrapUp(given) {
      asked.push(given)
      const answer = answers[Math.min(asked.length, answers.length) - 1]!
      if (answer instanceof Error) throw answer
      return { summary: 'S', extracted: null, goalReached: false, goalEvidence: null, contactName: null, ...answer }
    },
  }
  return { llm: llm as Llm, asked }
}

describe('the record of a call', () => {
  it('is requested once when valid', async () => {
    const { llm, asked } = writes({
      extracted: { guests: 4 },
      goalReached: true,
      goalEvidence: 'Yes, please',
      contactName: 'Ann Lee',
    })
    expect(await wrapUpCall(llm, { ...request, extraction }, never)).toEqual({
      summary: 'S',
      extracted: { guests: 4 },
      extractionProblem: null,
      goalReached: true,
      goalEvidence: 'Yes, please',
      contactName: 'Ann Lee',
    })
    expect(asked.map(({ repair }) => repair)).toEqual([null])
  })

  it('is corrected once with the errors', async () => {
    const { llm, asked } = writes({ extracted: { guests: 'four' } }, { extracted: { guests: 4 } })
    expect(await wrapUpCall(llm, { ...request, extraction }, never)).toMatchObject({
      extracted: { guests: 4 },
      extractionProblem: null,
    })
    expect(asked[1]!.repair).toMatch(/extracted: guests/)
  })

  it('omits invalid data, with the reason', async () => {
    const { llm, asked } = writes({ extracted: { guests: 'four' } })
    const record = await wrapUpCall(llm, { ...request, extraction }, never)
    expect(record).toMatchObject({ summary: 'S', extracted: null, extractionProblem: expect.stringMatching(/guests/) })
    expect(asked).toHaveLength(2)
  })

  it('keeps the first result when the second times out', async () => {
    const { llm } = writes({ extracted: { guests: 'four' }, summary: 'First' }, new Error('503'))
    expect(await wrapUpCall(llm, { ...request, extraction }, never)).toMatchObject({
      summary: 'First',
      extracted: null,
    })
  })

  it.each([
    ['nothing', null],
    ['words nobody said', 'The customer has agreed to buy the red car'],
  ])('rejects the goal evidence %s', async (_, goalEvidence) => {
    const { llm, asked } = writes({ goalReached: true, goalEvidence })
    expect(await wrapUpCall(llm, request, never)).toMatchObject({ goalReached: false, goalEvidence: null })
    expect(asked[1]!.repair).toMatch(/goal_evidence/)
  })

  it('reports no goal without one, and no name that was not said', async () => {
    const { llm } = writes({ goalReached: true, goalEvidence: 'Yes, please', contactName: 'Bob' })
    expect(await wrapUpCall(llm, { ...request, goal: null }, never)).toMatchObject({
      goalReached: false,
      contactName: null,
    })
  })
})

describe('evidence', () => {
  it.each(['yes please', 'Yes, please — my name is Ann Lee', 'book: {"number":12}', 'number 12'])('is %j', text =>
    expect(isShown(text, messages)).toBe(true),
  )
  it.each(['', '...', 'Saturday', 'no thank you very much', null])('is not %j', text =>
    expect(isShown(text, messages)).toBe(false),
  )
})
