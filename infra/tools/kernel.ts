/** `npm run kernel`: assembles the vector comparison kernel from WebAssembly text; wabt is not part of the product. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import wabt from 'wabt'
import { ROWS_AT_ONCE } from '../../control/knowledge/index/kernel.ts'

const FILE = join(import.meta.dirname, '../../control/knowledge/index/kernel-wasm.ts')

const each = (text: (row: number) => string) => Array.from({ length: ROWS_AT_ONCE }, (_, row) => text(row)).join('\n')
const lane = (row: number, n: number) => `(i32x4.extract_lane ${n} (local.get $sum${row}))`
const SOURCE = `(module
  (import "host" "memory" (memory 1))
  (func (export "dots") (param $row i32) (param $count i32) (param $width i32) (param $query i32) (param $sums i32)
    (local $step i32) (local $q i32) (local $low v128) (local $high v128) (local $bytes v128)
    ${each(row => `(local $at${row} i32) (local $sum${row} v128)`)}
    (if (i32.le_s (local.get $count) (i32.const 0)) (then (return)))
    (loop $rows
      ${each(
        row => `(local.set $at${row} (i32.add (local.get $row) (i32.mul (local.get $width) (i32.const ${row}))))
          (local.set $sum${row} (v128.const i32x4 0 0 0 0))`,
      )}
      (local.set $q (local.get $query))
      (local.set $step (i32.const 0))
      (loop $steps
        (local.set $low (v128.load (local.get $q)))
        (local.set $high (v128.load offset=16 (local.get $q)))
        ${each(
          row => `(local.set $bytes (v128.load (i32.add (local.get $at${row}) (local.get $step))))
          (local.set $sum${row} (i32x4.add (local.get $sum${row}) (i32x4.add
            (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_s (local.get $bytes)) (local.get $low))
            (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_s (local.get $bytes)) (local.get $high)))))`,
        )}
        (local.set $q (i32.add (local.get $q) (i32.const 32)))
        (br_if $steps (i32.lt_u
          (local.tee $step (i32.add (local.get $step) (i32.const 16))) (local.get $width))))
      ${each(
        row => `(i32.store offset=${4 * row} (local.get $sums) (i32.add
          (i32.add ${lane(row, 0)} ${lane(row, 1)}) (i32.add ${lane(row, 2)} ${lane(row, 3)})))`,
      )}
      (local.set $sums (i32.add (local.get $sums) (i32.const ${4 * ROWS_AT_ONCE})))
      (local.set $row (i32.add (local.get $row) (i32.mul (local.get $width) (i32.const ${ROWS_AT_ONCE}))))
      (br_if $rows (i32.gt_s
        (local.tee $count (i32.sub (local.get $count) (i32.const ${ROWS_AT_ONCE}))) (i32.const 0))))))`

/** The module in base64. */
export async function assembleKernel(): Promise<string> {
  const assembler = await wabt()
  const parsed = assembler.parseWat('kernel.wat', SOURCE, { simd: true })
  const { buffer } = parsed.toBinary({})
  parsed.destroy()
  return Buffer.from(buffer).toString('base64')
}

/** The content of `kernel-wasm.ts`. */
export async function kernelFile(): Promise<string> {
  const lines = (await assembleKernel()).match(/.{1,100}/g)!.map(line => `  '${line}',`)
  return [
    '// By `npm run kernel`, of the text in infra/tools/kernel.ts.',
    '/** The WebAssembly module of kernel.ts, in base64. */',
    'export const KERNEL = [',
    ...lines,
    "].join('')",
    '',
  ].join('\n')
}

if (import.meta.main) writeFileSync(FILE, await kernelFile())
