import type { TrunkHost, TrunkPlan } from '../../media/contract/plan.ts'
import type { TrunkCheckReport } from '../../media/contract/sip-trace.ts'
import type { CallTraces, Dialer, DialOptions, DialResult } from '../../media/ports/dialer.ts'
import { createMetrics } from '../../media/shared/metrics.ts'
import { cachingResolver, systemResolver } from '../server/resolve.ts'
import { isLoopback } from '../server/transport.ts'
import { isEmbedded } from '../server/version.ts'
import { diagnose } from './diagnosis/call.ts'
import { Examiner } from './diagnosis/check.ts'
import type { Edge, EdgeOptions } from './edge-options.ts'
import { takeFromSoftphone, takeInvite } from './legs/answer.ts'
import { ALLOW, failure, type Tracked, type TrunkContext } from './legs/attempt.ts'
import { dial } from './legs/dial.ts'
import { dialSoftphone } from './legs/dial-softphone.ts'
import { SoftphoneRegistrar } from './registrar/registrar.ts'
import { sourcesWith } from './registrar/sources.ts'
import { RegistrationClient, type RegistrationStatus, registers } from './registration/client.ts'
import { Pinger } from './registration/pings.ts'
import { createSipMeters, type SipMeters } from './requests/meters.ts'
import { OpenCallKeeper } from './requests/open-call-keeper.ts'
import { RETRY_SOON } from './requests/outcome.ts'
import { createAgent, type IncomingRequest, type Reply, setRoutes, stopAgent, watchFrames } from './requests/srf.ts'
import { waitFor } from './requests/wait.ts'
import { userOf } from './routing/address.ts'
import { Trunks } from './routing/directory.ts'
import { HostHealth, type HostStatus, hostsOf } from './routing/hosts.ts'
import { NextHopResolver } from './routing/next-hop.ts'
import { NO_RATE_TOKEN, takeRateToken } from './routing/rate-token.ts'
import { Traces } from './trace/trace.ts'

export type { Edge, EdgeOptions, TrunkStatus } from './edge-options.ts'

/** True for trunks that exactly one engine looks after. */
export const needsOwner = (trunk: TrunkPlan): boolean => registers(trunk) || trunk.options_interval_seconds !== null

const MEDIA_TIMEOUT_MS = 60_000
/** Milliseconds: the first NOTIFY is due at once (RFC 3515 §2.4.4), and the caller hears music meanwhile. */
const REFER_SILENCE_MS = 20_000
const RECONNECT_MAX_MS = 2000
/** Milliseconds: a restart of the server takes one or two seconds. */
const RECONNECT_WAIT_MS = 10_000
/** Milliseconds: longer than control takes to inform the engines of a new trunk. */
const TRUNK_WAIT_MS = 3000
/** Milliseconds between lookups of the trunks' host names, which may change address. */
const RESOLVE_EVERY_MS = 60_000

/**
 * Opens the engine's SIP edge, which keeps a connection to the signalling server and creates inbound and outbound legs.
 */
export function openEdge(options: EdgeOptions): Edge {
  return new SipEdge(options)
}

