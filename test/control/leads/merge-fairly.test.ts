import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergeFairly } from '../../../control/outreach/leads/merge-fairly.ts'

const never = new AbortController().signal
async function* listed<T>(items: readonly T[]) {
  yield* items
}
const streamOf = <T>(source: string, items: AsyncIterable<T>) => ({ source, items })
const noFailure = (source: string, error: unknown) => {
  throw new Error(`${source}: ${error}`)
}

test('reads streams in turn without loss or duplicates', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(12), { maxLength: 4 }), async lengths => {
      const streams = lengths.map((length, n) => streamOf(String(n), listed(Array.from({ length }, (_, i) => i))))
      const got: Record<string, number[]> = {}
      for await (const { source, item } of mergeFairly(streams, noFailure, never)) {
        got[source] = [...(got[source] ?? []), item]
        // No stream with more items is a whole round behind; the order within a round is free.
        const open = lengths.flatMap((length, n) => ((got[n] ?? []).length < length ? [(got[n] ?? []).length] : []))
        if (open.length > 0) expect(Math.max(...open) - Math.min(...open)).toBeLessThanOrEqual(1)
      }
      for (const [n, length] of lengths.entries()) expect(got[n] ?? []).toEqual(Array.from({ length }, (_, i) => i))
    }),
    { numRuns: 100 },
  )
})

test('continues past hanging and failing streams, and stops on abort', async () => {
  const end = new AbortController()
  const hanging = async function* () {
    await new Promise(() => {})
    yield 0
  }
  const breaking = async function* () {
    yield 1
    throw new Error('away')
  }
  const streams = [streamOf('hangs', hanging()), streamOf('breaks', breaking()), streamOf('works', listed([1, 2, 3]))]
  const got: string[] = []
  const failures: string[] = []
  for await (const { source } of mergeFairly(streams, one => void failures.push(one), end.signal)) {
    got.push(source)
    if (got.length === 4) end.abort()
  }
  expect(got.sort()).toEqual(['breaks', 'works', 'works', 'works'])
  expect(failures).toEqual(['breaks'])
})
