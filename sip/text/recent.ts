/**
 * A map that keeps at least the `least` most recently set names, and at most twice as many. It uses two generations:
 * deleting the oldest entry of one Map gets ever slower, because iteration skips every deleted entry.
 */
export class Recent<V> {
  readonly #least: number
  #young = new Map<string, V>()
  #old = new Map<string, V>()

  constructor(least: number) {
    this.#least = least
  }

  get(name: string): V | undefined {
    return this.#young.get(name) ?? this.#old.get(name)
  }

  set(name: string, value: V): void {
    this.#young.set(name, value)
    if (this.#young.size < this.#least) return
    this.#old = this.#young
    this.#young = new Map()
  }

  delete(name: string): void {
    this.#young.delete(name)
    this.#old.delete(name)
  }

  /** The number of entries; names that were set again may count twice. */
  get size(): number {
    return this.#young.size + this.#old.size
  }
}
