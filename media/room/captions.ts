/** What is shown of the conversation's words: the newest state of each turn, one after the other. */

import type { Shown } from '../ports/leg.ts'
import type { Log } from '../shared/log.ts'
import type { RoomLink } from './link.ts'

type Words = Extract<Shown, { type: 'words' }>

export interface CaptionsOptions {
  /** Identities in the room. */
  caller: string
  agent: string
  /** Of all segments here: LiveKit's components take the same segment for the same words, whoever said them and when. */
  prefix: string
  language: string
  log: Log
}

export class Captions {
  readonly #link: Pick<RoomLink, 'caption'>
  readonly #options: CaptionsOptions
  /** By segment, in the order they came. */
  readonly #waiting = new Map<string, Words>()
  #sending: Promise<void> | null = null
  #failed = false

  constructor(link: Pick<RoomLink, 'caption'>, options: CaptionsOptions) {
    this.#link = link
    this.#options = options
  }

  show(words: Words): void {
    if (words.text === '') return
    this.#waiting.set(words.segment, words)
    this.#sending ??= this.#send()
  }

  /** Resolves when what was said is shown. */
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
        if (!this.#failed) log.warn({ err: error }, 'words could not be shown')
        this.#failed = true
      }
    }
  }
}
