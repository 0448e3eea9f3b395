/** The schedule of a chaos test: a pure function of its seed, so that a failure can be reproduced. */
import { mulberry32 } from './retrieval.ts'

export const VICTIMS = [
  'Engine',
  'Engine 2',
  'Control',
  'Control 2',
  'SIP server',
  'Speech',
  'Redis',
  'Postgres',
] as const
export type Victim = (typeof VICTIMS)[number]

/** `kill`: SIGKILL; `restart`: a graceful stop; the supervisor restarts either. `freeze`: SIGSTOP for some time. */
export type Blow = { atMs: number; victim: Victim } & (
  | { kind: 'kill' }
  | { kind: 'restart' }
  | { kind: 'freeze'; forMs: number }
)

export interface StormSize {
  /** Milliseconds from the first call to the last strike. */
  stormMs: number
  blows: number
}

/** Milliseconds before the first strike, so that there are calls to disturb. */
const CALM_MS = 3000
const FREEZE_MS = { least: 200, most: 8000 }

/**
 * In order of time. Every process is struck once before any is struck twice, so that a storm of eight strikes covers
 * all.
 */
export function planBlows(seed: number, { stormMs, blows }: StormSize): Blow[] {
  const random = mulberry32(seed)
  const below = (most: number) => Math.floor(random() * most)
  const times = Array.from({ length: blows }, () => CALM_MS + below(stormMs - CALM_MS)).sort((a, b) => a - b)
  const victims = Array.from({ length: Math.ceil(blows / VICTIMS.length) }, () => shuffled(VICTIMS, below)).flat()
  return times.map((atMs, index) => {
    const victim = victims[index]!
    const kind = (['kill', 'freeze', 'restart'] as const)[below(3)]!
    if (kind !== 'freeze') return { atMs, victim, kind }
    return { atMs, victim, kind, forMs: FREEZE_MS.least + below(FREEZE_MS.most - FREEZE_MS.least) }
  })
}

function shuffled<T>(things: readonly T[], below: (most: number) => number): T[] {
  const left = [...things]
  return things.map(() => left.splice(below(left.length), 1)[0]!)
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

export function inWords(blow: Blow): string {
  const what =
    blow.kind === 'freeze' ? `frozen for ${seconds(blow.forMs)}` : { kill: 'killed', restart: 'restarted' }[blow.kind]
  return `${seconds(blow.atMs).padStart(7)}  ${blow.victim} ${what}`
}
