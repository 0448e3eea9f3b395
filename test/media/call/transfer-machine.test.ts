/** The state machine of transfers, as a table and with random inputs: the caller is never abandoned. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  noTransfer,
  stepTransfer,
  type TransferEffect,
  type TransferInput,
  type TransferRequest,
  type TransferState,
} from '../../../media/call/transfer-machine.ts'

const request = (over: Partial<TransferRequest> = {}): TransferInput => ({
  type: 'request',
  request: { refer: true, announces: false, ...over },
})

function run(...inputs: TransferInput[]) {
  let state: TransferState = noTransfer
  const effects: string[] = []
  for (const input of inputs) {
    const step = stepTransfer(state, input)
    state = step.state
    for (const effect of step.effects) {
      effects.push(effect.type + detailOf(effect))
    }
  }
  return { phase: state.phase, effects }
}

function detailOf(effect: TransferEffect): string {
  if (effect.type === 'settle') return ` ${effect.ok}`
  if (effect.type === 'join') return effect.replace ? ' replace' : ''
  return effect.type === 'hang_up_caller' && effect.reason !== 'transferred' ? ` ${effect.reason}` : ''
}

const theyBroke: TransferInput = { type: 'target_ended', broken: 'media_timeout' }
const silent: TransferInput = { type: 'carrier_silent' }
const refused: TransferInput = { type: 'referred', ok: false, elsewhere: true, reason: 'No.' }
const failed: TransferInput = { type: 'referred', ok: false, elsewhere: false, reason: 'Busy.' }
const done: TransferInput = { type: 'referred', ok: true }
const busy: TransferInput = { type: 'not_answered', reason: 'Busy.' }
const cancel: TransferInput = { type: 'cancel', reason: 'An operator.' }
const [rings, answered, announced, theyLeft, callerLeft] = (
  ['ringing', 'answered', 'announced', 'target_ended', 'caller_ended'] as const
).map(type => ({ type }) as TransferInput) as [
  TransferInput,
  TransferInput,
  TransferInput,
  TransferInput,
  TransferInput,
]

describe('a transfer', () => {
  it.each<[string, TransferInput[], string, string[]]>([
    ['by the carrier', [request(), done], 'over', ['refer', 'settle true']],
    ['that the carrier tried', [request(), failed], 'idle', ['refer', 'settle false']],
    ['refused, bridged', [request(), refused, rings, answered], 'joined', ['refer', 'dial', 'join', 'settle true']],
    ['refused, and busy', [request(), refused, busy], 'idle', ['refer', 'dial', 'settle false']],
    ['never by REFER', [request({ refer: false }), answered], 'joined', ['dial', 'join', 'settle true']],
    [
      'announced, then left to the carrier',
      [request({ announces: true }), answered, announced, theyLeft, done],
      'over',
      ['dial', 'announce', 'join replace', 'settle true', 'await_carrier', 'hang_up_target'],
    ],
    [
      'announced, and kept',
      [request({ announces: true }), answered, announced, refused, theyLeft],
      'over',
      ['dial', 'announce', 'join replace', 'settle true', 'hang_up_caller'],
    ],
    [
      'replaced by nobody: they are gone, and the carrier has failed',
      [request({ announces: true }), answered, announced, theyLeft, failed],
      'over',
      ['dial', 'announce', 'join replace', 'settle true', 'await_carrier', 'hang_up_caller'],
    ],
    [
      'whose line fails, where the carrier might have replaced us',
      [request({ announces: true }), answered, announced, theyBroke, silent],
      'over',
      ['dial', 'announce', 'join replace', 'settle true', 'await_carrier', 'hang_up_caller media_timeout'],
    ],
    [
      'whose line fails',
      [request({ refer: false }), answered, theyBroke],
      'over',
      ['dial', 'join', 'settle true', 'hang_up_caller media_timeout'],
    ],
    [
      'whose announcement is hung up on',
      [request({ announces: true }), answered, theyLeft],
      'idle',
      ['dial', 'announce', 'settle false'],
    ],
    [
      'of a caller who leaves at once',
      [request({ refer: false }), callerLeft],
      'over',
      ['dial', 'cancel_dial', 'settle false'],
    ],
    [
      'of a caller who leaves during the announcement',
      [request({ announces: true }), answered, callerLeft],
      'over',
      ['dial', 'announce', 'hang_up_target', 'settle false'],
    ],
    [
      'of a caller who leaves them',
      [request({ refer: false }), answered, callerLeft],
      'over',
      ['dial', 'join', 'settle true', 'hang_up_target'],
    ],
    [
      'that an operator ends',
      [request({ refer: false }), rings, cancel],
      'idle',
      ['dial', 'cancel_dial', 'settle false'],
    ],
    [
      'that the carrier has cannot be taken back',
      [request(), cancel, callerLeft, done],
      'over',
      ['refer', 'settle true'],
    ],
    [
      'again, after one that failed',
      [request(), failed, request({ refer: false }), answered],
      'joined',
      ['refer', 'settle false', 'dial', 'join', 'settle true'],
    ],
  ])('%s', (_, inputs, phase, effects) => {
    expect(run(...inputs)).toEqual({ phase, effects })
  })

  it('settles once, keeps no orphan leg, and stays ended for any input', () => {
    const input = fc.oneof(
      fc.record({ refer: fc.boolean(), announces: fc.boolean() }).map(over => request(over)),
      fc.constantFrom(
        refused,
        failed,
        done,
        busy,
        cancel,
        rings,
        answered,
        announced,
        theyLeft,
        theyBroke,
        silent,
        callerLeft,
      ),
    )
    fc.assert(
      fc.property(fc.array(input, { maxLength: 20 }), inputs => {
        const { effects, phase } = run(...inputs, callerLeft)
        const count = (type: string) => effects.filter(effect => effect.startsWith(type)).length
        const begun = effects.filter(
          (effect, i) => effect === 'refer' || (effect === 'dial' && effects[i - 1] !== 'refer'),
        )
        expect(count('settle')).toBe(begun.length - (phase === 'referring' ? 1 : 0))
        expect(count('join')).toBeLessThanOrEqual(1)
        if (phase !== 'referring') expect(phase).toBe('over')
        // Somebody of an earlier try may have been hung up on in the announcement.
        const joined = effects.findIndex(effect => effect.startsWith('join'))
        const ends = effects.slice(joined).filter(effect => effect.startsWith('hang_up'))
        if (joined >= 0) expect(ends.length).toBe(1)
      }),
      { numRuns: 2000 },
    )
  })
})
