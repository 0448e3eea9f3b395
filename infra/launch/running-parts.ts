/** The running parts of `npm start`, which stop in reverse order of their start. */

export interface Part {
  stop(): Promise<void>
  /** Makes `stop` end live calls now. */
  hurry?(): void
}

export class RunningParts {
  /** Newest last. */
  readonly #parts: (Part & { name: string })[] = []
  #stopping: Promise<void> | null = null
  #hurried = false

  get stopping(): boolean {
    return this.#stopping !== null
  }

  get hurried(): boolean {
    return this.#hurried
  }

  add(name: string, part: Part): void {
    this.#parts.push({ name, stop: () => part.stop(), hurry: () => part.hurry?.() })
  }

  /** Never rejects; a part that does not stop cleanly is reported. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll()
    return this.#stopping
  }

  hurry(): void {
    this.#hurried = true
    for (const part of this.#parts) part.hurry?.()
  }

  async #stopAll(): Promise<void> {
    // In place, so that a part that starts meanwhile is stopped, too.
    for (const part of this.#parts.reverse()) {
      const stopped = part.stop()
      if (this.#hurried) part.hurry?.()
      await stopped.catch(error => console.log(`· ${part.name} did not stop cleanly: ${(error as Error).message}`))
    }
  }
}