class SipEdge implements Edge {
  readonly dialer: Dialer = { dial: request => this.#dial(request) }
  readonly traces: CallTraces = { take: call => this.#takeTrace(call) }
  readonly #options: EdgeOptions
  readonly #agent = createAgent()
  readonly #trunks: Trunks
  readonly #health: HostHealth
  readonly #seen: Traces
  readonly #examiner: Examiner
  readonly #registrar: RegistrationClient
  readonly #phones: SoftphoneRegistrar | null
  readonly #pinger: Pinger
  readonly #calls: OpenCallKeeper
  readonly #context: TrunkContext
  readonly #registrations = new Map<string, RegistrationStatus>()
  /** Transports of the signalling server; empty while unknown. */
  #spoken = new Set<string>()
  #where = ''
  /** Legs, attempts and offers to notify when the server is lost. */
  readonly #tracked = new Set<Tracked>()
  readonly #stopWatching: () => void
  #cancelResolve: () => void = () => {}
  #up = false
  #closing = false
  /** Outbound calls that wait for the server to reconnect. */
  readonly #waiting = new Set<() => void>()

  constructor(options: EdgeOptions) {
    this.#options = options
    const agent = this.#agent
    const { log, clock, directory } = options
    const resolver = options.resolver ?? cachingResolver(systemResolver(), () => clock.now())
    const nextHops = new NextHopResolver(resolver, protocol => this.#spoken.size === 0 || this.#spoken.has(protocol))
    const { mayAdmit, mayReach } = options
    this.#trunks = new Trunks(directory, { nextHops, clock, log, mayAdmit, mayReach }, () => this.#publishSources())
    this.#health = new HostHealth(clock)
    const meters = createSipMeters(options.metrics ?? createMetrics())
    this.#seen = new Traces(clock)
    this.#calls = new OpenCallKeeper(agent, options.calls, log)
    this.#context = this.#contextOfCalls(nextHops, meters)
    const parts = { agent, health: this.#health, clock, log }
    this.#registrar = new RegistrationClient({
      ...parts,
      trunks: this.#trunks,
      mayRegister: id => this.#keeps(id),
      onStatus: status => {
        this.#registrations.set(status.trunkId, status)
        this.#reportStatus(status)
      },
    })
    this.#pinger = new Pinger({
      ...parts,
      nextHops,
      all: () => this.#trunks.all(),
      onHosts: ({ id, owner_id: ownerId }) => {
        const unregistered = { trunkId: id, ownerId, registration: 'none', lastError: null } as const
        if (this.#keeps(id)) this.#reportStatus(this.#registrations.get(id) ?? unregistered)
      },
    })
    const live = (id: string): string[] => this.#registrar.callIdOf(id)
    const reach = mayReach === undefined ? {} : { mayReach }
    this.#examiner = new Examiner({ agent, traces: this.#seen, clock, resolver, nextHops, live, ...reach })
    const phones = options.softphones
    const known = { clock, log, meters, isTrusted: isLoopback }
    this.#phones =
      phones === undefined
        ? null
        : new SoftphoneRegistrar({ ...known, softphones: phones.directory, secret: phones.secret })
    const stops = [
      directory.onChange(() => this.#trunksChanged()),
      phones?.directory.onChange(() => this.#publishSources()),
    ]
    this.#stopWatching = () => {
      for (const stop of stops) stop?.()
    }
    if (phones?.directory.any()) this.#publishSources()
    this.#resolveAgain()
    this.#connect()
  }

  /** Returns the parts that every call over a trunk uses. */
  #contextOfCalls(nextHops: NextHopResolver, meters: SipMeters): TrunkContext {
    const { log, clock, media, pace, mediaTimeoutMs, referSilenceMs } = this.#options
    return {
      agent: this.#agent,
      traces: this.#seen,
      meters,
      media,
      clock,
      log,
      health: this.#health,
      nextHops,
      pace,
      unanswered: new Map(),
      ask: (trunk, place) => void this.#pinger.ask(trunk, place),
      mediaTimeoutMs: mediaTimeoutMs ?? MEDIA_TIMEOUT_MS,
      referSilenceMs: referSilenceMs ?? REFER_SILENCE_MS,
      track: thing => {
        this.#tracked.add(thing)
        return () => this.#tracked.delete(thing)
      },
      keep: call => this.#calls.keep(call),
    }
  }

  #keeps(trunkId: string): boolean {
    return this.#options.mayRegister?.(trunkId) ?? true
  }

