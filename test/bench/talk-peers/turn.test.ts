import { expect, test } from 'vitest'
import { type Said, Turns } from './turn.ts'

const PACKET_MS = 20

/**
 * After a greeting that ended at -300: speaks ten packets, receives audio of the other end at the given times, and
 * returns the result.
 */
function conversation(sounds: [fromMs: number, toMs: number][], overMs: number | null): Said | 'late' {
  const turns = new Turns()
  turns.heard(-300)
  turns.say({ packets: 10, overMs }, 0)
  for (let nowMs = 0; nowMs < 20_000; nowMs += PACKET_MS) {
    if (sounds.some(([fromMs, toMs]) => nowMs >= fromMs && nowMs < toMs)) turns.heard(nowMs)
    turns.next(nowMs)
    const said = turns.settled(nowMs)
    if (said) return said
  }
  throw new Error('not settled')
}

test('measures from sending to the first audio', () => {
  expect(conversation([[700, 1000]], null)).toEqual({
    firstSentMs: 0,
    lastSentMs: 180,
    answeredMs: 700,
    stoppedMs: null,
    cutIns: 0,
  })
})

test('waits for silence before sending', () => {
  const said = conversation(
    [
      [0, 400],
      [500, 600],
      [1500, 1600],
    ],
    null,
  ) as Said
  expect(said.firstSentMs).toBe(880) // 580 was the last audio
  expect(said.answeredMs).toBe(1500)
})

test('counts the next answer after an overlap', () => {
  const said = conversation(
    [
      [0, 640],
      [1000, 1100],
    ],
    500,
  )
  expect(said).toEqual({ firstSentMs: 500, lastSentMs: 680, answeredMs: 1000, stoppedMs: 620, cutIns: 0 })
})

test('ignores an answer during the sentence', () => {
  const said = conversation(
    [
      [100, 300],
      [900, 1000],
    ],
    null,
  )
  expect(said).toMatchObject({ cutIns: 1, stoppedMs: null, answeredMs: 900 })
  expect(conversation([[100, 600]], null)).toMatchObject({ cutIns: 1, answeredMs: null })
})

test('waits for the end of the greeting', () => {
  const turns = new Turns()
  turns.say({ packets: 1, overMs: null }, 0)
  expect(turns.next(5000)).toBeNull()
  turns.heard(5010)
  expect(turns.next(5300)).toBeNull()
  expect(turns.next(5320)).toBe(0)
  expect(turns.settled(5320 + 15_000)).toBeNull()
  expect(turns.settled(5320 + 15_001)).toBe('late')
})

test('counts a missing answer as late', () => {
  expect(conversation([], null)).toBe('late')
  expect(conversation([], 500)).toBe('late') // nothing to interrupt
})
