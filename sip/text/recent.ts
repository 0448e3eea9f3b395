/**
 * A map that remembers at least the last `least` names that were set, and no more than twice as many. Two generations, since
 * to delete the oldest of one Map again and again takes it longer and longer: what is deleted is skipped at each look.
 */
export class Recent<V> {
  private readonly least: number
  private young = new Map<string, V>()
  private old = new Map<string, V>()

  constructor(least: number) {
    this.least = least
  }

  get(name: string): V | undefined {
    return this.young.get(name) ?? this.old.get(name)
  }

  set(name: string, value: V): void {
    this.young.set(name, value)
    if (this.young.size < this.least) return
    this.old = this.young
    this.young = new Map()
  }

  delete(name: string): void {
    this.young.delete(name)
    this.old.delete(name)
  }

  /** Names that were set anew are counted twice. */
  get size(): number {
    return this.young.size + this.old.size
  }
}
