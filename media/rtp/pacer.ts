/**
 * One timer for all calls of a process. It assigns each call to the emptiest of a few slots within the 20 ms, so that
 * packets are spread out. Deadlines are absolute, so one late tick does not shift the following ones.
 */

import { FRAME_MS } from '../audio/frames.ts'
import type { Clock } from '../shared/clock.ts'

const SLOTS = 4
const SLOT_MS = FRAME_MS / SLOTS
/** After a longer stall (a suspended machine), missed ticks are dropped instead of sent in a burst. */
const MAX_BEHIND_MS = 200

export interface Pacer {
  /** Calls `tick` every 20 ms with its due time; returns a function that stops it. */
  add(tick: (dueMs: number) => void): () => void
}

export function createPacer(clock: Clock): Pacer {
  const slots: Set<(dueMs: number) => void>[] = Array.from({ length: SLOTS }, () => new Set())
  let startedMs = 0
  /**
   * `index`: the slot that the timer waits for; `unrun`: the first that did not run yet. Slots between them are empty.
   */
  let index = 0
  let unrun = 0
  let cancel: (() => void) | null = null

  function run(): void {
    cancel = null
    const nowMs = clock.now()
    if (nowMs - dueOf(index) > MAX_BEHIND_MS) {
      const behind = Math.floor((nowMs - dueOf(index)) / SLOT_MS)
      index += behind - (behind % SLOTS)
    }
    for (; dueOf(index) <= nowMs; index++) for (const tick of slots[index % SLOTS]!) tick(dueOf(index))
    unrun = index
    schedule()
  }

  function schedule(): void {
    if (cancel || slots.every(slot => slot.size === 0)) return
    while (slots[index % SLOTS]!.size === 0) index++
    cancel = clock.after(Math.max(0, dueOf(index) - clock.now()), run)
  }

  const dueOf = (i: number) => startedMs + i * SLOT_MS

  return {
    add(tick) {
      if (slots.every(slot => slot.size === 0)) {
        startedMs = clock.now()
        index = 0
        unrun = 0
      }
      const slot = slots.reduce((least, other) => (other.size < least.size ? other : least))
      slot.add(tick)
      cancel?.()
      cancel = null
      // The new call's slot may be earlier than the one that the timer waits for.
      index = Math.max(unrun, Math.min(index, Math.ceil((clock.now() - startedMs) / SLOT_MS)))
      schedule()
      return () => {
        slot.delete(tick)
        if (slots.every(other => other.size === 0)) {
          cancel?.()
          cancel = null
        }
      }
    },
  }
}
