/** What this engine says of itself to the others, what it hears of them, and whether calls that come in shall come here. */

import type { EngineBus } from '../bus/engine-bus.ts'
import { HEARTBEAT_MS, HEARTBEAT_TTL_MS } from '../bus/keys.ts'
import {
  DOOR_AT_FIRST,
  hasRoom,
  isInTurn,
  isJustShut,
  moveDoor,
  ON_THE_WAY_MS,
  type Places,
  roomOf,
} from '../bus/spread.ts'
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
  /** Which SIP server it is at, null while that is away. */
  signalling(): string | null
  onDoor(open: boolean): void
}

/** A burst of calls is told of at once, not one by one. */
const SOON_MS = 100
/** Who waits for its turn, or for somebody to hand it on to, looks more often. */
const WAITING_BEAT_MS = 500

export class Presence {
  readonly #options: PresenceOptions
  #door = DOOR_AT_FIRST
  #others: readonly Heartbeat[] = []
  #heardAtMs = Number.NEGATIVE_INFINITY
  #cancel = () => {}
  #toldRoom: ReturnType<typeof roomOf> | null = null
  /** The next beat is due sooner than by itself. */
  #soon = false
  /** While Redis is silent the one beat waits, and no other is sent after it. */
  #beating = false
  /** What the beat under way tells is not so any more. */
  #isStale = false
  #closed = false
  /** It has told of it, and hears in a moment whether it may: until then the SIP server sends calls here. */
  #shutting = false

  constructor(options: PresenceOptions) {
    this.#options = options
  }

  /** Resolves when the others know of it, and the SIP server may. */
  async start(): Promise<void> {
    this.#again()
    await this.#beat()
  }

  /** Another engine has news, which only who waits for it asks for: the others hear of it soon enough. */
  heard(): void {
    if (!this.#closed && (!this.#door.open || this.#isFullAndOpen())) this.#round()
  }

  /** Places, speech-to-text or the SIP server are not what they were. */
  changed(): void {
    this.#openIfDue()
    if (this.#closed) return
    // The others may wait for it: as long as they don't know, they are shut.
    const isNews = roomOf(this.#options.places()) !== this.#toldRoom
    // Who is full asks at once who is not: by what it knows the others may all be shut.
    const hurries = (this.#wantsToShut() && !this.#shutting) || this.#isFullAndOpen() || isNews
    if (hurries) this.#round()
    else if (!this.#soon) this.#beatSoon()
  }

  /** The SIP server may have sent a call before it knew. */
  isJustShut(): boolean {
    return this.#shutting || isJustShut(this.#door, this.#options.clock.now())
  }

  /** Resolves when nothing that was sent here is on its way any more. */
  async settled(): Promise<void> {
    if (this.isJustShut()) await new Promise<void>(resolve => this.#options.clock.after(ON_THE_WAY_MS, resolve))
  }

  /** Says so, without waiting for Redis. */
  close(): void {
    this.#closed = true
    this.#cancel()
    void this.#beat()
  }

  #round(): void {
    this.#openIfDue()
    void this.#beat()
    this.#again()
  }

  #again(): void {
    if (this.#closed) return
    this.#soon = false
    this.#cancel()
    const ms = this.#door.open && !this.#isFullAndOpen() ? HEARTBEAT_MS : WAITING_BEAT_MS
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
    const shuts = this.#wantsToShut()
    this.#shutting = shuts
    const told = { ...this.#own(), open: this.#door.open && !shuts }
    this.#toldRoom = roomOf(told)
    try {
      this.#others = await bus.heartbeat({ ...told, hears: hears(), rooms })
      this.#heardAtMs = clock.now()
      // By what the others were told: what has changed since is for the next time.
      if (shuts && !isInTurn(told, this.#others)) this.#move(false)
    } catch (error) {
      log.warn({ err: error }, 'heartbeat failed')
    }
    this.#beating = false
    this.#shutting = false
    if (!this.#closed) this.#openIfDue()
    // What it has just heard: it says so, and is heard out, before it shuts.
    if (!shuts && this.#wantsToShut()) this.#round()
    else if (told.open !== this.#door.open || this.#isStale) this.#beatSoon()
    else if (shuts && !this.#soon) this.#again() // sooner than who is open
  }

  #own() {
    const { places, signalling } = this.#options
    const { calls, capacity } = places()
    const server = signalling()
    return { calls, capacity, ...(server === null ? {} : { signalling: server }) }
  }

  /** While Redis is away nobody is known to be there. */
  #known(): readonly Heartbeat[] {
    return this.#options.clock.now() - this.#heardAtMs < HEARTBEAT_TTL_MS ? this.#others : []
  }

  #isInTurn(): boolean {
    return isInTurn(this.#own(), this.#known())
  }

  #isFullAndOpen(): boolean {
    const places = this.#options.places()
    return this.#door.open && places.capacity > 0 && !hasRoom(places)
  }

  #wantsToShut(): boolean {
    return this.#door.open && !this.#isInTurn()
  }

  #openIfDue(): void {
    if (!this.#door.open && this.#isInTurn()) this.#move(true)
  }

  #move(open: boolean): void {
    const { clock, log, onDoor } = this.#options
    const door = moveDoor(this.#door, open, clock.now(), this.#own(), this.#known())
    if (door === this.#door) return
    this.#door = door
    log.info({ open }, 'calls that come in: come here, or go to other engines')
    onDoor(open)
  }
}
