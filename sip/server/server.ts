import { randomUUID } from 'node:crypto'
import { mayReach, type OwnAddresses, type PrivateHosts } from '../../media/shared/addresses.ts'
import { RefusalBook } from '../../media/shared/egress.ts'
import { ownAddresses } from '../../media/shared/own-addresses.ts'
import { formatHostPort } from '../text/grammar.ts'
import type { SipParseError, SipRequest } from '../text/message.ts'
import { headerOf, listOf, serialise } from '../text/message.ts'
import { parseMessage } from '../text/parse.ts'
import { parseVia } from '../text/validate.ts'
import { type AllowList, allowList, type SourceStanding, standingBesideTrunks, standingOf } from './allow.ts'
import { type App, Apps } from './apps.ts'
import { Cdr } from './cdr.ts'
import { type Core, replyFlow } from './core.ts'
import { DeadHosts } from './dead-hosts.ts'
import { DialogStore } from './dialogs.ts'
import { UDP_MOST } from './failover-request.ts'
import { GATE_LIMITS, Gate, type GateLimits, opensSomething } from './gate.ts'
import { hangUp } from './hangup.ts'
import { newTag, PolicyError, plainResponse, stampVia } from './headers.ts'
import { Incoming } from './incoming.ts'
import { type Log, silentLog } from './log.ts'
import { type ListenSpec, Network } from './network.ts'
import { Outgoing } from './outgoing.ts'
import { cachingResolver, type Resolver, systemResolver } from './resolve.ts'
import { SessionTimers } from './session-timers.ts'
import { type Known, mayBeSoftphone } from './softphone-guess.ts'
import { RFC_TIMERS, type Timers } from './transaction.ts'
import { Transactions } from './transactions.ts'
import { type Flow, type HostPortOf, isLoopback } from './transport.ts'
import { STREAM_LIMITS, type StreamLimits } from './transport-stream.ts'
import type { TlsSettings } from './transport-tls.ts'
import { belongsToCall, isOfCalls, looksLikeCall } from './trunk-request.ts'
import { VERSION } from './version.ts'
import { type AppFrame, leader } from './wire.ts'

export interface SipServerOptions {
  admin: HostPortOf
  secret: string
  listen: readonly ListenSpec[]
  /** Addresses shown to peers outside private networks, at most one per family. */
  externalIps?: readonly string[]
  /** Required to listen on TLS. */
  tls?: TlsSettings
  limits?: Partial<StreamLimits>
  /** Non-public addresses that messages may be sent to; all when left out. */
  privateHosts?: PrivateHosts
  /** Addresses of this installation, which count as non-public; by default those of all interfaces. */
  own?: OwnAddresses
  /** Bytes above which a request leaves over TCP in place of UDP (RFC 3261 §18.1.1). */
  udpMost?: number
  /** Addresses and networks that may send requests; null or absent admits everybody. */
  allow?: readonly string[] | null
  /** Rate limits per source; they apply only with an allow list. */
  gate?: Partial<GateLimits>
  timers?: Partial<Timers>
  /** Milliseconds before the calls of a disconnected application are ended; 2000 by default. */
  orphanGraceMs?: number
  log?: Log
  resolver?: Resolver
}

export interface SipServerCounters {
  malformed: number
  disallowed: number
  /** Messages over the rate limit of their source, or of all strangers together. */
  flooded: number
  /** Requests from strangers that no softphone of ours would start with. */
  scanned: number
  strayResponses: number
  faults: number
  /** Requests that no application handles. */
  unhandled: number
  /** Initial requests refused because all applications that handle them were behind. */
  shed: number
  /** Requests of applications to addresses that are not allowed. */
  blocked: number
}

/** Counters, and the number of objects held now. */
export type SipServerStats = Readonly<SipServerCounters> & {
  dialogs: number
  transactions: number
  pending: number
  apps: number
  /** Open TCP and TLS connections. */
  connections: number
}

const RESPONSE_START = 'SIP/2.0 '
const isResponse = (bytes: Buffer): boolean => bytes.toString('latin1', 0, RESPONSE_START.length) === RESPONSE_START
const ORPHAN_GRACE_MS = 2000

/** The embedded signalling server: SIP to the network, drachtio's protocol to applications. */
export class SipServer {
  readonly counters: SipServerCounters = {
    malformed: 0,
    disallowed: 0,
    flooded: 0,
    scanned: 0,
    strayResponses: 0,
    faults: 0,
    unhandled: 0,
    shed: 0,
    blocked: 0,
  }
  readonly #options: SipServerOptions
  readonly #core: Core
  readonly #incoming: Incoming
  readonly #outgoing: Outgoing
  readonly #orphans = new Set<NodeJS.Timeout>()
  readonly #held: Known
  readonly #own: OwnAddresses
  readonly #refusals = new RefusalBook()
  #allowed: AllowList
  readonly #gate: Gate

