/** Asks a silent caller whether they are still there, and gives up after a few times, for a speech-to-speech model. */
import { HELD_MS } from './session-parts.ts'
import { SILENCE_PROMPT_MS, SILENCE_PROMPTS } from './turn.ts'

export class SilencePrompts {
  #quietSinceMs: number
  #tickedMs: number
  #prompts = 0

  constructor(nowMs: number) {
    this.#quietSinceMs = nowMs
    this.#tickedMs = nowMs
  }

  /** The caller said, typed or pressed something. */
  answered(): void {
    this.#prompts = 0
  }

  restart(nowMs: number): void {
    this.#quietSinceMs = nowMs
    this.#prompts = 0
  }

  /** Call it with each pulled frame; `busy`: somebody speaks, or an answer is due. Returns what is due. */
  tick(nowMs: number, busy: boolean): 'prompt' | 'give_up' | null {
    const held = nowMs - this.#tickedMs > HELD_MS
    this.#tickedMs = nowMs
    if (held || busy) this.#quietSinceMs = nowMs
    if (nowMs - this.#quietSinceMs < SILENCE_PROMPT_MS) return null
    this.#quietSinceMs = nowMs
    return ++this.#prompts > SILENCE_PROMPTS ? 'give_up' : 'prompt'
  }
}
