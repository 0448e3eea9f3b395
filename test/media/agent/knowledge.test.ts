/** Knowledge search in a call: its presentation to the model and its entry in the record. */
import { expect, it } from 'vitest'
import type { KnowledgeHit } from '../../../media/ports/knowledge.ts'
import type { LlmEvent, LlmRequest } from '../../../media/ports/llm.ts'
import { MAX_RESULT_CHARS } from '../../../media/tools/http-tool.ts'
import { call, hit, openTalk, text } from '../../fakes/conversation.ts'

const lookUp = (request: LlmRequest): LlmEvent[] =>
  request.messages.at(-1)?.role === 'caller'
    ? [call('search_knowledge', { query: 'opening hours' })]
    : [text('At nine.')]

async function talk(searchKnowledge: () => Promise<KnowledgeHit[]>) {
  const opened = openTalk({
    says: ['When are you open?'],
    replies: lookUp,
    plan: { knowledge: true },
    abilities: { searchKnowledge },
  })
  await opened.line.agentTurn()
  await opened.line.caller(800)
  await opened.line.agentTurn()
  const [used] = opened.tools()
  const turn = opened.conversation.transcript.turns.find(({ role }) => role === 'tool')
  return { used: used!, turn: turn!, told: opened.llm.requests.at(-1)!.messages.at(-1)! }
}

it('the passages are on the tool call and in the transcript, with the names of their sources', async () => {
  const [first, second] = [
    hit({
      text: 'Nine to five.',
      source: 'hours.md',
      heading: 'Week',
      chunk_id: '0195f2c4-7a10-7c3e-9b1d-00000000000a',
    }),
    hit({ text: 'Closed on Sunday.', source: 'prices.md', chunk_id: '0195f2c4-7a10-7c3e-9b1d-00000000000b' }),
  ]
  const { used, turn, told } = await talk(async () => [first, second])
  const knowledge = [first, second].map(({ chunk_id, source_id, source }) => ({ chunk_id, source_id, source }))
  expect(used).toMatchObject({ status: 'ok', knowledge })
  expect(turn).toMatchObject({ text: 'search_knowledge: ok (hours.md, prices.md)', knowledge })
  expect(told).toMatchObject({
    result: JSON.stringify([
      { source: 'hours.md', heading: 'Week', text: 'Nine to five.' },
      { source: 'prices.md', text: 'Closed on Sunday.' },
    ]),
  })
})

it('records only the passages that the model received', async () => {
  const long = Array.from({ length: 5 }, (_, i) => hit({ text: `${i}`.repeat(1500) }))
  const { used, told } = await talk(async () => long)
  expect(used.knowledge).toHaveLength(2)
  expect(JSON.parse(used.result)).toHaveLength(2)
  expect(used.result.length).toBeLessThanOrEqual(MAX_RESULT_CHARS)
  expect(told).toMatchObject({ result: used.result })
  const { used: huge } = await talk(async () => [hit({ text: 'x'.repeat(50_000) })])
  expect(huge.knowledge).toHaveLength(1)
  expect(JSON.parse(huge.result)[0].text.length).toBe(MAX_RESULT_CHARS / 2)
})

it('reports no result or a timeout to the model without sources', async () => {
  const { used, turn } = await talk(async () => [])
  expect(used).toMatchObject({ status: 'ok', result: 'Nothing was found. Say that you do not know.' })
  expect([used.knowledge, turn.text, turn.knowledge]).toEqual([undefined, 'search_knowledge: ok', undefined])
  const late = await talk(() => Promise.reject(new Error('no answer to knowledge.search')))
  expect(late.used).toMatchObject({ status: 'failed', result: 'It did not work.' })
  expect(late.turn.text).toBe('search_knowledge: failed')
})
