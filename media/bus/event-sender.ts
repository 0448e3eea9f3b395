/**
 * What an engine tells control, until Redis has it. What is due for longer than a moment lies in the event outbox as well, since
 * the process may end before Redis is back; the next one of that name tells it first of all. Told twice is told once: events
 * of a call are numbered, and control knows which it has.
 */

import type { EventOutbox } from '../ports/event-outbox.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'

export interface EventSender {
  /** Due from now on, in this order; resolves once Redis has it. Rejects when Redis would not have it for two minutes. */
  send(event: object): Promise<void>
  /** One after the other: an event that is refused for a while holds up those behind it. */
  inOrder(): (event: object) => Promise<void>
  /** What an earlier process of this name left untold. */
  recover(): Promise<void>
}

interface Due {
  text: string
}

const SEND_TRIES = 120
const SEND_PAUSE_MS = 1000
/** Redis takes a fraction of a millisecond; what is due for longer waits for one that is away. */
const AWAY_MS = 300

export function createEventSender(options: {
  add(text: string): Promise<unknown>
  outbox: EventOutbox | null
  clock: Clock
  log: Log
}): EventSender {
  const { add, outbox, clock, log } = options
  const due = new Set<Due>()
  let away = false
  let watching = false

  function note(event: object): Due {
    const one = { text: JSON.stringify(event) }
    due.add(one)
    if (outbox === null) return one
    if (away) outbox.append([one.text])
    else watch(outbox)
    return one
  }

  function watch(to: EventOutbox): void {
    if (watching) return
    watching = true
    const first = due.values().next().value
    clock.after(AWAY_MS, () => {
      watching = false
      if (due.size === 0) return
      if (first !== undefined && !due.has(first)) return watch(to)
      away = true
      log.warn({ events: due.size }, 'events are due and kept on disk')
      to.append([...due].map(({ text }) => text))
    })
  }

  async function deliver(one: Due): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await add(one.text)
        break
      } catch (error) {
        // Redis is there and says no (its disk is full, it fails over): that passes, and the record must not be lost.
        if (tries >= SEND_TRIES) throw error
        if (tries === 1) log.warn({ err: error }, 'event is refused, will be sent again')
        await new Promise<void>(resolve => clock.after(SEND_PAUSE_MS, resolve))
      }
    }
    due.delete(one)
    if (!away || due.size > 0) return
    away = false
    outbox?.clear()
  }

  return {
    send: event => deliver(note(event)),
    inOrder() {
      let last: Promise<unknown> = Promise.resolve()
      return event => {
        const one = note(event)
        const sent = last.then(() => deliver(one))
        last = sent.catch(() => {})
        return sent
      }
    },
    async recover() {
      const left = await outbox?.left()
      if (left === undefined || left.events.length === 0) return
      log.warn({ events: left.events.length }, 'events of an earlier process are told now')
      for (const text of left.events) await deliver({ text })
      await left.told()
    },
  }
}
