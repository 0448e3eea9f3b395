/**
 * Whose packets are taken (symmetric RTP, RFC 4961): the address that signalling named, at once; another only when the
 * named one is silent and the newcomer has shown a few valid packets in a row (a caller behind NAT). Once the named
 * address speaks, nobody else gets in until signalling names a new one; once a newcomer was taken, only the named one. Pure.
 */
export interface Address {
  address: string
  port: number
}

const PROBATION_PACKETS = 4

export class Latch {
  #signalled: Address
  #latched: Address | null = null
  #candidate: (Address & { ssrc: number; next: number; count: number }) | null = null

  constructor(signalled: Address) {
    this.#signalled = signalled
  }

  /** Where to send. */
  get target(): Address {
    return this.#latched ?? this.#signalled
  }

  /** A new offer or answer named another address. */
  resignal(signalled: Address): void {
    if (same(signalled, this.#signalled)) return
    this.#signalled = signalled
    this.#latched = null
    this.#candidate = null
  }

  accepts(from: Address, packet: { ssrc: number; sequence: number }): boolean {
    // The named address always has its place, also after a newcomer took it: or a stranger's few packets would shut it out.
    if (same(from, this.#signalled)) {
      this.#latched = this.#signalled
      return true
    }
    if (this.#latched) return same(from, this.#latched)
    const candidate = this.#candidate
    if (!candidate || !same(from, candidate) || candidate.ssrc !== packet.ssrc || candidate.next !== packet.sequence) {
      this.#candidate = { ...from, ssrc: packet.ssrc, next: (packet.sequence + 1) & 0xffff, count: 1 }
      return false
    }
    candidate.next = (packet.sequence + 1) & 0xffff
    if (++candidate.count < PROBATION_PACKETS) return false
    this.#latched = { address: from.address, port: from.port }
    return true
  }
}

const same = (a: Address, b: Address) => a.port === b.port && a.address === b.address
