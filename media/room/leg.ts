/**
 * A leg over a LiveKit room: its far end is the participant who talks to the agent. The leg ends when that participant
 * leaves, or is away for longer than a client needs to reconnect; meanwhile nothing is pulled, so the agent waits.
 */
import { FRAME_MS } from '../audio/frames.ts'
import type { EndedReason, MediaStats } from '../contract/messages.ts'
import type { CallPlan } from '../contract/plan.ts'
import type { DialResult } from '../ports/dialer.ts'
import type { DisplayUpdate, Leg, LegEnd, LegSink } from '../ports/leg.ts'
import type { RoomAccess } from '../ports/rooms.ts'
import type { Pacer } from '../rtp/pacer.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { AudioClock } from './audio-clock.ts'
import { Captions } from './captions.ts'
import { type Leaving, ROOM_RATE, RoomConnection } from './connection.ts'

export interface RoomLegOptions {
  plan: CallPlan
  seat: RoomAccess
  clock: Clock
  pacer: Pacer
  log: Log
  signal: AbortSignal
}

/** Milliseconds for a client that lost its network to reconnect (ICE restart, or a new connection). */
export const AWAY_MS = 15_000
/**
 * Milliseconds to rejoin: a client that loses its media leaves and joins again within a few round trips; one that hangs
 * up does not.
 */
const REJOINS_MS = 1000
/** Milliseconds to wait for the caller, who was in the room before the engine was asked to join. */
const SHOWS_UP_MS = 3000
/** Milliseconds to wait until the client has subscribed to our track, so that it misses no word. */
const HEARD_MS = 1500
/** Milliseconds for audio that is still in the client's buffer. */
const LAST_SOUND_MS = 250
/** Milliseconds to wait for the last captions, which a bad connection may delay. */
const LAST_WORDS_MS = 500

const failure = (status: 'failed' | 'canceled', reason: EndedReason): DialResult => ({
  ok: false,
  failure: { status, reason, sipCode: null },
})

/** Maximum characters of a typed turn. */
const MOST_TYPED = 4000

/** Joins the plan's room as the leg of a web call. Never throws. */
export async function joinRoom(options: RoomLegOptions): Promise<DialResult> {
  const { signal, log } = options
  const leg = new RoomLeg(options)
  let reason: EndedReason = 'caller_canceled'
  try {
    const there = await leg.open()
    if (there && !signal.aborted) return { ok: true, leg }
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error }, 'could not join room')
    reason = 'room_unreachable'
  }
  await leg.close()
  if (signal.aborted) return failure('canceled', 'canceled_by_api')
  return failure(reason === 'room_unreachable' ? 'failed' : 'canceled', reason)
}

export class RoomLeg implements Leg {
  readonly kind = 'room'
  readonly sampleRate = ROOM_RATE
  readonly ended: Promise<LegEnd>
  readonly #options: RoomLegOptions
  readonly #caller: string
  readonly #sound: AudioClock
  readonly #end: (end: LegEnd) => void
  #link: RoomConnection | null = null
  #captions: Captions | null = null
  #sink: LegSink | null = null
  #stopTicks = () => {}
  #state = ''
  #over = false
  /** Time since when the caller or the engine is not in the room; null while both are. */
  #awaySinceMs: number | null = null
  /** The caller left without having been removed. */
  #hungUp = false
  #linkWhole = true
  #callerThere = false
  #cancelAway = () => {}
  #onThere: () => void = () => {}
  #received = 0

  constructor(options: RoomLegOptions) {
    this.#options = options
    this.#caller = options.plan.room!.caller
    this.#sound = new AudioClock()
    let end = (_: LegEnd) => {}
    this.ended = new Promise(resolve => (end = resolve))
    this.#end = end
  }

