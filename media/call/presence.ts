/** Publishes this engine's state, reads the others', and decides whether inbound calls should come here. */

import type { EngineBus } from '../bus/engine-bus.ts'
import { HEARTBEAT_MS, HEARTBEAT_TTL_MS } from '../bus/keys.ts'
import {
  hasCapacity,
  IN_TRANSIT_MS,
  INITIALLY_ACCEPTING,
  isJustDraining,
  loadLevel,
  nextAcceptingState,
  type Places,
  shouldAccept,
} from '../bus/load-balancing.ts'
import type { Heartbeat } from '../contract/messages.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'

export interface PresenceOptions {
  bus: Pick<EngineBus, 'heartbeat'>
  clock: Clock
  log: Log
  places(): Places
  hears(): boolean
  rooms: boolean
  /** Identifies the engine's SIP server; null while unreachable. */
  signalling(): string | null
  onAccepting(open: boolean): void
}

/** Milliseconds after a change, so that a burst of calls causes one heartbeat. */
const SOON_MS = 100
/** Heartbeat interval in ms of an engine that waits to accept again, or for another one to take over. */
const WAITING_BEAT_MS = 500

export class Presence {
  readonly #options: PresenceOptions
  #door = INITIALLY_ACCEPTING
  #others: readonly Heartbeat[] = []
  #readAtMs = Number.NEGATIVE_INFINITY
  #cancel = () => {}
  #publishedLevel: ReturnType<typeof loadLevel> | null = null
  /** The next heartbeat is due sooner than its interval. */
  #soon = false
  /** A heartbeat is being sent; without Redis it waits, and no other is sent after it. */
  #beating = false
  /** The state has changed since the current heartbeat was sent. */
  #isStale = false
  #closed = false
  /**
   * It has announced that it will drain, and waits for the others' state: until then the SIP server sends calls here.
   */
  #announcedDraining = false

  constructor(options: PresenceOptions) {
    this.#options = options
  }

  /** Resolves when the other engines know of this one, and the SIP server may. */
  async start(): Promise<void> {
    this.#again()
    await this.#beat()
  }

  /**
   * Another engine changed its state. Only an engine that waits for it reads it at once; the next heartbeat suffices
   * otherwise.
   */
  heard(): void {
    if (!this.#closed && (!this.#door.open || this.#isFullAndAccepting())) this.#round()
  }

  /** Call it when the load, the STT or the SIP server have changed. */
  changed(): void {
    this.#acceptIfDue()
    if (this.#closed) return
    // Other engines may wait for this: they drain for as long as they do not know.
    const isNews = loadLevel(this.#options.places()) !== this.#publishedLevel
    // A full engine reads the others' state at once: by what it knows, all of them may be draining.
    const hurries = (this.#shouldDrain() && !this.#announcedDraining) || this.#isFullAndAccepting() || isNews
    if (hurries) this.#round()
    else if (!this.#soon) this.#beatSoon()
  }

  /** True while the SIP server may have sent a call before it knew of the draining. */
  isJustDraining(): boolean {
    return this.#announcedDraining || isJustDraining(this.#door, this.#options.clock.now())
  }

  /** Resolves when no call that was sent here can still arrive. */
  async settled(): Promise<void> {
    if (this.isJustDraining()) await new Promise<void>(resolve => this.#options.clock.after(IN_TRANSIT_MS, resolve))
  }

  /** Announces the end without waiting for Redis. */
  close(): void {
    this.#closed = true
    this.#cancel()
    void this.#beat()
  }

  #round(): void {
    this.#acceptIfDue()
    void this.#beat()
    this.#again()
  }

  #again(): void {
    if (this.#closed) return
    this.#soon = false
    this.#cancel()
    const ms = this.#door.open && !this.#isFullAndAccepting() ? HEARTBEAT_MS : WAITING_BEAT_MS
    this.#cancel = this.#options.clock.after(ms, () => this.#round())
  }

  #beatSoon(): void {
    if (this.#closed) return
    this.#soon = true
    this.#cancel()
    this.#cancel = this.#options.clock.after(SOON_MS, () => this.#round())
  }

  async #beat(): Promise<void> {
    const { bus, clock, log, hears, rooms } = this.#options
    if (this.#beating && !this.#closed) {
      this.#isStale = true
      return
    }
    this.#beating = true
    this.#isStale = false
    const drains = this.#shouldDrain()
    this.#announcedDraining = drains
    const published = { ...this.#own(), open: this.#door.open && !drains }
    this.#publishedLevel = loadLevel(published)
    try {
      this.#others = await bus.heartbeat({ ...published, hears: hears(), rooms })
      this.#readAtMs = clock.now()
      // Decided by what the others were sent; later changes wait for the next heartbeat.
      if (drains && !shouldAccept(published, this.#others)) this.#setAccepting(false)
    } catch (error) {
      log.warn({ err: error }, 'heartbeat failed')
    }
    this.#beating = false
    this.#announcedDraining = false
    if (!this.#closed) this.#acceptIfDue()
    // It should drain, by what it has just read: announce it and read the others' state first.
    if (!drains && this.#shouldDrain()) this.#round()
    else if (published.open !== this.#door.open || this.#isStale) this.#beatSoon()
    else if (drains && !this.#soon) this.#again() // sooner than an accepting engine
  }

  #own() {
    const { places, signalling } = this.#options
    const { calls, capacity } = places()
    const server = signalling()
    return { calls, capacity, ...(server === null ? {} : { signalling: server }) }
  }

  /** Without Redis no other engine counts as alive. */
  #known(): readonly Heartbeat[] {
    return this.#options.clock.now() - this.#readAtMs < HEARTBEAT_TTL_MS ? this.#others : []
  }

  #shouldAccept(): boolean {
    return shouldAccept(this.#own(), this.#known())
  }

  #isFullAndAccepting(): boolean {
    const places = this.#options.places()
    return this.#door.open && places.capacity > 0 && !hasCapacity(places)
  }

  #shouldDrain(): boolean {
    return this.#door.open && !this.#shouldAccept()
  }

  #acceptIfDue(): void {
    if (!this.#door.open && this.#shouldAccept()) this.#setAccepting(true)
  }

  #setAccepting(open: boolean): void {
    const { clock, log, onAccepting } = this.#options
    const door = nextAcceptingState(this.#door, open, clock.now(), this.#own(), this.#known())
    if (door === this.#door) return
    this.#door = door
    log.info({ open }, 'inbound routing changed')
    onAccepting(open)
  }
}
