import { randomInt } from 'node:crypto'
import { type Header, headerOf, listOf, type SipRequest, type SipResponse } from '../text/message.ts'
import { parseCSeq } from '../text/validate.ts'
import { PolicyError } from './headers.ts'
import { repeatResponse } from './repeats.ts'
import type { Timers } from './transaction.ts'
import type { ServerTxn } from './transactions.ts'

interface Series {
  rseq: number
  open: { rseq: number; stop: () => void } | null
}

const has100rel = (message: SipRequest | SipResponse, name: string): boolean =>
  listOf(message, name).some(option => option.toLowerCase() === '100rel')

/** Reliable provisional responses (RFC 3262 §3): numbered, and repeated until their PRACK arrives. */
export class Reliable {
  readonly #timers: Timers
  /** Series by the INVITE's transaction id. */
  readonly #series = new Map<string, Series>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  get size(): number {
    return this.#series.size
  }

  /**
   * Returns the RSeq header when the application asked for reliability. Throws PolicyError when the peer does not
   * support it.
   */
  number(txn: ServerTxn, response: SipResponse): Header[] {
    const wanted = response.status > 100 && response.status < 200 && has100rel(response, 'Require')
    if (!wanted || txn.request.method !== 'INVITE') return []
    const offered = has100rel(txn.request, 'Supported') || has100rel(txn.request, 'Require')
    if (!offered) throw new PolicyError('peer does not support 100rel')
    const series = this.#series.get(txn.id) ?? { rseq: randomInt(1, 2 ** 20), open: null }
    if (series.open !== null) throw new PolicyError('an earlier reliable response awaits its PRACK')
    series.rseq += 1
    this.#series.set(txn.id, series)
    return [['RSeq', String(series.rseq)]]
  }

  /**
   * Starts to repeat the numbered response that went out as `bytes`. `onGiveUp` runs when no PRACK arrives within
   * 64*T1.
   */
  sent(txn: ServerTxn, bytes: Buffer, onGiveUp: () => void): void {
    const series = this.#series.get(txn.id)
    if (series === undefined) return
    const wanted = (): boolean => txn.status < 200
    const stop = repeatResponse({ bytes, flow: txn.flow, wanted, onGiveUp }, this.#timers.t1, Number.POSITIVE_INFINITY)
    series.open = { rseq: series.rseq, stop }
  }

  /** True when the PRACK matches a response of ours that awaits it. */
  acknowledged(invite: ServerTxn | null, prack: SipRequest): boolean {
    const [rseq, seqOf, method] = (headerOf(prack, 'RAck') ?? '').trim().split(/\s+/)
    const series = invite === null ? undefined : this.#series.get(invite.id)
    const about = parseCSeq(`${seqOf} ${method}`)
    const seq = invite === null ? null : parseCSeq(headerOf(invite.request, 'CSeq') ?? '')?.seq
    if (series?.open?.rseq !== Number(rseq) || about?.seq !== seq || about?.method !== 'INVITE') return false
    series.open.stop()
    series.open = null
    return true
  }

  forget(txnId: string): void {
    this.#series.get(txnId)?.open?.stop()
    this.#series.delete(txnId)
  }
}