  constructor(options: SipServerOptions) {
    this.#options = options
    this.#allowed = allowList(options.allow ?? null)
    this.#gate = new Gate({ ...GATE_LIMITS, ...options.gate })
    const log = options.log ?? silentLog
    const timers = { ...RFC_TIMERS, ...options.timers }
    const limits = { ...STREAM_LIMITS, ...options.limits }
    const network = new Network({ externalIps: options.externalIps ?? [], tls: options.tls ?? null, limits }, log)
    const apps = new Apps({
      secret: options.secret,
      version: VERSION,
      refusals: () => this.#refusals.all(),
      hostports: () => ({ shown: network.hostports(true).join(','), local: network.hostports(false).join(',') }),
      events: { frame: (app, frame) => void this.#frame(app, frame), gone: app => this.#gone(app) },
      log,
    })
    const resolver = options.resolver ?? cachingResolver(systemResolver())
    const txns = new Transactions(timers, replyFlow(network))
    const [dialogs, dead, udpMost] = [new DialogStore(), new DeadHosts(), options.udpMost ?? UDP_MOST]
    const hosts = options.privateHosts ?? 'allow'
    this.#own = options.own ?? ownAddresses(options.externalIps)
    const may = (address: string): boolean => mayReach(hosts, address, this.#own())
    const blocked = (remote: HostPortOf): void => this.#blocked(remote)
    const cdr = new Cdr(apps)
    const { counters } = this
    const proved = (address: string): void => this.#gate.prove(address, performance.now())
    const parts = { log, network, resolver, dead, counters, udpMost, txns, dialogs, apps, timers, cdr, proved }
    this.#core = { ...parts, mayReach: may, blocked }
    this.#held = {
      hasDialog: request => dialogs.match(request) !== null,
      hasTransaction: request => txns.find(request) !== null,
    }
    const sessions = new SessionTimers(this.#core)
    this.#incoming = new Incoming(this.#core, sessions, options.secret)
    this.#outgoing = new Outgoing(this.#core, sessions)
  }

  /** Starts the server. Rejects, with everything closed again, when a port is not available. */
  async start(): Promise<{ admin: HostPortOf; listen: readonly string[] }> {
    const { network, apps } = this.#core
    try {
      await network.listen(this.#options.listen, {
        message: (bytes, flow) => this.#guarded(bytes, flow),
        admits: address => this.#mayAnswer(address) && this.#admits(standingOf(this.#allowed, address)),
      })
      const admin = await apps.listen(this.#options.admin)
      const listen = network.bound().map(({ protocol, ...at }) => `${protocol}/${formatHostPort(at)}`)
      return { admin, listen }
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /**
   * Replaces the list of allowed sources at once. Throws CidrError and keeps the old list when an entry is malformed.
   */
  setAllowedSources(cidrs: readonly string[] | null): void {
    this.#allowed = allowList(cidrs)
  }

  stats(): SipServerStats {
    const { dialogs, txns, apps, network } = this.#core
    const held = { dialogs: dialogs.size, transactions: txns.size, apps: apps.all().length }
    const pending = this.#incoming.size + this.#outgoing.size
    return { ...this.counters, ...held, pending, connections: network.connections }
  }

  /** The addresses it listens on. */
  bound(): readonly ListenSpec[] {
    return this.#core.network.bound()
  }

  async close(): Promise<void> {
    for (const timer of this.#orphans) clearTimeout(timer)
    this.#orphans.clear()
    this.#incoming.close()
    await this.#core.apps.close()
    this.#core.txns.close()
    this.#core.dialogs.clear()
    await this.#core.network.close()
  }

  #admits(standing: SourceStanding): boolean {
    if (standing === 'out') this.counters.disallowed += 1
    return standing !== 'out'
  }

  /** True when the message is within its limits. A rejected message costs no more than this check. */
  #takes(bytes: Buffer, { remote, reliable }: Flow, standing: SourceStanding): boolean {
    const nowMs = performance.now()
    // Responses are matched by branch and come from any host that we called.
    const answers = isResponse(bytes)
    if (!answers && !this.#admits(standing)) return false
    if (standing === 'unrestricted') return true
    const taken = answers
      ? this.#gate.response(standing, remote.host, nowMs)
      : this.#gate.request(standing, remote.host, { reliable, opening: opensSomething(bytes) }, nowMs)
    if (!taken) this.counters.flooded += 1
    return taken
  }

  /** Counts a message that was not sent because of its destination, and names the destination once. */
  #blocked({ host, port }: HostPortOf): void {
    this.counters.blocked += 1
    if (this.#refusals.note('sip', host, port, Date.now())) {
      this.#core.log.warn({ address: host, port }, 'destination address is not allowed')
    }
  }

  /**
   * False for a source that an answer must not go to. Programs of this machine are answered: the kernel drops packets
   * from outside that claim its addresses.
   */
  #mayAnswer(host: string): boolean {
    return this.#core.mayReach(host) || isLoopback(host) || this.#own().has(host)
  }

  /** True for a stranger that has not proved to be one of our softphones. */
  #isUnproven(standing: SourceStanding, address: string): boolean {
    return standing === 'stranger' && !this.#gate.isProven(address, performance.now())
  }

  /** Scanners get no answer, so that they cannot detect the server. */
  #isScan(request: SipRequest): boolean {
    const scan = !mayBeSoftphone(request, this.#held)
    if (scan) this.counters.scanned += 1
    return scan
  }

  /** The standing of a source for this message: a trunk's sources may place calls, and are strangers for the rest. */
  #standingFor(bytes: Buffer, address: string): SourceStanding {
    const standing = standingOf(this.#allowed, address)
    if (standing !== 'trunk' || isResponse(bytes) || looksLikeCall(bytes, this.#allowed!.contacts)) return standing
    return standingBesideTrunks(this.#allowed!, address)
  }

  /** Corrects `#standingFor` for a parsed request. Returns null when it is over the limits that then apply. */
  #correct(request: SipRequest, bytes: Buffer, flow: Flow, standing: SourceStanding): SourceStanding | null {
    if (standing !== 'trunk' || belongsToCall(request, this.#allowed!.contacts, this.#held)) return standing
    const corrected = standingBesideTrunks(this.#allowed!, flow.remote.host)
    return this.#takes(bytes, flow, corrected) ? corrected : null
  }

  /** Catches every error: no message may bring the server down. */
  #guarded(bytes: Buffer, flow: Flow): boolean {
    try {
      return this.#message(bytes, flow)
    } catch (error) {
      this.counters.faults += 1
      this.#core.log.error({ err: error, remote: flow.remote.host }, 'message handling failed')
      return true
    }
  }

  /** Returns false for bytes that are not SIP. */
  #message(bytes: Buffer, flow: Flow): boolean {
    const { host } = flow.remote
    if (!this.#mayAnswer(host)) {
      this.#blocked(flow.remote)
      return true
    }
    const standing = this.#standingFor(bytes, host)
    if (!this.#takes(bytes, flow, standing)) return true
    const parsed = parseMessage(bytes)
    if (!parsed.ok) {
      const { request } = parsed.error
      const ofTrunk = standing !== 'trunk' || (request !== null && isOfCalls(request.method))
      this.#malformed(parsed.error, flow, ofTrunk && !this.#isUnproven(standing, host))
      return parsed.error.code !== 'bad_start_line'
    }
    if (parsed.message.kind === 'request') this.#request(stampVia(parsed.message, flow.remote), bytes, flow, standing)
    else if (!this.#core.txns.response(parsed.message, flow)) this.counters.strayResponses += 1
    return true
  }

  #request(request: SipRequest, bytes: Buffer, flow: Flow, guessed: SourceStanding): void {
    const standing = this.#correct(request, bytes, flow, guessed)
    if (standing === null) return
    if (this.#isUnproven(standing, flow.remote.host) && this.#isScan(request)) return
    this.#incoming.request(request, flow)
  }

  /**
   * RFC 3261 §21.4.1 and RFC 4475 §3.1.2: a malformed request that can be answered gets 400 (505), without a
   * transaction.
   */
  #malformed(error: SipParseError, flow: Flow, answered: boolean): void {
    this.counters.malformed += 1
    this.#core.log.debug({ code: error.code, remote: flow.remote.host }, 'malformed message')
    const { request } = error
    if (!answered || request === null || request.method === 'ACK') return
    if (parseVia(listOf(request, 'Via')[0] ?? '') === null || headerOf(request, 'CSeq') === null) return
    const reason = error.status === 505 ? 'Version Not Supported' : 'Bad Request'
    const stamped = stampVia(request, flow.remote)
    flow.send(serialise(plainResponse({ ...stamped, uri: '' }, error.status, reason, newTag())), () => {})
  }

  async #frame(app: App, frame: AppFrame & { type: 'sip' | 'proxy' }): Promise<void> {
    try {
      const parsed = parseMessage(frame.message, { lax: true, bodyIsRest: true })
      if (!parsed.ok) throw new PolicyError(`invalid message: ${parsed.error.code}`)
      if (frame.type === 'proxy') this.#incoming.proxy(app, frame, parsed.message)
      else if (parsed.message.kind === 'response') this.#incoming.respond(app, frame, parsed.message)
      else await this.#outgoing.send(app, frame, parsed.message)
    } catch (error) {
      const known = error instanceof PolicyError
      if (!known) this.#core.log.error({ err: error, incident: randomUUID() }, 'application request failed')
      app.send(leader.reply(frame.msgId, 'NOK', `Server error: ${known ? error.message : 'internal error'}`))
    }
  }

  /**
   * drachtio-srf cannot end the calls of a connection that it lost, so the server ends them after a grace period: the
   * caller would hear only silence. An application that reconnected and took over a call owns it and keeps it.
   */
  #gone(app: App): void {
    this.#incoming.abandon(app)
    this.#outgoing.abandon(app)
    const timer = setTimeout(() => {
      this.#orphans.delete(timer)
      for (const dialog of this.#core.dialogs.of(app)) {
        if (dialog.phase === 'confirmed') void hangUp(this.#core, dialog, 'application gone')
      }
    }, this.#options.orphanGraceMs ?? ORPHAN_GRACE_MS)
    this.#orphans.add(timer)
  }
}
