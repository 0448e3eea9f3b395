/**
 * Dot products of one vector with many, in WebAssembly with SIMD, which every supported Node.js has: 16 bytes per step.
 * `infra/tools/kernel.ts` contains the source and assembles the module.
 */
import { KERNEL } from './kernel-wasm.ts'

/**
 * Multiplies rows of signed bytes with a query of int16; `width` is a multiple of 16; sums are int32. Positions are
 * byte offsets. `count` is rounded up to `ROWS_AT_ONCE`, so memory must have space for as many rows and sums.
 */
export type Dots = (rows: number, count: number, width: number, query: number, sums: number) => void

/** Number of rows for which each part of the query is loaded once. */
export const ROWS_AT_ONCE = 4

/** The largest sum is 127² × 8192, well within an int32. */
export const MOST_DIMENSIONS = 8192

// Node has WebAssembly, but the type library for servers does not.
interface Wasm {
  Memory: new (descriptor: { initial: number; maximum: number }) => KernelMemory
  instantiate(code: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>
}
export interface KernelMemory {
  buffer: ArrayBuffer
  grow(pages: number): number
}
const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly

/** Memory size is in pages of 64 KiB. */
export async function loadKernel(pages: {
  initial: number
  maximum: number
}): Promise<{ memory: KernelMemory; dots: Dots }> {
  const memory = new wasm.Memory(pages)
  const { instance } = await wasm.instantiate(Buffer.from(KERNEL, 'base64'), { host: { memory } })
  return { memory, dots: instance.exports['dots'] as Dots }
}
