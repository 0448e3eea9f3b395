/** The table of docs/interop.md matches the suite: no cell without a test, no test without a cell. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { featuresOf, PEERS, type PeerName } from './list.ts'
import { PAGE, withTable } from './table.ts'

const names = Object.keys(PEERS) as PeerName[]

it('stands in docs/interop.md as the list has it', () => {
  const page = readFileSync(PAGE, 'utf8')
  expect(withTable(page)).toBe(page)
})

describe('each row', () => {
  it.each(names)('%s has its tests in the file that is named, and says why something is not tried', name => {
    const { file, not } = PEERS[name]
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
    // The cells of a row are held to the list by their types.
    expect(text).toMatch(new RegExp(`(?:interop|row)\\('${name}'`))
    expect(featuresOf(name).length + Object.keys(not).length).toBe(10)
    for (const why of Object.values(not)) expect(why).not.toBe('')
  })
})