  #reportStatus(status: RegistrationStatus): void {
    const trunk = this.#trunks.byId(status.trunkId)
    const statusOf = (host: TrunkHost): HostStatus => this.#health.statusOf(host, this.#context.nextHops.behind(host))
    const hosts = trunk === null ? [] : hostsOf(trunk).map(statusOf)
    this.#options.onTrunkStatus?.({ ...status, hosts })
  }

  #trunksChanged(): void {
    const all = this.#trunks.all()
    const ids = new Set(all.map(({ id }) => id))
    for (const id of this.#registrations.keys()) if (!ids.has(id)) this.#registrations.delete(id)
    const { nextHops } = this.#context
    const hosts = all.flatMap(hostsOf)
    nextHops.keep(hosts)
    this.#health.keep([...hosts, ...hosts.flatMap(host => nextHops.behind(host))])
    this.#registrar.sync()
    this.#pinger.sync()
  }

  #connect(): void {
    const agent = this.#agent
    const { host, port, secret, log } = this.#options
    agent.on('connect', (error, listens, version, local) => {
      this.#where = `${host}:${port} ${listens ?? ''} ${local ?? ''}`
      this.#calls.serverEndsCalls = version !== undefined && isEmbedded(version)
      this.#spoken = new Set(listens?.match(/\b(?:udp|tcp|tls)(?=\/)/g) ?? [])
      if (error) log.error({}, 'signalling server refused the secret')
      else this.#changed(true)
    })
    agent.on('close', () => {
      if (this.#up && !this.#closing) log.warn({}, 'signalling server lost')
      this.#changed(false)
    })
    // drachtio-srf reconnects on its own, provided that its errors have a listener.
    agent.on('error', error => log.debug({ err: error }, 'connection to signalling server failed'))
    agent.invite((req, res) => this.#onInvite(req, res))
    agent.options((req, res) => this.#onOptions(req, res))
    agent.bye((req, res) => this.#onEarlyBye(req, res))
    agent.register((req, res) => (this.#phones === null ? res.send(405) : void this.#phones.onRegister(req, res)))
    agent.connect({ host, port, secret, reconnect: { retryMaxDelay: RECONNECT_MAX_MS } })
    setRoutes(agent, this.#options.listening ?? true)
    watchFrames(agent, frame => this.#seen.frame(frame))
  }

  #changed(up: boolean): void {
    if (up === this.#up) return
    this.#up = up
    if (!up) this.#calls.connectionLost()
    if (!up) for (const thing of [...this.#tracked]) thing.lost()
    if (!up) this.#tracked.clear()
    if (up) this.#calls.endOrphanedCalls()
    if (up) this.#wake()
    this.#registrar.connected(up)
    this.#pinger.connected(up)
    this.#options.onState?.(up)
  }

  #onInvite(req: IncomingRequest, res: Reply): void {
    if (this.#closing) {
      this.#context.meters.refused.add({ reason: 'shutting_down' })
      res.send(503, { headers: RETRY_SOON })
      return
    }
    if (this.#phones?.concerns(req, this.#fromTrunk(req.source_address))) {
      void this.#onPhoneCalls(this.#phones, req, res)
      return
    }
    const offer = takeInvite(this.#context, this.#trunks, req, res)
    if (offer !== null) this.#options.onOffer(offer)
  }

  async #onPhoneCalls(phones: SoftphoneRegistrar, req: IncomingRequest, res: Reply): Promise<void> {
    let canceled = false
    req.on('cancel', () => {
      canceled = true
    })
    const result = await phones.prove(req)
    if (canceled) return
    if (!result.ok) {
      res.send(result.status, { headers: result.headers })
      return
    }
    const offer = takeFromSoftphone(this.#context, result.softphone, req, res)
    if (offer !== null) this.#options.onOffer(offer)
  }

  /** A caller may also cancel with BYE while it rings (RFC 3261 §15); the SIP server has ended the INVITE (487). */
  #onEarlyBye(req: IncomingRequest, res: Reply): void {
    const offer = this.#context.unanswered.get(req.get('Call-ID') ?? '')
    res.send(offer === undefined ? 481 : 200)
    offer?.abort()
  }

  #onOptions(req: IncomingRequest, res: Reply): void {
    // A trunk's sources may place calls only, and a stranger that sends OPTIONS is usually not a softphone.
    const pinged = isLoopback(req.source_address) && !this.#options.softphones?.directory.any()
    if (pinged || this.#isRegistrar(req)) res.send(200, { headers: { Allow: ALLOW, Accept: 'application/sdp' } })
    else if (this.#phones === null) res.send(403)
    else this.#phones.refuse(req, res)
  }

  /** True for a request to the contact of a registration, which only its registrar knows. */
  #isRegistrar(req: IncomingRequest): boolean {
    const trunk = this.#trunks.byContact(userOf(req.uri))
    return trunk !== null && this.#trunks.mayCall(trunk, req.source_address)
  }

  #fromTrunk(address: string): boolean {
    return this.#trunks.match(address, []).kind !== 'unknown'
  }

  #publishSources(): void {
    const trunks = this.#trunks.allowedSources().map(source => `@${source}`)
    const contacts = this.#trunks.contactUsers().map(user => `=${user}`)
    const lines = sourcesWith(trunks, this.#options.softphones?.directory ?? null)
    this.#options.onAllowedSources?.([...lines, ...contacts])
  }

  async #dial(request: DialOptions): Promise<DialResult> {
    const phones = this.#options.softphones?.directory
    const toPhone = phones !== undefined && request.plan.softphone_id !== null && request.plan.trunk_id === null
    const trunk = toPhone ? null : await this.#trunkOf(request)
    if (trunk === null && !toPhone) {
      const result = request.signal.aborted
        ? ({ status: 'canceled', reason: 'canceled_by_api' } as const)
        : ({ status: 'failed', reason: 'trunk_unknown' } as const)
      return { ok: false, failure: { ...result, sipCode: null } }
    }
    await this.#whenUp(request.signal)
    if (!request.signal.aborted && (!this.#up || this.#closing)) {
      return { ok: false, failure: { status: 'failed', reason: 'internal_error', sipCode: null } }
    }
    if (trunk === null) return dialSoftphone(this.#context, phones!, request)
    if (await takeRateToken(this.#options.pace, trunk, request)) return dial(this.#context, trunk, request)
    this.#context.meters.unpaced.add()
    return failure(NO_RATE_TOKEN, null)
  }

  /** A call may arrive before the configuration of its trunk. */
  async #trunkOf({ plan, signal }: DialOptions): Promise<TrunkPlan | null> {
    const id = plan.trunk_id
    if (id === null) return null
    const known = () => this.#trunks.byId(id)
    if (known() !== null || signal.aborted || this.#closing) return known()
    const { clock, directory, trunkWaitMs: ms = TRUNK_WAIT_MS } = this.#options
    await waitFor({ clock, ms, signal }, go =>
      directory.onChange(() => {
        if (known() !== null) go()
      }),
    )
    return known()
  }

  async #whenUp(signal: AbortSignal): Promise<void> {
    if (this.#up || this.#closing || signal.aborted) return
    const { clock, reconnectWaitMs: ms = RECONNECT_WAIT_MS } = this.#options
    await waitFor({ clock, ms, signal }, go => {
      this.#waiting.add(go)
      return () => this.#waiting.delete(go)
    })
  }

  #wake(): void {
    for (const go of [...this.#waiting]) go()
  }

  #resolveAgain(): void {
    void this.#trunks.resolve()
    this.#cancelResolve = this.#options.clock.after(RESOLVE_EVERY_MS, () => this.#resolveAgain())
  }

  #takeTrace({ callId, media, reason }: Parameters<CallTraces['take']>[0]): ReturnType<CallTraces['take']> {
    const taken = this.#seen.take(callId)
    if (taken === null) return null
    const { messages, omitted, trunkId } = taken
    const trunk = trunkId === null ? null : this.#trunks.byId(trunkId)
    return { messages, omitted, diagnosis: diagnose({ messages, trunk, media, reason }) }
  }

  check(trunk: TrunkPlan): Promise<TrunkCheckReport> {
    if (!this.#up || this.#closing) return Promise.reject(new Error('The signalling server is not connected.'))
    return this.#examiner.examine(trunk)
  }

  isUp(): boolean {
    return this.#up
  }

  server(): string | null {
    return this.#up ? this.#where : null
  }

  listen(on: boolean): void {
    if (!this.#closing) setRoutes(this.#agent, on)
  }

  allowedSources(): string[] {
    return sourcesWith(this.#trunks.allowedSources(), this.#options.softphones?.directory ?? null)
  }

  syncRegistrations(): void {
    this.#registrar.sync()
  }

  async close(): Promise<void> {
    if (this.#closing) return
    setRoutes(this.#agent, false)
    this.#closing = true
    this.#wake()
    this.#stopWatching()
    this.#trunks.close()
    this.#cancelResolve()
    this.#pinger.close()
    await this.#registrar.close()
    stopAgent(this.#agent)
    this.#changed(false)
  }
}
