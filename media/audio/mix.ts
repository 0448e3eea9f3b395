/** Adds two signals with saturation; null is silence. */
export function mix(a: Int16Array | null, b: Int16Array | null): Int16Array | null {
  if (!a || !b) return a ?? b
  const both = new Int16Array(Math.max(a.length, b.length))
  for (let i = 0; i < both.length; i++) {
    both[i] = Math.max(-32_768, Math.min(32_767, (a[i] ?? 0) + (b[i] ?? 0)))
  }
  return both
}
