/** Runs a row of the interop table as tests: one per cell, named after its column. */
import { afterAll, beforeAll, describe, inject, it } from 'vitest'
import { featuresOf, PEERS, type PeerName, type Tried } from './list.ts'

export type Cell = () => Promise<void>

export interface Row<P extends PeerName> {
  /** The types hold it to the list: a cell too many or too few does not compile. */
  cells: Record<Tried<P>, Cell>
  open?(): Promise<unknown>
  close?(): Promise<unknown>
  /** Reason why its tests can't run here; null: they can. */
  lacks?: string | null
}

const CELL_MS = 30_000

/** The rows that `npm test` runs; `npm run test:full` runs all. */
const SMOKE: ReadonlySet<PeerName> = new Set(['sipp', 'baresip-udp'])

/** Its cells run one after the other, rows of a file side by side: they mostly wait. */
export function interop<P extends PeerName>(peer: P, { cells, open, close, lacks: missing = null }: Row<P>): void {
  const lacks = missing ?? (inject('full') || SMOKE.has(peer) ? null : 'npm run test:full has it')
  const title = `interop: ${PEERS[peer].name}`
  // A program that this system has no package of: its row says so, and the others are tested.
  const suite = lacks === null ? describe.concurrent : describe.skip
  suite(lacks === null ? title : `${title} (not run: ${lacks})`, () => {
    if (open) beforeAll(() => open(), CELL_MS)
    if (close) afterAll(() => close(), CELL_MS)
    for (const feature of featuresOf(peer)) {
      it(feature, { timeout: CELL_MS, concurrent: false }, (cells as Record<string, Cell>)[feature])
    }
  })
}
