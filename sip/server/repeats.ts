/**
 * Responses that the server repeats until the peer acknowledges them: a 2xx to INVITE, and a reliable provisional
 * response.
 */
import { repeatDue, startRepeat, stepRepeat } from './answer-repeat.ts'
import type { Flow } from './transport.ts'

export type Repeat = {
  readonly bytes: Buffer
  readonly flow: Flow
  /** Returning false stops the repetition silently. */
  readonly wanted: () => boolean
  readonly onGiveUp: () => void
}

/**
 * Repeats after `t1`, then at doubling intervals up to `t2`, and gives up after 64*`t1`. Returns the function that
 * stops it.
 */
export function repeatResponse(repeat: Repeat, t1: number, t2: number): () => void {
  let state = startRepeat(t1, t2, Date.now())
  let timer = setTimeout(check, t1)
  function check(): void {
    if (!repeat.wanted()) return
    const stepped = stepRepeat(state, Date.now())
    state = stepped.state
    if (stepped.action === 'give-up') {
      repeat.onGiveUp()
      return
    }
    if (stepped.action === 'repeat') repeat.flow.send(repeat.bytes, () => {})
    timer = setTimeout(check, Math.max(0, repeatDue(state) - Date.now()))
  }
  return () => clearTimeout(timer)
}
