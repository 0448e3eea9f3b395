/**
 * Programs of the system that tests speak to and that no package carries. `npm test` installs them where it may; elsewhere
 * their tests are skipped, and `npm test` says which and why.
 */
import { describe, it } from 'vitest'
import { onPath } from '../../infra/setup/prepare.ts'

/** It captures packets, which is root's. */
const FOR_ROOT = new Set(['tcpdump'])

/** At least one of them cannot be used here. */
export const lacks = (...programs: string[]): boolean =>
  programs.some(program => !onPath(program) || (FOR_ROOT.has(program) && process.getuid?.() !== 0))

/** The words of vitest for a file whose tests all need these programs. */
export function needs(...programs: string[]): { describe: typeof describe; it: typeof it } {
  const lacking = lacks(...programs)
  // The skipping forms have the same further forms (`each`, `concurrent`, `skipIf`); their types leave out some.
  return {
    describe: describe.skipIf(lacking) as typeof describe,
    it: it.skipIf(lacking) as typeof it,
  }
}
