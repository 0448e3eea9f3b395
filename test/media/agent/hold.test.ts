/** A far end that hears nothing for a while: nothing is pulled, and what nobody could hear was not left unanswered. */
import { describe, expect, it } from 'vitest'
import { openTalk } from '../../fakes/conversation.ts'

describe('a call on hold', () => {
  it('is not taken for a silent caller: who comes back has time again', async () => {
    const { line, clock, agentTexts, ended } = openTalk({})
    await line.agentTurn()
    clock.advance(120_000) // nothing is pulled
    await line.silence(8000)
    expect(agentTexts()).toEqual(['Hi there.'])
    await line.agentTurn()
    expect(agentTexts().at(-1)).toBe('Are you still there?')
    expect(ended).toEqual([])
  })
})
