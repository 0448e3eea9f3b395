/** A reference model of a campaign, as simple as possible: lists, loops over minutes, and local time by ICU. */

import type { DailyHours } from '../../../control/outreach/campaigns/zone.ts'
import type { EndedReason, FinalStatus } from '../../../media/contract/messages.ts'
import { wallOpen } from './wall.ts'

const MINUTE_MS = 60_000
const FORTNIGHT = 15 * 24 * 60

export interface ModelContact {
  phone: string
  zone: string | null
  status: string
  attempts: number
  nextMs: number
  skip: string | null
  goal: boolean | null
  answered: boolean
}

export interface ModelParams {
  window: DailyHours
  quiet: { start: string; end: string } | null
  concurrency: number
  retries: number
  retryMin: number
}

export interface ModelEnd {
  status: FinalStatus
  reason: EndedReason
  goal: boolean
}

export class Model {
  status = 'running'
  readonly unwanted = new Set<string>()
  readonly contacts: ModelContact[]
  readonly #params: ModelParams
  /** Since when it has had this status. */
  #changedMs: number

  constructor(params: ModelParams, people: { phone: string; zone: string | null }[], nowMs: number) {
    this.#params = params
    this.#changedMs = nowMs
    this.contacts = people.map(one => ({
      ...one,
      status: 'pending',
      attempts: 0,
      nextMs: nowMs,
      skip: null,
      goal: null,
      answered: false,
    }))
  }

  get live(): ModelContact[] {
    return this.contacts.filter(one => one.status === 'dialing' || one.status === 'in_progress')
  }

  /** True when the campaign may dial now. */
  #open(nowMs: number): boolean {
    return this.status === 'running' && wallOpen(this.#params.window, nowMs)
  }

  #allowed(zone: string | null, atMs: number): boolean {
    const { window, quiet } = this.#params
    const isQuiet = quiet !== null && zone !== null && wallOpen({ timezone: zone, ...quiet, days: null }, atMs)
    return wallOpen(window, atMs) && !isQuiet
  }

  /** All clocks here go by full minutes, and so does what is allowed. */
  #firstAllowed(zone: string | null, fromMs: number): number | null {
    for (let i = 0; i < FORTNIGHT; i++) if (this.#allowed(zone, fromMs + i * MINUTE_MS)) return fromMs + i * MINUTE_MS
    return null
  }

  /** The window has just opened, or the campaign has just begun: one call, and a minute later all of them. */
  #places(nowMs: number): number {
    const justOpened = !wallOpen(this.#params.window, nowMs - 1) || this.#changedMs === nowMs
    return (justOpened ? 1 : this.#params.concurrency) - this.live.length
  }

  #due(nowMs: number): ModelContact[] {
    const order = [...this.contacts.entries()].filter(([, one]) => one.status === 'pending' && one.nextMs <= nowMs)
    order.sort(([i, a], [j, b]) => a.nextMs - b.nextMs || i - j)
    return order.map(([, one]) => one)
  }

  wouldDial(nowMs: number): boolean {
    if (!this.#open(nowMs) || this.#places(nowMs) <= 0) return false
    return this.#due(nowMs).some(one => !this.unwanted.has(one.phone) && this.#allowed(one.zone, nowMs))
  }

  look(nowMs: number): void {
    if (this.status !== 'running') return
    if (this.#open(nowMs)) {
      let places = this.#places(nowMs)
      for (const one of places > 0 ? this.#due(nowMs) : []) {
        if (places === 0) break
        if (this.unwanted.has(one.phone)) Object.assign(one, { status: 'skipped', skip: 'do_not_call' })
        else if (this.#allowed(one.zone, nowMs)) {
          Object.assign(one, { status: 'dialing', attempts: one.attempts + 1, answered: false })
          places--
        } else {
          const at = this.#firstAllowed(one.zone, nowMs)
          if (at === null) Object.assign(one, { status: 'skipped', skip: 'no_common_hours' })
          else one.nextMs = at
        }
      }
    }
    if (this.contacts.some(one => ['pending', 'dialing', 'in_progress'].includes(one.status))) return
    this.status = 'completed'
    this.#changedMs = nowMs
  }

  ends(one: ModelContact, { status, reason, goal }: ModelEnd, nowMs: number): void {
    const unsent = reason === 'queue_expired' || reason === 'no_capacity'
    const stopped = this.status === 'stopped'
    if (unsent) one.attempts--
    if (goal || status === 'completed') Object.assign(one, { status: 'completed', goal })
    else if (reason === 'do_not_call') Object.assign(one, { status: 'skipped', skip: 'do_not_call' })
    else if (unsent && stopped) one.status = 'canceled'
    else if (unsent) Object.assign(one, { status: 'pending', nextMs: nowMs + MINUTE_MS })
    else if (status === 'canceled') one.status = 'canceled'
    else if (stopped || reason === 'number_unknown' || one.attempts === this.#params.retries + 1) one.status = status
    else Object.assign(one, { status: 'pending', nextMs: nowMs + this.#params.retryMin * MINUTE_MS })
  }

  /** False: it is refused. */
  step(action: 'pause' | 'resume' | 'stop' | 'requeue', nowMs: number): boolean {
    const from = { pause: ['running', 'paused'], resume: ['paused', 'running'], stop: ['running', 'paused', 'stopped'] }
    if (action === 'requeue') {
      const again = this.contacts.filter(one => ['no_answer', 'busy', 'failed'].includes(one.status))
      if (!['paused', 'stopped', 'completed'].includes(this.status) || again.length === 0) return false
      for (const one of again) Object.assign(one, { status: 'pending', attempts: 0, nextMs: nowMs })
    } else if (!from[action].includes(this.status)) return false
    if (action === 'stop' && this.status !== 'stopped') {
      for (const one of this.contacts) if (one.status === 'pending') one.status = 'canceled'
    }
    const next = { pause: 'paused', resume: 'running', stop: 'stopped', requeue: 'running' }[action]
    if (next !== this.status) this.#changedMs = nowMs
    this.status = next
    // Unanswered calls that no engine has claimed are canceled. After a pause they do not count as attempts.
    for (const one of this.live.filter(one => !one.answered)) {
      if (action === 'stop') one.status = 'canceled'
      if (action === 'pause') this.ends(one, { status: 'canceled', reason: 'queue_expired', goal: false }, nowMs)
    }
    return true
  }
}
