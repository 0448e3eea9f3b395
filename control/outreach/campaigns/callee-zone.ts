/** Finds the possible time zones of a phone number by its prefix, in libphonenumber's table. */
import { ZONES } from './callee-zone-table.ts'
import { offsetsAt } from './zone.ts'

let table: Map<string, readonly string[]> | null = null
let longest = 0

/** 317 lists serve 3,291 prefixes. */
function load(): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const [zones, prefixes] of ZONES) {
    const list = zones.split('&')
    for (const prefix of prefixes.split(' ')) {
      found.set(prefix, list)
      longest = Math.max(longest, prefix.length)
    }
  }
  return found
}

/** `phone` in E.164. Empty when its zones are unknown. */
export function calleeZones(phone: string): readonly string[] {
  table ??= load()
  const digits = phone.slice(1)
  for (let length = Math.min(longest, digits.length); length > 0; length--) {
    const zones = table.get(digits.slice(0, length))
    if (zones) return zones
  }
  return []
}

/** Clock changes happen only at full quarters of an hour, in every time zone. */
const QUARTER_MS = 15 * 60 * 1000
const agreed = new WeakMap<readonly string[], { quarter: number; agree: boolean }>()

/** True when the clocks of all these zones show the same time now, so that the callee's local time is known. */
export function sameTime(zones: readonly string[], atMs: number): boolean {
  if (zones.length < 2) return zones.length === 1
  const quarter = Math.floor(atMs / QUARTER_MS)
  const known = agreed.get(zones)
  if (known?.quarter === quarter) return known.agree
  const agree = offsetsAt(zones, atMs).size === 1
  agreed.set(zones, { quarter, agree })
  return agree
}
