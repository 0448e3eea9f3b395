import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type CallEffect,
  type CallInput,
  type CallState,
  dialing,
  opening,
  stepCall,
} from '../../../media/call/machine.ts'

const run = (start: CallState, inputs: CallInput[]) => {
  const effects: CallEffect[] = []
  let state = start
  for (const input of inputs) {
    const step = stepCall(state, input)
    state = step.state
    effects.push(...step.effects)
  }
  return { state, effects: effects.map(effect => effect.type), all: effects }
}
const busy: CallInput = { type: 'dial_failed', failure: { status: 'busy', reason: 'busy', sipCode: 486 } }

describe('a call', () => {
  it('runs from dialling to completed', () => {
    const { state, effects } = run(dialing, [
      { type: 'ringing' },
      { type: 'ringing' },
      { type: 'answered' },
      { type: 'started' },
      { type: 'leg_ended', reason: 'caller_hangup' },
      { type: 'wrapped_up' },
    ])
    expect(effects).toEqual(['emit_ringing', 'start_conversation', 'wrap_up', 'finish'])
    expect(state).toEqual({ phase: 'ended', outcome: { status: 'completed', reason: 'caller_hangup', sipCode: null } })
  })

  it('that is not answered keeps its reason', () => {
    expect(run(dialing, [busy]).state).toEqual({
      phase: 'ended',
      outcome: { status: 'busy', reason: 'busy', sipCode: 486 },
    })
  })

  it('canceled while ringing is canceled, whatever the far end says then', () => {
    const { state, effects } = run(dialing, [
      { type: 'ringing' },
      { type: 'end', reason: 'api_hangup' },
      { type: 'end', reason: 'api_hangup' },
      busy,
    ])
    expect(effects).toEqual(['emit_ringing', 'cancel_dial', 'finish'])
    expect(state).toMatchObject({ outcome: { status: 'canceled', reason: 'canceled_by_api' } })
  })

  it('answered during a cancel is hung up', () => {
    const { state, effects } = run(dialing, [
      { type: 'end', reason: 'api_hangup' },
      { type: 'answered' },
      { type: 'leg_ended', reason: 'api_hangup' },
      { type: 'wrapped_up' },
    ])
    expect(effects).toEqual(['cancel_dial', 'hang_up', 'wrap_up', 'finish'])
    expect(state).toMatchObject({ outcome: { status: 'canceled' } })
  })

  it('out of money says goodbye before it hangs up', () => {
    const talking = run(opening, [{ type: 'started' }]).state
    expect(run(talking, [{ type: 'end', reason: 'balance_exhausted' }]).effects).toEqual(['say_goodbye'])
    const { effects, state } = run(talking, [
      { type: 'end', reason: 'balance_exhausted' },
      { type: 'goodbye_over' },
      { type: 'leg_ended', reason: 'balance_exhausted' },
      { type: 'wrapped_up' },
    ])
    expect(effects).toEqual(['say_goodbye', 'hang_up', 'wrap_up', 'finish'])
    expect(state).toMatchObject({ outcome: { status: 'completed', reason: 'balance_exhausted' } })
  })

  it.each(['media_timeout', 'connection_lost', 'model_error'] as const)('broken by %s has failed', reason => {
    const { state } = run(opening, [{ type: 'started' }, { type: 'leg_ended', reason }, { type: 'wrapped_up' }])
    expect(state).toMatchObject({ outcome: { status: 'failed', reason } })
  })

  it('ends exactly once', () => {
    const reasons = ['api_hangup', 'agent_hangup', 'max_duration', 'engine_shutdown', 'caller_hangup'] as const
    const input: fc.Arbitrary<CallInput> = fc.oneof(
      fc.constantFrom<CallInput>(
        { type: 'ringing' },
        { type: 'answered' },
        { type: 'started' },
        { type: 'goodbye_over' },
        { type: 'wrapped_up' },
        busy,
      ),
      fc.constantFrom(...reasons).map(reason => ({ type: 'end' as const, reason })),
      fc.constantFrom(...reasons).map(reason => ({ type: 'leg_ended' as const, reason })),
    )
    fc.assert(
      fc.property(fc.constantFrom(dialing, opening), fc.array(input, { maxLength: 40 }), (start, inputs) => {
        const { state, effects } = run(start, inputs)
        const times = (type: string) => effects.filter(effect => effect === type).length
        expect(times('finish')).toBe(state.phase === 'ended' ? 1 : 0)
        for (const once of ['start_conversation', 'wrap_up', 'cancel_dial', 'hang_up', 'say_goodbye'])
          expect(times(once)).toBeLessThanOrEqual(1)
        if (state.phase === 'ended') expect(run(state, inputs)).toMatchObject({ state, effects: [] })
      }),
    )
  })
})
