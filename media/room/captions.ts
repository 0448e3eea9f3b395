/** Sends captions one after the other; only the latest text of each segment is sent. */

import type { DisplayUpdate } from '../ports/leg.ts'
import type { Log } from '../shared/log.ts'
import type { RoomConnection } from './connection.ts'

type Words = Extract<DisplayUpdate, { type: 'words' }>

export interface CaptionsOptions {
  /** Participant identities in the room. */
  caller: string
  agent: string
  /** Prefix of all segment ids: LiveKit's components treat equal segments as the same text, whoever said it. */
  prefix: string
  language: string
  log: Log
}

export class Captions {
  readonly #link: Pick<RoomConnection, 'caption'>
  readonly #options: CaptionsOptions
  /** Pending captions by segment, in order of arrival. */
  readonly #waiting = new Map<string, Words>()
  #sending: Promise<void> | null = null
  #failed = false

  constructor(link: Pick<RoomConnection, 'caption'>, options: CaptionsOptions) {
    this.#link = link
    this.#options = options
  }

  show(words: Words): void {
    if (words.text === '') return
    this.#waiting.set(words.segment, words)
    this.#sending ??= this.#send()
  }

  /** Resolves when pending captions were sent. */
  async close(): Promise<void> {
    await this.#sending
  }

  async #send(): Promise<void> {
    const { caller, agent, prefix, language, log } = this.#options
    for (;;) {
      const [next] = this.#waiting.values()
      if (!next) {
        this.#sending = null
        return
      }
      this.#waiting.delete(next.segment)
      const { who, segment, text, final } = next
      const identity = who === 'caller' ? caller : agent
      try {
        await this.#link.caption({ identity, segment: `${prefix}-${segment}`, text, final, language })
      } catch (error) {
        if (!this.#failed) log.warn({ err: error }, 'could not send captions')
        this.#failed = true
      }
    }
  }
}
