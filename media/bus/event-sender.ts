/**
 * Sends an engine's events to control until Redis has accepted them. An event that is due for more than 300 ms is also
 * written to the event outbox, since the process may end before Redis is back. The next process of that name sends it
 * first. Duplicates are harmless: a call's events are numbered, and control knows which it has.
 */

import type { EventOutbox } from '../ports/event-outbox.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'

export interface EventSender {
  /** Queues an event; resolves once Redis has it. Rejects when Redis refuses it for two minutes. */
  send(event: object): Promise<void>
  /** Returns a sender that delivers one after the other: a refused event holds up those behind it. */
  inOrder(): (event: object) => Promise<void>
  /** Sends the events that an earlier process of this name left unsent. */
  recover(): Promise<void>
}

interface Due {
  text: string
}

const SEND_TRIES = 120
const SEND_PAUSE_MS = 1000
/**
 * Redis normally accepts an event in a fraction of a millisecond; one that is due longer waits for a lost connection.
 */
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
      log.warn({ events: due.size }, 'redis does not accept events, keeping them on disk')
      to.append([...due].map(({ text }) => text))
    })
  }

  async function deliver(one: Due): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await add(one.text)
        break
      } catch (error) {
        // Redis is reachable and refuses (disk full, failover): that passes, and the call record must not be lost.
        if (tries >= SEND_TRIES) throw error
        if (tries === 1) log.warn({ err: error }, 'redis refused an event, will retry')
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
      const left = await outbox?.pending()
      if (left === undefined || left.events.length === 0) return
      log.warn({ events: left.events.length }, 'sending events that an earlier process left')
      for (const text of left.events) await deliver({ text })
      await left.acknowledge()
    },
  }
}
