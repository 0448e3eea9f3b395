/** Compares two JSON values by meaning. */

type Json = Record<string, unknown>

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The database returns keys in another order, and the names under `required` are a set. */
export function same(left: unknown, right: unknown, key = ''): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    if (left.length !== right.length) return false
    const [a, b] = key === 'required' ? [left.toSorted(), right.toSorted()] : [left, right]
    return a.every((one, index) => same(one, b[index]))
  }
  if (isRecord(left) && isRecord(right)) {
    const keys = Object.keys(left)
    if (keys.length !== Object.keys(right).length) return false
    return keys.every(name => Object.hasOwn(right, name) && same(left[name], right[name], name))
  }
  return Object.is(left, right)
}
