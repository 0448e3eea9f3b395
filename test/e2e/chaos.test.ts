/**
 * Each process is killed, frozen and restarted at random in the middle of calls, campaigns and webhooks, by a seed that
 * is printed. At the end every call has ended, every hold is settled, no phone rang twice and no webhook is missing.
 */
import { expect, inject } from 'vitest'
import { type Aftermath, chaos } from '../support/chaos.ts'
import { planBlows, VICTIMS } from '../support/chaos-plan.ts'
import { needs } from '../support/needs.ts'

const { describe, it } = needs('sipp')

const full = inject('full')
const given = inject('chaosSeed')
const SIZE = full ? { stormMs: 45_000, blows: 16 } : { stormMs: 10_000, blows: 4 }
const SEEDS = given !== null ? [given] : full ? Array.from({ length: 10 }, (_, n) => 1001 + n) : [7]
const LIMIT_MS = 600_000

it('repeats the same faults for a seed', () => {
  const size = { stormMs: 60_000, blows: 16 }
  expect(planBlows(7, size)).toEqual(planBlows(7, size))
  expect(planBlows(8, size)).not.toEqual(planBlows(7, size))
  const blows = planBlows(7, size)
  expect(new Set(blows.map(({ victim }) => victim))).toEqual(new Set(VICTIMS))
  expect(blows.map(({ atMs }) => atMs)).toEqual(blows.map(({ atMs }) => atMs).sort((a, b) => a - b))
  expect(Math.max(...blows.map(({ atMs }) => atMs))).toBeLessThan(60_000)
})

describe('chaos', () => {
  it.each(SEEDS)('with seed %i leaves consistent state', { timeout: LIMIT_MS }, async seed => {
    const { wrong, tale, calls, rings }: Aftermath = await chaos(seed, SIZE)
    console.log(tale)
    expect(wrong, tale).toEqual([])
    // It was one: people were called, and most of them rang.
    expect(calls).toBeGreaterThan(SIZE.stormMs / 2000)
    expect(rings).toBeGreaterThan(calls / 2)
  })
})
