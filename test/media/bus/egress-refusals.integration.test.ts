import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, expect, inject, it } from 'vitest'
import { addRefusals, readRefusals } from '../../../media/bus/egress-refusals.ts'

const redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: 1 })
afterAll(() => redis.disconnect())

it('sums the refusals of all processes, the latest first, for a day', async () => {
  const prefix = `test-${randomUUID()}`
  await addRefusals(redis, prefix, [])
  expect(await readRefusals(redis, prefix)).toEqual([])
  await addRefusals(redis, prefix, [{ kind: 'rtp', target: '10.0.0.1:8889', count: 3, at: 10 }])
  await addRefusals(redis, prefix, [{ kind: 'http', target: '[fd00::1]:80', count: 1, at: 30 }])
  await addRefusals(redis, prefix, [{ kind: 'rtp', target: '10.0.0.1:8889', count: 2, at: 20 }])
  expect(await readRefusals(redis, prefix)).toEqual([
    { kind: 'http', target: '[fd00::1]:80', count: 1, at: 30 },
    { kind: 'rtp', target: '10.0.0.1:8889', count: 5, at: 20 },
  ])
  expect(await redis.ttl(`${prefix}:egress:counts`)).toBeGreaterThan(86_000)
})

it('stays small, however many targets are named', async () => {
  const prefix = `test-${randomUUID()}`
  for (let round = 0; round < 6; round++) {
    const many = [...Array(64).keys()].map(n => ({ kind: 'rtp', target: `10.0.${round}.${n}:1`, count: 1, at: 1 }))
    await addRefusals(redis, prefix, many)
  }
  expect((await readRefusals(redis, prefix)).length).toBeLessThanOrEqual(264)
})
