/** A far end on hold: no audio is pulled, and speech that nobody could hear does not count as unanswered. */
import { describe, expect, it } from 'vitest'
import { openTalk } from '../../fakes/conversation.ts'

describe('a call on hold', () => {
  it('is not treated as a silent caller; the timer restarts after the hold', async () => {
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
