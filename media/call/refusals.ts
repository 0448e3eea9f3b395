/**
 * Refusals with an announcement: the caller hears the reason as early media, which is not billed, before the refusal.
 */
import { FRAME_MS } from '../audio/frames.ts'
import type { Refusal } from '../contract/messages.ts'
import type { EarlyMedia, InboundOffer, RefusalAnnouncement } from '../ports/inbound.ts'
import type { Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { Announcement } from './announcement.ts'

export interface RefusalsOptions {
  /** TTS for announcements; without it none are played. */
  announcer?: Tts | undefined
  clock: Clock
  log: Log
  /** The engine's maximum of concurrent calls. */
  capacity: number
  /** Number of calls that the engine could accept now. */
  free(): number
}

/** Longest announcement in ms, including its synthesis. */
export const LONGEST_MS = 15_000
/** Leading silence in ms: some carriers open the return path only after they have seen the source of the audio. */
const LEAD_MS = 200
/** Trailing silence in ms: the refusal would drop audio that is in transit. */
const TAIL_MS = 200
/** Maximum share of the capacity for announcements, since they must not displace calls; half of it per trunk. */
const SHARE = 1 / 4
const TRUNK_SHARE = SHARE / 2

export class Refusals {
  readonly #options: RefusalsOptions
  readonly #speaking = new Map<InboundOffer, Promise<void>>()
  readonly #closed = new AbortController()

  constructor(options: RefusalsOptions) {
    this.#options = options
  }

  /** Refuses the call, after its announcement if there is one and the engine has capacity to play it. */
  refuse(offer: InboundOffer, refusal: Refusal): void {
    const { announcer } = this.#options
    const words = announcer && offer.early && this.#hasCapacity(offer) ? offer.announcementOf?.(refusal) : null
    if (!announcer || !words) {
      offer.reject(refusal)
      return
    }
    const said = this.#say(offer, words, announcer)
      .catch(error => this.#options.log.error({ err: error }, 'could not play a refusal announcement'))
      .finally(() => {
        this.#speaking.delete(offer)
        offer.reject(refusal)
      })
    this.#speaking.set(offer, said)
  }

  /** Ends running announcements, so that their calls are refused now. */
  async close(): Promise<void> {
    this.#closed.abort()
    await Promise.all(this.#speaking.values())
  }

  #hasCapacity({ trunkId }: InboundOffer): boolean {
    const { capacity, free } = this.#options
    const all = [...this.#speaking.keys()]
    const ofTrunk = all.filter(other => other.trunkId === trunkId).length
    const most = (share: number) => Math.max(1, Math.floor(capacity * share))
    if (this.#closed.signal.aborted || free() <= all.length) return false
    return all.length < most(SHARE) && ofTrunk < most(TRUNK_SHARE)
  }

  /** Settles when the announcement was played, the caller gave up, or it took too long. */
  async #say(offer: InboundOffer, words: RefusalAnnouncement, announcer: Tts): Promise<void> {
    const { clock } = this.#options
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    const closed = this.#closed.signal
    const onClosed = () => end()
    closed.addEventListener('abort', onClosed)
    const cancels = [clock.after(LONGEST_MS, end), () => closed.removeEventListener('abort', onClosed)]
    try {
      const sound = await Promise.race([offer.early?.(), over])
      if (!sound || sound.signal.aborted || closed.aborted) return
      sound.signal.addEventListener('abort', () => end(), { once: true })
      const onSaid = () => cancels.push(clock.after(TAIL_MS, end))
      cancels.push(this.#play(sound, words, announcer, onSaid))
      await over
    } finally {
      for (const cancel of cancels) cancel()
    }
  }

  /** Returns a function that stops it. */
  #play(sound: EarlyMedia, words: RefusalAnnouncement, announcer: Tts, onSaid: () => void): () => void {
    const { clock, log } = this.#options
    const { sampleRate } = sound
    const tts: Tts = { speak: (options, signal) => announcer.speak({ ...options, keep: true }, signal) }
    const announcement = new Announcement({ ...words, voice: null, sampleRate, tts, clock, log, onSaid })
    let leadFrames = LEAD_MS / FRAME_MS
    sound.attach(() => {
      if (leadFrames === 0) return announcement.pull()
      leadFrames -= 1
      return null
    })
    return () => announcement.stop()
  }
}
