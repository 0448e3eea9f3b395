import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { FULL_ONLY } from '../../../infra/tools/test-selection.ts'

it('names files that exist, and what runs in their place', () => {
  const named = Object.entries(FULL_ONLY).flatMap(([file, instead]) => [file, ...instead.split(', ')])
  expect(named.filter(file => !existsSync(file))).toEqual([])
  expect(Object.values(FULL_ONLY).filter(instead => instead.split(', ').some(file => file in FULL_ONLY))).toEqual([])
})
