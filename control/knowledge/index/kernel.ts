/**
 * Dot products of one vector with many, in WebAssembly with SIMD, 16 bytes a step. All supported Node versions have it.
 * The module is assembled at start. The only importer of wabt.
 */
import wabt from 'wabt'

/**
 * Multiplies rows of signed bytes with a query of int16; `width` is a multiple of 16; sums are int32. Positions are
 * byte offsets. `count` is rounded up to `ROWS_AT_ONCE`, so memory must have space for as many rows and sums.
 */
export type Dots = (rows: number, count: number, width: number, query: number, sums: number) => void

/** Number of rows for which each part of the query is loaded once. */
export const ROWS_AT_ONCE = 4

/** The largest sum is 127² × 8192, well within an int32. */
export const MOST_DIMENSIONS = 8192

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

// Node has WebAssembly, but the type library for servers does not.
interface Wasm {
  Memory: new (descriptor: { initial: number; maximum: number }) => KernelMemory
  instantiate(code: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>
}
export interface KernelMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}
const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly

/** Memory size is in pages of 64 KiB. */
export async function loadKernel(pages: {
  initial: number
  maximum: number
}): Promise<{ memory: KernelMemory; dots: Dots }> {
  const assembler = await wabt()
  const parsed = assembler.parseWat('kernel.wat', SOURCE, { simd: true })
  const { buffer } = parsed.toBinary({})
  parsed.destroy()
  const memory = new wasm.Memory(pages)
  const { instance } = await wasm.instantiate(buffer, { host: { memory } })
  return { memory, dots: instance.exports['dots'] as Dots }
}
