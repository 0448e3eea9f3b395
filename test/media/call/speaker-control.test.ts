import { expect, it } from 'vitest'
import { SpeakerControl } from '../../../media/call/speaker-control.ts'

it('returns the call to the agent after the last holder', () => {
  const done: string[] = []
  let ending = false
  const floor = new SpeakerControl({
    stepAside: () => {
      if (!ending) done.push('aside')
      return !ending
    },
    stepIn: () => void done.push('in'),
    operatorSaid() {},
    instruct() {},
  })
  const operator = floor.for('operator', () => done.push('taken'))
  const target = floor.for('target')
  operator.stepIn()
  expect(operator.stepAside()).toBe(true)
  expect(target.stepAside()).toBe(true)
  operator.stepIn()
  expect(done).toEqual(['aside', 'taken', 'aside'])
  target.stepIn()
  target.stepIn()
  expect(done).toEqual(['aside', 'taken', 'aside', 'in'])
  ending = true
  expect(target.stepAside()).toBe(false)
})
