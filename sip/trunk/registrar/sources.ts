/** Sources that the signalling server admits: with softphones, everybody as a stranger. Pure. */
import type { Softphones } from '../../../media/ports/trunks.ts'

const EVERYBODY = ['?0.0.0.0/0', '?::/0']

/** `trunks`: the sources allowed for trunks, which are all when there are no softphones. */
export function sourcesWith(
  trunks: readonly string[],
  softphones: Pick<Softphones, 'any' | 'banned'> | null,
): string[] {
  if (softphones === null || !softphones.any()) return [...trunks]
  return [...trunks, ...EVERYBODY, ...softphones.banned().map(network => `!${network}`)]
}
