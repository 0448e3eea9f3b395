/**
 * One job at a time, in turns by call: next comes the call that has used the least time of late. So a call with noise,
 * which asks again and again, waits for itself and delays another call by no more than the job that runs.
 */

/** Jobs of one call that may wait. A caller asks for one utterance at a time; more than that is waste. */
const MOST_OF_CALL = 4
const MOST_TOGETHER = 256

export interface Job {
  /** Names the call. */
  line: string
  /** Must not throw. */
  run(): Promise<void>
}

export class FairQueue {
  readonly #now: () => number
  readonly #waiting = new Map<string, Job[]>()
  /** Milliseconds of work that each call has had; a call without jobs is forgotten once others have had as much. */
  readonly #used = new Map<string, number>()
  /** The least time that a call in service had used: a new call starts here, without credit for the time before. */
  #floor = 0
  #size = 0
  #running = false

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** False when too much waits already: of this call, or together. */
  add(job: Job): boolean {
    const own = this.#waiting.get(job.line) ?? []
    if (own.length >= MOST_OF_CALL || this.#size >= MOST_TOGETHER) return false
    if (own.length === 0) {
      this.#waiting.set(job.line, own)
      this.#used.set(job.line, Math.max(this.#floor, this.#used.get(job.line) ?? 0))
    }
    own.push(job)
    this.#size++
    void this.#work()
    return true
  }

  async #work(): Promise<void> {
    if (this.#running) return
    this.#running = true
    for (let job = this.#next(); job !== null; job = this.#next()) {
      const startedMs = this.#now()
      await job.run()
      this.#used.set(job.line, (this.#used.get(job.line) ?? this.#floor) + this.#now() - startedMs)
      this.#forget()
    }
    this.#running = false
    // Nobody waited, so nobody owes anybody anything.
    this.#floor = Math.max(this.#floor, ...this.#used.values())
    this.#used.clear()
  }

  #next(): Job | null {
    let chosen: string | null = null
    let least = Number.POSITIVE_INFINITY
    // In the order in which calls began to wait, which decides between equals.
    for (const line of this.#waiting.keys()) {
      const used = this.#used.get(line)!
      if (used >= least) continue
      chosen = line
      least = used
    }
    if (chosen === null) return null
    this.#floor = Math.max(this.#floor, least)
    const own = this.#waiting.get(chosen)!
    const job = own.shift()!
    this.#waiting.delete(chosen)
    // To the end of the order.
    if (own.length > 0) this.#waiting.set(chosen, own)
    this.#size--
    return job
  }

  #forget(): void {
    for (const [line, used] of this.#used) {
      if (used <= this.#floor && !this.#waiting.has(line)) this.#used.delete(line)
    }
  }
}
