import { expect, it } from 'vitest'
import { createEgressGuard, RefusalBook } from '../../../media/shared/egress.ts'
import { createMetrics } from '../../../media/shared/metrics.ts'

function guarded() {
  const metrics = createMetrics()
  const asked: string[] = []
  let atMs = 0
  const mayReach = (address: string) => {
    asked.push(address)
    return !address.startsWith('10.')
  }
  const clock = { now: () => atMs, wall: () => 1_000_000 + atMs }
  const guard = createEgressGuard({ mayReach, metrics, clock })
  return { guard, metrics, asked, pass: (ms: number) => (atMs += ms) }
}

it('admits what the policy admits, and counts and names the rest', () => {
  const { guard, metrics, pass } = guarded()
  expect(guard.admits('rtp', '1.1.1.1', 4000)).toBe(true)
  for (let n = 0; n < 3; n++) expect(guard.admits('rtp', '10.0.0.1', 8889)).toBe(false)
  pass(20)
  guard.refused('http', 'fd00::1', 80)
  expect(metrics.text()).toContain('parley_egress_blocked_total{kind="rtp"} 3\n')
  expect(metrics.text()).toContain('parley_egress_blocked_total{kind="rtcp"} 0\n')
  expect(guard.drain()).toEqual([
    { kind: 'rtp', target: '10.0.0.1:8889', count: 3, at: 1_000_000 },
    { kind: 'http', target: '[fd00::1]:80', count: 1, at: 1_000_020 },
  ])
  expect(guard.drain()).toEqual([])
})

it('decides once per address and five seconds: a call has 50 packets a second', () => {
  const { guard, asked, pass } = guarded()
  for (let n = 0; n < 100; n++) guard.admits('rtp', '10.0.0.1', 4000 + n)
  expect(asked).toHaveLength(1)
  pass(5000)
  guard.admits('rtp', '10.0.0.1', 4000)
  expect(asked).toHaveLength(2)
})

it('remembers few targets, whoever names them', () => {
  const book = new RefusalBook()
  const first = [...Array(1000).keys()].filter(port => book.note('rtp', '10.0.0.1', port, 0))
  expect(first).toHaveLength(64)
  expect(book.all()).toHaveLength(64)
  expect(book.note('rtp', '10.0.0.1', 0, 5)).toBe(false)
  expect(book.all()[0]).toEqual({ kind: 'rtp', target: '10.0.0.1:0', count: 2, at: 5 })
})
