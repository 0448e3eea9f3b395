import { randomUUID } from 'node:crypto'
import { headerOf, listOf, type SipRequest, type SipResponse, serialise } from '../text/message.ts'
import { parseNameAddr, tagOf } from '../text/uri.ts'
import { parseCSeq, parseVia } from '../text/validate.ts'
import {
  type Effect,
  type Input,
  newTransaction,
  nextDeadline,
  step,
  type Timers,
  type TxnState,
} from './transaction.ts'
import type { Flow } from './transport.ts'

export type FailedWhy = 'timeout' | 'transport'

export interface ClientUser {
  response(response: SipResponse, flow: Flow): void
  /** No response arrived, or the request could not be sent; `error` comes from the transport. */
  failed(why: FailedWhy, error: Error | null): void
}

export interface ServerUser {
  /** The transaction has ended, for any reason. */
  ended(txn: ServerTxn): void
  /** The INVITE was left unanswered for too long (`Timers.patience`). */
  neglected(txn: ServerTxn): void
}

export interface ClientTxn {
  id: string
  request: SipRequest
  flow: Flow
  bytes: Buffer
  status: number
}

export interface ServerTxn {
  id: string
  request: SipRequest
  flow: Flow
  /** Bytes of the last response, repeated on demand. */
  last: Buffer | null
  /** Status of that response; 0 before the first. */
  status: number
}

interface ClientEntry {
  kind: 'client'
  txn: ClientTxn
  user: ClientUser
  key: string
  sends: number
}
interface ServerEntry {
  kind: 'server'
  txn: ServerTxn
  user: ServerUser
  key: string
}
type Entry = (ClientEntry | ServerEntry) & {
  state: TxnState
  timer: NodeJS.Timeout | null
  /** Time in ms that the timer is set for. */
  due: number | null
  incoming: Incoming | null
  error: Error | null
}
interface Incoming {
  response: SipResponse
  flow: Flow
}

export const COOKIE = 'z9hG4bK'
const FRESH = { timer: null, due: null, incoming: null, error: null }

/** The flow for a response when its request's connection is gone (RFC 3261 §18.2.2); null when there is none. */
export type ReplyFlow = (txn: ServerTxn) => Flow | null

/** §17.1.3: branch and CSeq method identify the client transaction. */
function clientKey(message: SipRequest | SipResponse): string {
  const branch = parseVia(listOf(message, 'Via')[0] ?? '')?.params.get('branch') ?? ''
  return `${branch} ${parseCSeq(headerOf(message, 'CSeq') ?? '')?.method ?? ''}`
}

/** §17.2.3; `method` is INVITE when an ACK or CANCEL is matched to its INVITE. */
function serverKey(request: SipRequest, method: string): string {
  const via = parseVia(listOf(request, 'Via')[0] ?? '')
  const branch = via?.params.get('branch') ?? ''
  // The cookie alone identifies nothing (RFC 4475 §3.2.1).
  if (branch.startsWith(COOKIE) && branch.length > COOKIE.length)
    return `${branch} ${via?.host}:${via?.port ?? 5060} ${method}`
  // RFC 2543 peers: the fields that identify the request, equal in its ACK and CANCEL.
  const from = parseNameAddr(headerOf(request, 'From') ?? '')
  const seq = parseCSeq(headerOf(request, 'CSeq') ?? '')?.seq
  return `2543 ${headerOf(request, 'Call-ID')} ${from && tagOf(from)} ${seq} ${via?.host}:${via?.port} ${method}`
}

/** Runs the transaction state machines: stores them by key, feeds them input and carries out their effects. */
export class Transactions {
  readonly #entries = new Map<string, Entry>()
  readonly #byId = new Map<string, Entry>()
  readonly #timers: Timers
  readonly #replyFlow: ReplyFlow
  constructor(timers: Timers, replyFlow: ReplyFlow) {
    this.#timers = timers
    this.#replyFlow = replyFlow
  }

  get size(): number {
    return this.#entries.size
  }

  startClient(request: SipRequest, flow: Flow, user: ClientUser, id: string = randomUUID()): ClientTxn {
    const txn: ClientTxn = { id, request, flow, bytes: serialise(request), status: 0 }
    const kind = request.method === 'INVITE' ? 'inviteClient' : 'nonInviteClient'
    const state = newTransaction(kind, flow.reliable, this.#timers)
    const key = `c ${clientKey(request)}`
    this.#begin({ kind: 'client', txn, user, key, sends: 0, state, ...FRESH })
    return txn
  }

  /** Returns null for a retransmitted request, including a repeated CANCEL, which is handled here. */
  startServer(request: SipRequest, flow: Flow, user: ServerUser): ServerTxn | null {
    const key = `s ${serverKey(request, request.method)}`
    const known = this.#server(key)
    if (known !== null) {
      this.#feed(known, { type: 'repeat' })
      return null
    }
    const txn: ServerTxn = { id: randomUUID(), request, flow, last: null, status: 0 }
    const kind = request.method === 'INVITE' ? 'inviteServer' : 'nonInviteServer'
    const state = newTransaction(kind, flow.reliable, this.#timers)
    this.#begin({ kind: 'server', txn, user, key, state, ...FRESH })
    return txn
  }

  #begin(entry: Entry): void {
    this.#entries.set(entry.key, entry)
    this.#byId.set(entry.txn.id, entry)
    this.#feed(entry, { type: 'start' })
  }

  /** True when the response matches one of our transactions. */
  response(response: SipResponse, flow: Flow): boolean {
    const entry = this.#entries.get(`c ${clientKey(response)}`)
    if (entry?.kind !== 'client') return false
    entry.incoming = { response, flow }
    this.#feed(entry, { type: 'response', status: response.status })
    return true
  }

  /** The INVITE that an ACK or CANCEL refers to, or the transaction that this request repeats. */
  find(request: SipRequest): ServerTxn | null {
    const method = request.method === 'ACK' || request.method === 'CANCEL' ? 'INVITE' : request.method
    return this.#server(`s ${serverKey(request, method)}`)?.txn ?? null
  }

  /** Handles the ACK of a final response other than 2xx. Returns false when the ACK must be for a 2xx. */
  acknowledged(txn: ServerTxn): boolean {
    const entry = this.#byId.get(txn.id)
    if (entry === undefined || entry.state.phase === 'accepted') return false
    this.#feed(entry, { type: 'ack' })
    return true
  }

  #server(key: string): (ServerEntry & Entry) | null {
    const entry = this.#entries.get(key)
    return entry?.kind === 'server' ? entry : null
  }

