import { expect, test } from 'vitest'
import { Problem } from '../../control/platform/http/problem.ts'
import { pickLine } from '../../control/telephony/numbers/lines.ts'

const lines = ['+12025550100', '+12025550101', '+12025550102'].map(number => ({ number }))
const phones = Array.from({ length: 60 }, (_, i) => `+1415555${1000 + i}`)

test('uses the caller_id for every phone', () => {
  for (const phone of phones) expect(pickLine(lines, '+12025550101', phone).number).toBe('+12025550101')
})

test('uses a stable number per phone, and all of them', () => {
  const picked = phones.map(phone => pickLine(lines, null, phone).number)
  expect(phones.map(phone => pickLine(lines, null, phone).number)).toEqual(picked)
  expect(new Set(picked).size).toBe(3)
})

test('reports a caller_id that is not bound, and uses no other', () => {
  const pick = () => pickLine(lines, '+493012345', phones[0]!)
  expect(pick).toThrow(Problem)
  expect(pick).toThrow(
    expect.objectContaining({ code: 'no_outbound_line', message: expect.stringContaining('+493012345') }),
  )
  expect(() => pickLine([], null, phones[0]!)).toThrow(expect.objectContaining({ code: 'no_outbound_line' }))
})
