/**
 * Whose packets are taken (symmetric RTP, RFC 4961), against those who would take a call over by sending first (RFC 7362
 * §5). The address that signalling named is taken at once and always. While it is silent, a newcomer is (a caller behind
 * NAT) who has shown a run of one stream: a short one from a host that signalling has shown, a long one from elsewhere.
 * A better newcomer displaces a worse, never the other way; and who was taken may move to another port of its host when
 * its stream, told by SSRC and numbers, breaks off here and goes on there. Pure.
 */
import { type Address, canonicalAddress } from './address.ts'
import { sequenceDelta } from './packet.ts'

/** Packets in a row, from a host that signalling has shown: its own or that of the sound. */
const KNOWN_PACKETS = 4
/** From any other: half a second, in which the right one will mostly have spoken. */
const UNKNOWN_PACKETS = 25
/** A run that pauses for so long is none. */
const RUN_GAP_MS = 500
/** Silence of who was taken before its stream may go on elsewhere; and how far its numbers may have come. */
const MOVE_AFTER_MS = 1000
const MOVE_SEQUENCES = 1500

interface Run extends Address {
  ssrc: number
  sequence: number
  count: number
  atMs: number
}

interface Stream {
  ssrc: number
  sequence: number
  atMs: number
}

/** How well an address is known. */
const NAMED = 2
const KNOWN = 1
const UNKNOWN = 0

export class Latch {
  #signalled: Address
  /** Who was taken, how well it was known, and where its stream is. */
  #latched: { from: Address; rank: number; stream: Stream } | null = null
  #run: Run | null = null
  readonly #knownHosts = new Set<string>()

  constructor(signalled: Address) {
    this.#signalled = canonical(signalled)
  }

  /** Where to send. */
  get target(): Address {
    return this.#latched?.from ?? this.#signalled
  }

  /** A host that takes part in the signalling of this call: behind NAT its sound comes from there too. */
  trust(address: string): void {
    this.#knownHosts.add(canonicalAddress(address) ?? address)
  }

  /** A new offer or answer named another address. */
  resignal(signalled: Address): void {
    const named = canonical(signalled)
    if (same(named, this.#signalled)) return
    this.#signalled = named
    this.#latched = null
    this.#run = null
  }

  accepts(source: Address, packet: { ssrc: number; sequence: number }, nowMs: number): boolean {
    const from = canonical(source)
    const latched = this.#latched
    // The named address always has its place, also after a newcomer took it: or a stranger's few packets would shut it out.
    if (same(from, this.#signalled) || (latched !== null && same(from, latched.from))) {
      this.#take(from, this.#rankOf(from), packet, nowMs)
      return true
    }
    if (!this.#mayCome(from, packet, nowMs)) return false
    const rank = this.#rankOf(from)
    if (this.#runOf(from, packet, nowMs) < (rank === UNKNOWN ? UNKNOWN_PACKETS : KNOWN_PACKETS)) return false
    this.#take(from, rank, packet, nowMs)
    return true
  }

  #rankOf(from: Address): number {
    if (same(from, this.#signalled)) return NAMED
    return from.address === this.#signalled.address || this.#knownHosts.has(from.address) ? KNOWN : UNKNOWN
  }

  #mayCome(from: Address, packet: { ssrc: number; sequence: number }, nowMs: number): boolean {
    const latched = this.#latched
    if (latched === null || this.#rankOf(from) > latched.rank) return true
    const { ssrc, sequence, atMs } = latched.stream
    const ahead = sequenceDelta(packet.sequence, sequence)
    const goesOn = packet.ssrc === ssrc && ahead > 0 && ahead < MOVE_SEQUENCES
    return goesOn && from.address === latched.from.address && nowMs - atMs > MOVE_AFTER_MS
  }

  /** How many packets in a row this one is. */
  #runOf(from: Address, { ssrc, sequence }: { ssrc: number; sequence: number }, nowMs: number): number {
    const run = this.#run
    const goesOn =
      run !== null &&
      same(from, run) &&
      run.ssrc === ssrc &&
      sequenceDelta(sequence, run.sequence) === 1 &&
      nowMs - run.atMs < RUN_GAP_MS
    // One newcomer at a time; a better known one goes before.
    const keeps = run !== null && !goesOn && nowMs - run.atMs < RUN_GAP_MS && this.#rankOf(run) > this.#rankOf(from)
    if (keeps) return 0
    const count = goesOn ? run.count + 1 : 1
    this.#run = { ...from, ssrc, sequence, count, atMs: nowMs }
    return count
  }

  #take(from: Address, rank: number, { ssrc, sequence }: { ssrc: number; sequence: number }, nowMs: number): void {
    this.#latched = { from, rank, stream: { ssrc, sequence, atMs: nowMs } }
    this.#run = null
  }
}

const canonical = ({ address, port }: Address): Address => ({ address: canonicalAddress(address) ?? address, port })
const same = (a: Address, b: Address) => a.port === b.port && a.address === b.address
