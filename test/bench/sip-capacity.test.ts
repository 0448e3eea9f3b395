import { expect, it } from 'vitest'
import { findTop, type Step } from './sip-capacity.ts'

/** Clean up to `limit`; from `late` on the caller cannot keep the rate. */
function system(limit: number, late = Number.POSITIVE_INFINITY) {
  const tried: number[] = []
  const step = async (rate: number): Promise<Step> => {
    tried.push(rate)
    const result = rate >= late ? 'late' : rate <= limit ? 'clean' : 'flawed'
    return { rate, calls: 3000, result, failed: 0, slow: 0, repeated: 0, answered: [], busy: {} }
  }
  return { step, tried }
}
const search = { from: 100, seconds: 1, halvings: 4, tries: 1 }

it('doubles until a rate is not clean, then halves the distance', async () => {
  const { step, tried } = system(730)
  const { top, stopped } = await findTop(step, search)
  expect(tried).toEqual([100, 200, 400, 800, 600, 700, 750, 725])
  expect(top).toBe(725)
  expect(stopped).toBeNull()
})

it('halves the first rate when it is too high', async () => {
  const { top } = await findTop(system(60).step, search)
  expect(top).toBe(57)
})

it('stops when the load generator is late', async () => {
  const { step, tried } = system(5000, 700)
  const { top, stopped } = await findTop(step, search)
  expect(tried).toEqual([100, 200, 400, 800])
  expect(top).toBe(400)
  expect(stopped).toContain('late at 800')
})