  /** Sends the response and returns its bytes. Sends nothing when the transaction has ended. */
  respond(txn: ServerTxn, response: SipResponse): Buffer {
    const bytes = serialise(response)
    const entry = this.#byId.get(txn.id)
    if (entry === undefined) return bytes
    txn.last = bytes
    txn.status = response.status
    this.#feed(entry, { type: 'response', status: response.status })
    return bytes
  }

  /**
   * Sends an ACK for a 2xx, which belongs to no transaction (§13.2.2.4). Returns the bytes, to repeat them when the 2xx
   * is repeated.
   */
  sendOnce(request: SipRequest, flow: Flow): Buffer {
    const bytes = serialise(request)
    flow.send(bytes, () => {})
    return bytes
  }

  canceled(txn: ClientTxn): void {
    const entry = this.#byId.get(txn.id)
    if (entry !== undefined) this.#feed(entry, { type: 'canceled' })
  }

  close(): void {
    for (const entry of this.#entries.values()) if (entry.timer !== null) clearTimeout(entry.timer)
    this.#entries.clear()
    this.#byId.clear()
  }

  #feed(entry: Entry, input: Input): void {
    const { state, effects } = step(entry.state, input, Date.now())
    entry.state = state
    this.#schedule(entry)
    for (const effect of effects) this.#perform(entry, effect)
  }

  #schedule(entry: Entry): void {
    const at = nextDeadline(entry.state)
    if (at === entry.due) return
    entry.due = at
    if (entry.timer !== null) clearTimeout(entry.timer)
    entry.timer = at === null ? null : setTimeout(() => this.#tick(entry), Math.max(0, at - Date.now()))
  }

  #tick(entry: Entry): void {
    // A timer may fire a millisecond early; then it is set again.
    entry.due = null
    this.#feed(entry, { type: 'tick' })
  }

  #perform(entry: Entry, effect: Effect): void {
    switch (effect.type) {
      case 'send':
        if (entry.kind === 'client') this.#request(entry)
        else this.#reply(entry)
        return
      case 'ack':
        if (entry.kind === 'client' && entry.incoming !== null) this.#acknowledge(entry, entry.incoming.response)
        return
      case 'deliver':
        if (entry.kind === 'client' && entry.incoming !== null) {
          entry.txn.status = entry.incoming.response.status
          entry.user.response(entry.incoming.response, entry.incoming.flow)
        }
        return
      case 'fail':
        if (entry.kind === 'client') entry.user.failed(effect.reason, entry.error)
        return
      case 'neglected':
        if (entry.kind === 'server') entry.user.neglected(entry.txn)
        return
      case 'terminated':
        if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key)
        this.#byId.delete(entry.txn.id)
        entry.incoming = null
        if (entry.kind === 'server') entry.user.ended(entry.txn)
        return
    }
  }

  #request(entry: ClientEntry & Entry): void {
    const failed = (error: Error): void => {
      entry.error = error
      this.#feed(entry, { type: 'transportError' })
    }
    entry.txn.flow.send(entry.txn.bytes, failed)
    this.#countSend(entry, failed)
  }

  #reply(entry: ServerEntry & Entry): void {
    const { txn } = entry
    const flow = txn.flow.usable() ? txn.flow : this.#replyFlow(txn)
    if (txn.last !== null && flow !== null) flow.send(txn.last, () => this.#feed(entry, { type: 'transportError' }))
    // Deferred to a microtask, because the caller of respond has not finished yet.
    else if (flow === null) queueMicrotask(() => this.#feed(entry, { type: 'transportError' }))
  }

  /** No answer to the first transmission: probe whether the port is closed (RFC 3261 §8.1.3.1, ICMP errors). */
  #countSend(entry: ClientEntry, failed: (error: Error) => void): void {
    entry.sends += 1
    if (entry.sends !== 2) return
    entry.txn.flow.probe(error => {
      if (entry.txn.status === 0) failed(error)
    })
  }

  /** §17.1.1.3: same branch, Request-URI, From, Call-ID, CSeq number and Route as the INVITE, To of the response. */
  #acknowledge(entry: ClientEntry, response: SipResponse): void {
    const { request, flow } = entry.txn
    const kept = new Set(['From', 'Call-ID', 'Route', 'Max-Forwards'])
    const seq = parseCSeq(headerOf(request, 'CSeq') ?? '')?.seq ?? 1
    const ack: SipRequest = {
      ...request,
      method: 'ACK',
      body: Buffer.alloc(0),
      headers: [
        ['Via', listOf(request, 'Via')[0] ?? ''],
        ...request.headers.filter(([name]) => kept.has(name)),
        ['To', headerOf(response, 'To') ?? headerOf(request, 'To') ?? ''],
        ['CSeq', `${seq} ACK`],
      ],
    }
    flow.send(serialise(ack), () => {})
  }
}
