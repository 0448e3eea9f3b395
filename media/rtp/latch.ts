/**
 * Source address latching (symmetric RTP, RFC 4961), protected against hijacking by early packets (RFC 7362 §5).
 * Packets from the signalled address are always accepted. While it is silent, another address (a caller behind NAT) is
 * latched after a run of packets of one stream. The run is short from a host known from signalling, and long from
 * elsewhere. A better known address replaces a less known one, never the reverse. The latched host may move to another
 * port when its stream, by SSRC and sequence numbers, stops on the old port and continues on the new one. Pure.
 */
import { type Address, canonicalAddress } from './address.ts'
import { sequenceDelta } from './packet.ts'

/** Consecutive packets needed from a host known from signalling: that of the SIP messages or of the SDP. */
const KNOWN_PACKETS = 4
/** Consecutive packets needed from other hosts: half a second, in which the right one has usually sent. */
const UNKNOWN_PACKETS = 25
/** A pause of this length in ms breaks a run. */
const RUN_GAP_MS = 500
/** Silence in ms before a latched stream may move, and the largest step of its sequence numbers. */
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

/** Rank of an address. */
const NAMED = 2
const KNOWN = 1
const UNKNOWN = 0

export class Latch {
  #signalled: Address
  /** The latched address, its rank, and the position of its stream. */
  #latched: { from: Address; rank: number; stream: Stream } | null = null
  #run: Run | null = null
  readonly #knownHosts = new Set<string>()

  constructor(signalled: Address) {
    this.#signalled = canonical(signalled)
  }

  /** Address to send to. */
  get target(): Address {
    return this.#latched?.from ?? this.#signalled
  }

  /** Adds a host that takes part in the call's signalling: behind NAT, its media comes from there, too. */
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
    // The signalled address is accepted even after another was latched; otherwise a few forged packets would exclude
    // it.
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

  /** Number of consecutive packets up to this one. */
  #runOf(from: Address, { ssrc, sequence }: { ssrc: number; sequence: number }, nowMs: number): number {
    const run = this.#run
    const goesOn =
      run !== null &&
      same(from, run) &&
      run.ssrc === ssrc &&
      sequenceDelta(sequence, run.sequence) === 1 &&
      nowMs - run.atMs < RUN_GAP_MS
    // One candidate at a time; a better known one takes precedence.
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
