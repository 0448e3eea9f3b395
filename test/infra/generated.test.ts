/** Generated files in the repository are up to date. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { calleeZonesFile } from '../../infra/tools/callee-zones.ts'
import { kernelFile } from '../../infra/tools/kernel.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')

it('the WebAssembly kernel is assembled of its text: else run npm run kernel', async () => {
  expect(read('control/knowledge/index/kernel-wasm.ts')).toBe(await kernelFile())
})

it('the table of time zones is that of libphonenumber: else run npm run callee-zones', () => {
  expect(read('control/outreach/campaigns/callee-zone-table.ts')).toBe(calleeZonesFile())
})
