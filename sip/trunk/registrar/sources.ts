/** Whom the signalling server has to hear where there are softphones: they come from anywhere, as strangers. Pure. */
import type { Softphones } from '../../../media/ports/trunks.ts'

const EVERYBODY = ['?0.0.0.0/0', '?::/0']

/** `trunks`: what calls may come from without softphones. Where there are none of them, it stays at that. */
export function sourcesWith(
  trunks: readonly string[],
  softphones: Pick<Softphones, 'any' | 'banned'> | null,
): string[] {
  if (softphones === null || !softphones.any()) return [...trunks]
  return [...trunks, ...EVERYBODY, ...softphones.banned().map(network => `!${network}`)]
}
