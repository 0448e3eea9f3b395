import { describe, expect, it } from 'vitest'
import { type FileTime, overBudget } from '../../../infra/tools/test-budgets.ts'

const file = (name: string, seconds: number): FileTime => ({ file: `test/${name}.test.ts`, project: 'unit', seconds })

describe('the budget of a file', () => {
  it('passes a run of quick files', () => {
    expect(overBudget([file('a', 1), file('b', 39)])).toEqual([])
  })

  it('names the file and its time', () => {
    expect(overBudget([file('a', 1), file('b', 41)])).toEqual([
      'test/b.test.ts took 41 s; its budget is 40 s (infra/tools/test-budgets.ts)',
    ])
  })

  it('scales with the speed of the whole run', () => {
    const others = Array.from({ length: 86 }, (_, n) => file(`slow-${n}`, 10))
    expect(overBudget([...others, file('b', 41)])).toEqual([])
    expect(overBudget([...others, file('b', 90)])).toHaveLength(1)
  })
})