  /** Resolves to false when the caller has left. Rejects when the room cannot be joined. */
  async open(): Promise<boolean> {
    const { plan, log, signal } = this.#options
    const link = await this.#join()
    this.#link = link
    const [caller, agent] = [this.#caller, link.identity]
    this.#captions = new Captions(link, { caller, agent, prefix: plan.call_id, language: plan.language, log })
    this.#callerThere ||= link.identities().includes(caller)
    if (!this.#callerThere) await this.#within(SHOWS_UP_MS, new Promise<void>(resolve => (this.#onThere = resolve)))
    if (!this.#callerThere || this.#over || signal.aborted) return false
    await this.#within(HEARD_MS, link.heard())
    return !this.#over
  }

  #join(): Promise<RoomConnection> {
    const { seat, log, plan, clock, signal } = this.#options
    return RoomConnection.open({
      ...seat,
      sampleRate: ROOM_RATE,
      trackName: 'agent',
      attributes: { 'lk.agent.state': 'initializing', 'parley.call_id': plan.call_id },
      clock,
      log,
      signal,
      hears: identity => identity === this.#caller,
      events: {
        joined: identity => identity === this.#caller && this.#onCaller(true),
        left: (identity, how) => identity === this.#caller && this.#onCallerLeft(how),
        sound: (_, pcm) => this.#onSound(pcm),
        dtmf: (_, digit) => this.#sink?.dtmf(digit),
        text: (identity, text) => {
          const words = text.trim().slice(0, MOST_TYPED)
          if (identity === this.#caller && words !== '') this.#sink?.text?.(words)
        },
        connected: whole => {
          this.#linkWhole = whole
          this.#updateAway()
        },
        closed: shown => this.#onClosed(shown),
      },
    })
  }

  /** Waits for `awaited`, at most `ms` milliseconds, and no longer than the call is wanted. */
  async #within(ms: number, awaited: Promise<unknown>): Promise<void> {
    const { clock, signal } = this.#options
    let done = () => {}
    const over = new Promise<void>(resolve => (done = resolve))
    const cancel = clock.after(ms, done)
    signal.addEventListener('abort', done)
    void awaited.then(done, done)
    await over
    cancel()
    signal.removeEventListener('abort', done)
  }

  attach(sink: LegSink): void {
    if (this.#sink || this.#over) return
    this.#sink = sink
    this.show({ type: 'state', state: 'listening' })
    this.#stopTicks = this.#options.pacer.add(dueMs => this.#tick(dueMs))
  }

  async hangup(reason: EndedReason): Promise<void> {
    if (this.#over) return
    this.#stopTicks()
    this.#finish({ by: 'local', reason })
  }

  show(shown: DisplayUpdate): void {
    if (shown.type === 'words') {
      this.#captions?.show(shown)
      return
    }
    if (shown.state === this.#state || this.#over) return
    this.#state = shown.state
    this.#link?.show({ 'lk.agent.state': shown.state })
  }

  stats(): MediaStats {
    return {
      codec: 'opus',
      packets_sent: this.#link?.sent ?? 0,
      packets_received: this.#received,
      packets_lost: 0,
      packets_late: 0,
      packets_rejected: 0,
      jitter_ms: Math.round(this.#sound.jitterMs * 10) / 10,
    }
  }

  async close(): Promise<void> {
    this.#over = true
    this.#stopTicks()
    this.#cancelAway()
    await this.#link?.close()
  }

  #onSound(pcm: Int16Array): void {
    const nowMs = this.#options.clock.now()
    this.#received++
    if (!this.#over) this.#sink?.push({ pcm, atMs: this.#sound.at(nowMs), concealed: false })
  }

  #tick(dueMs: number): void {
    if (this.#awaySinceMs !== null) return
    const pcm = this.#sink!.pull(dueMs)
    if (!this.#over) this.#link?.speak(pcm)
  }

  #onCallerLeft(how: Leaving): void {
    if (how === 'removed') this.#finish({ by: 'remote', reason: 'caller_hangup' })
    this.#hungUp = how === 'left'
    this.#onCaller(false)
  }

  #onCaller(there: boolean): void {
    this.#callerThere = there
    if (there) this.#onThere()
    this.#updateAway()
  }

  #onClosed(shown: boolean): void {
    // A room that closes while the caller is away closed because of that.
    if (this.#awaySinceMs === null && shown) this.#finish({ by: 'network', reason: 'caller_hangup' })
    else this.#lose(this.#awaySinceMs ?? this.#options.clock.now())
  }

  #lose(atMs: number): void {
    if (this.#hungUp) this.#finish({ by: 'remote', reason: 'caller_hangup', atMs })
    else this.#finish({ by: 'network', reason: 'connection_lost', atMs })
  }

  #updateAway(): void {
    const { clock, log } = this.#options
    const away = !this.#linkWhole || !this.#callerThere
    if (away === (this.#awaySinceMs !== null) || this.#over) return
    this.#cancelAway()
    if (!away) {
      log.info({ ms: Math.round(clock.now() - this.#awaySinceMs!) }, 'room connection restored')
      this.#awaySinceMs = null
      this.#hungUp = false
      return
    }
    const atMs = clock.now()
    this.#awaySinceMs = atMs
    this.#cancelAway = clock.after(this.#hungUp ? REJOINS_MS : AWAY_MS, () => this.#lose(atMs))
  }

  #finish(end: LegEnd): void {
    if (this.#over) return
    this.#over = true
    this.#stopTicks()
    this.#cancelAway()
    this.#onThere()
    this.#end(end)
    void this.#leave(end)
  }

  async #leave(end: LegEnd): Promise<void> {
    if (end.by === 'local') {
      const { clock } = this.#options
      const shown = this.#within(LAST_WORDS_MS, this.#captions?.close() ?? Promise.resolve())
      for (let ms = 0; ms < LAST_SOUND_MS; ms += FRAME_MS) {
        this.#link?.speak(null)
        await new Promise<void>(resolve => void clock.after(FRAME_MS, resolve))
      }
      await shown
    }
    await this.#link?.close()
  }
}
