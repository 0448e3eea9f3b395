/** Hosts that did not answer, or said they can't serve now: passed over for a while (RFC 3263 §4.3). Time is in ms. */
import type { HostPortOf, Protocol } from './transport.ts'

type Place = { readonly protocol: Protocol; readonly remote: HostPortOf }

const USUAL_MS = 32_000
const LONGEST_MS = 300_000
const MOST = 1000

export class DeadHosts {
  private readonly until = new Map<string, number>()

  /** `forMs` is what the host itself asked for (Retry-After), when it did. */
  mark(place: Place, now: number, forMs: number = USUAL_MS): void {
    if (this.until.size >= MOST) this.sweep(now)
    this.until.set(key(place), now + Math.min(forMs, LONGEST_MS))
  }

  alive(place: Place, now: number): boolean {
    return (this.until.get(key(place)) ?? 0) <= now
  }

  /** It spoke to us. */
  revive(place: Place): void {
    if (this.until.size > 0) this.until.delete(key(place))
  }

  /** The dead last, since nothing else may be left to try; the order is kept otherwise. */
  order<T extends Place>(places: readonly T[], now: number): T[] {
    const alive = places.filter(place => this.alive(place, now))
    return alive.length === places.length ? [...places] : [...alive, ...places.filter(place => !alive.includes(place))]
  }

  private sweep(now: number): void {
    for (const [known, until] of this.until) if (until <= now) this.until.delete(known)
    if (this.until.size >= MOST) this.until.clear()
  }
}

const key = ({ protocol, remote }: Place): string => `${protocol} ${remote.host} ${remote.port}`
