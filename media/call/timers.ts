import type { Clock } from '../shared/clock.ts'

/** Timers of a call, cancelled together at its end. */
export class Timers {
  readonly #clock: Clock
  readonly #cancels: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  after(ms: number, run: () => void): void {
    this.#cancels.push(this.#clock.after(ms, run))
  }

  every(ms: number, run: () => void): void {
    let cancel = () => {}
    const again = () => {
      run()
      cancel = this.#clock.after(ms, again)
    }
    cancel = this.#clock.after(ms, again)
    this.#cancels.push(() => cancel())
  }

  cancel(): void {
    for (const cancel of this.#cancels.splice(0)) cancel()
  }
}
