/** Publishes this engine's state, reads the others', and decides whether inbound calls should come here. */

import type { EngineBus } from '../bus/engine-bus.ts'
import { HEARTBEAT_MS, HEARTBEAT_TTL_MS } from '../bus/keys.ts'
import {
  type EngineLoad,
  hasCapacity,
  IN_TRANSIT_MS,
  INITIALLY_DRAINING,
  isJustDraining,
  loadLevel,
  nextAcceptingState,
  shouldAccept,
} from '../bus/load-balancing.ts'
import type { Heartbeat } from '../contract/messages.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'

export interface PresenceOptions {
  bus: Pick<EngineBus, 'heartbeat'>
  clock: Clock
  log: Log
  load(): EngineLoad
  sttReady(): boolean
  rooms: boolean
  /** Identifies the engine's SIP server; null while unreachable. */
  signalling(): string | null
  onAccepting(accepting: boolean): void
}

/** Milliseconds after a change, so that a burst of calls causes one heartbeat. */
const SOON_MS = 100
/** Heartbeat interval in ms of an engine that waits to accept again, or for another one to take over. */
const WAITING_BEAT_MS = 500

export class Presence {
  readonly #options: PresenceOptions
  #state = INITIALLY_DRAINING
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
    if (!this.#closed && (!this.#state.accepting || this.#isFullAndAccepting())) this.#round()
  }

  /** Call it when the load, the STT or the SIP server have changed. */
  changed(): void {
    this.#acceptIfDue()
    if (this.#closed) return
    // Other engines may wait for this: they drain for as long as they do not know.
    const isNews = loadLevel(this.#options.load()) !== this.#publishedLevel
    // A full engine reads the others' state at once: by what it knows, all of them may be draining.
    const hurries = (this.#shouldDrain() && !this.#announcedDraining) || this.#isFullAndAccepting() || isNews
    if (hurries) this.#round()
    else if (!this.#soon) this.#beatSoon()
  }

  /** True while the SIP server may have sent a call before it knew of the draining. */
  isJustDraining(): boolean {
    return this.#announcedDraining || isJustDraining(this.#state, this.#options.clock.now())
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
    const ms = this.#state.accepting && !this.#isFullAndAccepting() ? HEARTBEAT_MS : WAITING_BEAT_MS
    this.#cancel = this.#options.clock.after(ms, () => this.#round())
  }

  #beatSoon(): void {
    if (this.#closed) return
    this.#soon = true
    this.#cancel()
    this.#cancel = this.#options.clock.after(SOON_MS, () => this.#round())
  }

  async #beat(): Promise<void> {
    const { bus, clock, log, sttReady, rooms } = this.#options
    if (this.#beating && !this.#closed) {
      this.#isStale = true
      return
    }
    this.#beating = true
    this.#isStale = false
    const drains = this.#shouldDrain()
    this.#announcedDraining = drains
    const published = { ...this.#own(), accepting: this.#state.accepting && !drains }
    this.#publishedLevel = loadLevel(published)
    try {
      this.#others = await bus.heartbeat({ ...published, stt_ready: sttReady(), rooms })
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
    else if (published.accepting !== this.#state.accepting || this.#isStale) this.#beatSoon()
    else if (drains && !this.#soon) this.#again() // sooner than an accepting engine
  }

  #own() {
    const { load, signalling } = this.#options
    const { calls, capacity } = load()
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
    const load = this.#options.load()
    return this.#state.accepting && load.capacity > 0 && !hasCapacity(load)
  }

  #shouldDrain(): boolean {
    return this.#state.accepting && !this.#shouldAccept()
  }

  #acceptIfDue(): void {
    if (!this.#state.accepting && this.#shouldAccept()) this.#setAccepting(true)
  }

  #setAccepting(accepting: boolean): void {
    const { clock, log, onAccepting } = this.#options
    const current = nextAcceptingState(this.#state, accepting, clock.now(), this.#own(), this.#known())
    if (current === this.#state) return
    this.#state = current
    log.info({ accepting }, 'inbound routing changed')
    onAccepting(accepting)
  }
}
