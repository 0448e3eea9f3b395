/**
 * Turns for work that costs much time, shared between owners: whoever has used least comes first, so that a newcomer
 * waits for the turns in progress and for nobody's queue.
 */

/** Milliseconds after which half of what an owner has used is forgotten. */
const HALF_LIFE_MS = 5 * 60_000
/** Milliseconds of work within a half-life after which an owner never takes the last free turn. */
export const BUDGET_MS = 60_000
/** Owners whose use differs by less than this are equal, in milliseconds; the smaller work comes first then. */
const STEP_MS = 1000
/** Owners that are remembered before those with no use left are forgotten. */
const REMEMBERED = 1000

/** Counts what owners have used recently, in milliseconds. Several kinds of turns may share one. */
export class OwnerUsage {
  readonly #clock: { now(): number }
  readonly #used = new Map<string, { ms: number; atMs: number }>()

  constructor(clock: { now(): number }) {
    this.#clock = clock
  }

  add(owner: string, ms: number): void {
    this.#used.set(owner, { ms: this.of(owner) + Math.max(0, ms), atMs: this.#clock.now() })
    if (this.#used.size > REMEMBERED) this.#forget()
  }

  of(owner: string): number {
    const used = this.#used.get(owner)
    return used ? used.ms * 2 ** ((used.atMs - this.#clock.now()) / HALF_LIFE_MS) : 0
  }

  #forget(): void {
    for (const owner of [...this.#used.keys()]) if (this.of(owner) < STEP_MS) this.#used.delete(owner)
  }
}

export interface TurnRequest {
  owner: string
  /** Expected size of the work, such as the bytes of a file; 0 by default. */
  size?: number
}

interface Waiting extends Required<TurnRequest> {
  start(): void
}

export interface FairTurnsOptions {
  /** Turns at the same time. */
  atOnce: number
  usage: OwnerUsage
  clock: { now(): number }
}

export class FairTurns {
  readonly #options: FairTurnsOptions
  readonly #waiting: Waiting[] = []
  /** Turns in progress, by owner. */
  readonly #running = new Map<string, number>()
  #taken = 0

  constructor(options: FairTurnsOptions) {
    this.#options = options
  }

  /**
   * Runs `work` when it is the owner's turn, and charges the owner for its duration, or for what `charge` was last
   * called with (ms). Rejects with the reason of `signal` when it is aborted before the turn comes.
   */
  async run<T>(
    { owner, size = 0 }: TurnRequest,
    signal: AbortSignal,
    work: (charge: (ms: number) => void) => Promise<T>,
  ): Promise<T> {
    await this.#turn({ owner, size }, signal)
    const { clock, usage } = this.#options
    const startedMs = clock.now()
    let charged: number | null = null
    try {
      return await work(ms => {
        charged = ms
      })
    } finally {
      usage.add(owner, charged ?? clock.now() - startedMs)
      this.#release(owner)
    }
  }

  #turn(request: Required<TurnRequest>, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(signal.reason)
      }
      const waiting: Waiting = {
        ...request,
        start() {
          signal.removeEventListener('abort', leave)
          resolve()
        },
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(waiting)
      this.#next()
    })
  }

  #release(owner: string): void {
    this.#taken--
    const left = this.#running.get(owner)! - 1
    if (left > 0) this.#running.set(owner, left)
    else this.#running.delete(owner)
    this.#next()
  }

  #next(): void {
    const { atOnce, usage } = this.#options
    while (this.#taken < atOnce) {
      const first = chooseTurn(this.#waiting, {
        runningOf: owner => this.#running.get(owner) ?? 0,
        usageOf: owner => usage.of(owner),
        // With one turn at a time, the last free one is the only one.
        isLast: atOnce > 1 && this.#taken === atOnce - 1,
      })
      if (first === null) return
      const [chosen] = this.#waiting.splice(first, 1)
      this.#taken++
      this.#running.set(chosen!.owner, (this.#running.get(chosen!.owner) ?? 0) + 1)
      chosen!.start()
    }
  }
}

/**
 * Index of the request whose turn it is: the owner with the fewest turns in progress, then with the least use, then the
 * smallest work, then the first. Null when nobody may have the turn. Pure.
 */
export function chooseTurn(
  waiting: readonly Required<TurnRequest>[],
  owners: { runningOf(owner: string): number; usageOf(owner: string): number; isLast: boolean },
): number | null {
  let best: { index: number; rank: readonly number[] } | null = null
  for (const [index, { owner, size }] of waiting.entries()) {
    const used = owners.usageOf(owner)
    if (owners.isLast && used > BUDGET_MS) continue
    const rank = [owners.runningOf(owner), Math.floor(used / STEP_MS), size]
    if (best === null || isBefore(rank, best.rank)) best = { index, rank }
  }
  return best?.index ?? null
}

function isBefore(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((value, i) => value !== other[i])
  return at >= 0 && one[at]! < other[at]!
}
