/** Calls that are refused in words: the caller hears why before the refusal, which nobody pays for. */
import { FRAME_MS } from '../audio/frames.ts'
import type { Refusal } from '../contract/messages.ts'
import type { EarlySound, InboundOffer, RefusalAnnouncement } from '../ports/inbound.ts'
import type { Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { Announcement } from './announcement.ts'

export interface RefusalsOptions {
  /** Left out: nothing is said. */
  announcer?: Tts | undefined
  clock: Clock
  log: Log
  /** Of the engine: calls at once. */
  capacity: number
  /** How many more calls it would take now. */
  free(): number
}

/** Made and said in so long, or cut off. */
export const LONGEST_MS = 15_000
/** Some open the way back only when they have seen where the sound comes from. */
const LEAD_MS = 200
/** What is on its way would be dropped by the refusal. */
const TAIL_MS = 200
/** They are no calls, and take no call's place: at most that part of the engine, and one trunk half of it. */
const SHARE = 1 / 4
const TRUNK_SHARE = SHARE / 2

export class Refusals {
  readonly #options: RefusalsOptions
  readonly #speaking = new Map<InboundOffer, Promise<void>>()
  readonly #closed = new AbortController()

  constructor(options: RefusalsOptions) {
    this.#options = options
  }

  /** Refuses the call; after the words that are set for it, where there is room to say them. */
  refuse(offer: InboundOffer, refusal: Refusal): void {
    const { announcer } = this.#options
    const words = announcer && offer.early && this.#hasRoom(offer) ? offer.announcementOf?.(refusal) : null
    if (!announcer || !words) {
      offer.reject(refusal)
      return
    }
    const said = this.#say(offer, words, announcer)
      .catch(error => this.#options.log.error({ err: error }, 'a refusal could not be said'))
      .finally(() => {
        this.#speaking.delete(offer)
        offer.reject(refusal)
      })
    this.#speaking.set(offer, said)
  }

  /** Whoever is being told is refused now. */
  async close(): Promise<void> {
    this.#closed.abort()
    await Promise.all(this.#speaking.values())
  }

  #hasRoom({ trunkId }: InboundOffer): boolean {
    const { capacity, free } = this.#options
    const all = [...this.#speaking.keys()]
    const ofTrunk = all.filter(other => other.trunkId === trunkId).length
    const most = (share: number) => Math.max(1, Math.floor(capacity * share))
    if (this.#closed.signal.aborted || free() <= all.length) return false
    return all.length < most(SHARE) && ofTrunk < most(TRUNK_SHARE)
  }

  /** Settles when all was said, or nobody listens, or it takes too long. */
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

  /** Returns what stops it. */
  #play(sound: EarlySound, words: RefusalAnnouncement, announcer: Tts, onSaid: () => void): () => void {
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
