/**
 * Stream entries as Redis returns them, including the older version that `npm start` downloads when the system has
 * none.
 */
import { expect, it } from 'vitest'
import { toEntries } from '../../../media/bus/streams.ts'

it.each([
  ['nothing', null, []],
  ['an entry', [['1-0', ['a', '1', 'b', '2']]], [{ id: '1-0', fields: { a: '1', b: '2' } }]],
  [
    'one that was deleted, as XREADGROUP tells it',
    [
      ['1-0', null],
      ['2-0', ['a', '1']],
    ],
    [{ id: '2-0', fields: { a: '1' } }],
  ],
  [
    'one that was deleted, as XAUTOCLAIM of Redis 6.2 tells it',
    [null, ['2-0', ['a', '1']]],
    [{ id: '2-0', fields: { a: '1' } }],
  ],
])('%s', (_name, raw, entries) => {
  expect(toEntries(raw)).toEqual(entries)
})
