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

describe('backchannels', () => {
  it('is classified at once, however long', () => {
    const effort = effortOf(() => {
      expect(isBackchannel(`${'m'.repeat(40)} I want`)).toBe(false)
      expect(isBackchannel(`${'mm hm '.repeat(40)}x`)).toBe(false)
    })
    expect(effort).toBeLessThan(100)
  })
  it.each(['Mhm.', 'Uh-huh.', 'All right.', 'Hello?', 'да, угу'])('%s is only a backchannel', text => {
    expect(isBackchannel(text)).toBe(true)
  })
})

describe('a tool', () => {
  it.each(['..', '.'])('keeps its path with %j', id => {
    expect(buildRequest(tool(), { id }, {}, signal)).toHaveProperty('problem')
    expect(buildRequest(tool({ url: 'https://api.example/users/{id}' }), { id }, {}, signal)).toHaveProperty('problem')
  })

  it('treats lone surrogates as such', async () => {
    const outcome = await runTool(tool(), { id: '\ud83d' }, {}, () => Promise.reject(new Error('none')), signal)
    expect(outcome.status).toBe('network_error')
  })

  it("never runs a customer's pattern on the event loop", () => {
    const parameters = { type: 'object', properties: { id: { type: 'string', pattern: '^(a+)+$' } } }
    expect(effortOf(() => buildRequest(tool({ parameters }), { id: `${'a'.repeat(26)}!` }, {}, signal))).toBeLessThan(
      100,
    )
  })
})

describe('text without any pause', () => {
  it('is split between words', () => {
    const splitter = createSplitter()
    const pieces = splitter.push('word '.repeat(1000))
    expect(Math.max(...pieces.map(piece => piece.length))).toBeLessThanOrEqual(400)
    expect([...pieces, splitter.flush()].join(' ').split(' ').filter(Boolean)).toHaveLength(1000)
  })
})
