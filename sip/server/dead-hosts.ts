/**
 * Hosts that did not answer, or reported that they are unavailable: skipped for a while (RFC 3263 §4.3). Time is in ms.
 */
import type { HostPortOf, Protocol } from './transport.ts'

interface Endpoint {
  protocol: Protocol
  remote: HostPortOf
}

const USUAL_MS = 32_000
const LONGEST_MS = 300_000
const MOST = 1000

export class DeadHosts {
  readonly #until = new Map<string, number>()

  /** `forMs` is the host's own Retry-After, when it sent one; 32 s by default, at most 300 s. */
  mark(endpoint: Endpoint, now: number, forMs: number = USUAL_MS): void {
    if (this.#until.size >= MOST) this.#sweep(now)
    this.#until.set(key(endpoint), now + Math.min(forMs, LONGEST_MS))
  }

  alive(endpoint: Endpoint, now: number): boolean {
    return (this.#until.get(key(endpoint)) ?? 0) <= now
  }

  /** The host answered, so it counts as alive again. */
  revive(endpoint: Endpoint): void {
    if (this.#until.size > 0) this.#until.delete(key(endpoint))
  }

  /** Moves dead hosts to the end, since nothing else may be left to try; otherwise keeps the order. */
  order<T extends Endpoint>(endpoints: readonly T[], now: number): T[] {
    const alive = endpoints.filter(endpoint => this.alive(endpoint, now))
    return alive.length === endpoints.length
      ? [...endpoints]
      : [...alive, ...endpoints.filter(endpoint => !alive.includes(endpoint))]
  }

  #sweep(now: number): void {
    for (const [known, until] of this.#until) if (until <= now) this.#until.delete(known)
    if (this.#until.size >= MOST) this.#until.clear()
  }
}

const key = ({ protocol, remote }: Endpoint): string => `${protocol} ${remote.host} ${remote.port}`
