/** Work caused by external input is bounded: words, tool paths, patterns, long texts. */
import { describe, expect, it } from 'vitest'
import { isBackchannel } from '../../../media/agent/endpointing.ts'
import { createSplitter } from '../../../media/agent/sentences.ts'
import type { ToolPlan } from '../../../media/contract/plan.ts'
import { buildRequest, runTool } from '../../../media/tools/http-tool.ts'
import { effortOf } from '../../support/effort.ts'

const tool = (changes: Partial<ToolPlan> = {}): ToolPlan => ({
  name: 't',
  description: '',
  method: 'GET',
  url: 'https://api.example/users/{id}/orders',
  parameters: { type: 'object', properties: { id: { type: 'string' } } },
  filler: [],
  timeout_ms: 5000,
  ...changes,
})
const { signal } = new AbortController()

describe('one word of the caller', () => {
  it('however long it is hummed, is judged at once', () => {
    const effort = effortOf(() => {
      expect(isBackchannel(`${'m'.repeat(40)} I want`)).toBe(false)
      expect(isBackchannel(`${'mm hm '.repeat(40)}x`)).toBe(false)
    })
    expect(effort).toBeLessThan(100)
  })
  it.each(['Mhm.', 'Uh-huh.', 'All right.', 'Hello?', 'да, угу'])('%s only says "I am listening"', text => {
    expect(isBackchannel(text)).toBe(true)
  })
})

describe('a tool', () => {
  it.each(['..', '.'])('is not led out of its path by %j', id => {
    expect(buildRequest(tool(), { id }, {}, signal)).toHaveProperty('problem')
    expect(buildRequest(tool({ url: 'https://api.example/users/{id}' }), { id }, {}, signal)).toHaveProperty('problem')
  })

  it('takes half a character for what it is', async () => {
    const outcome = await runTool(tool(), { id: '\ud83d' }, {}, () => Promise.reject(new Error('none')), signal)
    expect(outcome.status).toBe('network_error')
  })

  it("does not run a customer's pattern on the loop that paces the sound", () => {
    const parameters = { type: 'object', properties: { id: { type: 'string', pattern: '^(a+)+$' } } }
    expect(effortOf(() => buildRequest(tool({ parameters }), { id: `${'a'.repeat(26)}!` }, {}, signal))).toBeLessThan(
      100,
    )
  })
})

describe('text without any pause', () => {
  it('is cut between words all the same', () => {
    const splitter = createSplitter()
    const pieces = splitter.push('word '.repeat(1000))
    expect(Math.max(...pieces.map(piece => piece.length))).toBeLessThanOrEqual(400)
    expect([...pieces, splitter.flush()].join(' ').split(' ').filter(Boolean)).toHaveLength(1000)
  })
})
