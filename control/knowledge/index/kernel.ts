/**
 * Dot products of one vector with many, in WebAssembly with SIMD, which every Node of ours has: 16 bytes a step. The
 * module is assembled by `infra/tools/kernel.ts`, from the text that stands there.
 */
import { KERNEL } from './kernel-wasm.ts'

/**
 * Rows of signed bytes against a query of int16, `width` a multiple of 16; sums as int32. Places are byte offsets. `count`
 * is rounded up to `ROWS_AT_ONCE`, so there must be room for as many rows and sums.
 */
export type Dots = (rows: number, count: number, width: number, query: number, sums: number) => void

/** Each part of the query is loaded once for so many rows. */
export const ROWS_AT_ONCE = 4

/** 127² × 8192 is the largest sum, well within an int32. */
export const MOST_DIMENSIONS = 8192

// Node has it; the library of types for a server has not.
interface Wasm {
  Memory: new (descriptor: { initial: number; maximum: number }) => KernelMemory
  instantiate(code: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>
}
export interface KernelMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}
const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly

/** Memory counts in pages of 64 KiB. */
export async function loadKernel(pages: {
  initial: number
  maximum: number
}): Promise<{ memory: KernelMemory; dots: Dots }> {
  const memory = new wasm.Memory(pages)
  const { instance } = await wasm.instantiate(Buffer.from(KERNEL, 'base64'), { host: { memory } })
  return { memory, dots: instance.exports['dots'] as Dots }
}
