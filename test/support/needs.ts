/**
 * System programs that tests use and no npm package contains. `npm test` installs them where it may; elsewhere their
 * tests are skipped and listed with the reason.
 */
import { describe, it } from 'vitest'
import { onPath } from '../../infra/setup/prepare.ts'

/** It captures packets, which requires root. */
const FOR_ROOT = new Set(['tcpdump'])

/** True when at least one of them is unavailable. */
export const lacks = (...programs: string[]): boolean =>
  programs.some(program => !onPath(program) || (FOR_ROOT.has(program) && process.getuid?.() !== 0))

/** vitest's functions for a file whose tests all need these programs. */
export function needs(...programs: string[]): { describe: typeof describe; it: typeof it } {
  const lacking = lacks(...programs)
  // The skipping forms have the same further forms (`each`, `concurrent`, `skipIf`); their types leave out some.
  return {
    describe: describe.skipIf(lacking) as typeof describe,
    it: it.skipIf(lacking) as typeof it,
  }
}
