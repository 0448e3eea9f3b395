import { describe, expect, it } from 'vitest'
import { createMatrix } from '../../../../control/knowledge/index/matrix.ts'
import { quantise } from '../../../../control/knowledge/index/quantise.ts'
import { mulberry32 } from '../../../support/retrieval.ts'

const random = mulberry32(7)
function unit(dimensions: number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => random() + random() + random() - 1.5)
  const length = Math.hypot(...vector)
  return vector.map(value => value / length)
}
const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0)
const bytesOf = (vectors: readonly Float32Array[]) => new Uint8Array(Buffer.concat(vectors.map(quantise)))

describe('the matrix', () => {
  it.each([16, 24, 384, 1000])('finds the nearest of all, with %i dimensions', async dimensions => {
    const matrix = await createMatrix(32 * 1024 * 1024)
    const vectors = Array.from({ length: 4000 }, () => unit(dimensions))
    for (const source of [1, 2]) {
      const half = vectors.slice((source - 1) * 2000, source * 2000)
      expect(
        matrix.add(
          'p',
          dimensions,
          source,
          half.map((_, i) => i),
          bytesOf(half),
        ),
      ).toBe(true)
    }
    const query = unit(dimensions)
    const exact = vectors.map((vector, i) => ({ i, score: dot(vector, query) })).sort((a, b) => b.score - a.score)
    const hits = matrix.search('p', quantise(query), 20)
    expect(hits).toHaveLength(20)
    for (const [i, { source, ordinal, score }] of hits.entries()) {
      // Expected: the exact score at this rank, and that of the found vector. Rounding to bytes may swap neighbours.
      expect(Math.abs(score - exact[i]!.score)).toBeLessThan(0.01)
      expect(Math.abs(score - dot(vectors[(source - 1) * 2000 + ordinal]!, query))).toBeLessThan(0.01)
    }
  })

  it('removes a source and reuses its space', async () => {
    const matrix = await createMatrix(1024 * 1024)
    const dimensions = 64
    const rows = (1024 * 1024) / dimensions
    const vectors = Array.from({ length: rows / 2 }, () => unit(dimensions))
    const ordinals = vectors.map((_, i) => i)
    for (const source of [1, 2]) expect(matrix.add('p', dimensions, source, ordinals, bytesOf(vectors))).toBe(true)
    expect(matrix.add('p', dimensions, 3, [0], bytesOf([unit(dimensions)]))).toBe(false)
    matrix.drop('p', 1)
    const [first] = matrix.search('p', quantise(vectors[77]!), 1)
    expect(first).toMatchObject({ source: 2, ordinal: 77 })
    expect(matrix.search('p', quantise(vectors[0]!), rows).every(({ source }) => source === 2)).toBe(true)
    const size = matrix.bytes
    expect(matrix.add('p', dimensions, 3, ordinals, bytesOf(vectors))).toBe(true)
    matrix.forget('p')
    expect(matrix.search('p', quantise(vectors[0]!), 5)).toEqual([])
    expect(matrix.add('q', dimensions, 4, ordinals, bytesOf(vectors))).toBe(true)
    expect(matrix.bytes).toBe(size)
  })

  it('tolerates zero and NaN vectors', async () => {
    const matrix = await createMatrix(1024 * 1024)
    matrix.add('p', 16, 1, [0, 1], bytesOf([new Float32Array(16), new Float32Array(16).fill(Number.NaN)]))
    expect(matrix.search('p', quantise(unit(16)), 5).map(({ score }) => Math.abs(score))).toEqual([0, 0])
  })
})
