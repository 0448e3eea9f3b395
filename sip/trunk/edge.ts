import { promises as dns } from 'node:dns'
import type { TrunkPlan } from '../../media/contract/plan.ts'
import type { Clock, Dialer, DialOptions, DialResult, InboundOffer, Log, TrunkDirectory } from '../../media/ports.ts'
import { takeInvite } from './answer.ts'
import { ALLOW, dial, type TrunkContext } from './dial.ts'
import { type Lookup, Trunks } from './directory.ts'
import type { MediaOptions } from './media.ts'
import { Registrar, type RegistrationStatus } from './registration.ts'
import { createAgent, type IncomingRequest, type Reply, stopAgent } from './srf.ts'

export type EdgeOptions = {
  /** The signalling server's admin port: ours, or a real drachtio-server's. */
  readonly host: string
  readonly port: number
  readonly secret: string
  readonly directory: TrunkDirectory
  readonly media: MediaOptions
  readonly clock: Clock
  readonly log: Log
  /** A call came in that could be answered. */
  onOffer(offer: InboundOffer): void
  /** The signalling server is there, or not. Calls of a lost connection end as `connection_lost`. */
  onState?(up: boolean): void
  onRegistration?(status: RegistrationStatus): void
  /** The CIDRs that calls may come from changed: news for the embedded server's `--allow-file`, or a firewall. */
  onAllowedSources?(cidrs: readonly string[]): void
  /** Whether this engine is the one to register the trunk; call `syncRegistrations` when that changes. */
  mayRegister?(trunkId: string): boolean
  readonly mediaTimeoutMs?: number
  /** A call that is to be placed while the signalling server is away waits for so long. */
  readonly reconnectWaitMs?: number
  /** How long a call waits for news of its trunk. */
  readonly trunkWaitMs?: number
  readonly lookup?: Lookup
}

export type Edge = {
  readonly dialer: Dialer
  isUp(): boolean
  /** CIDRs that calls may come from, as of now. */
  allowedSources(): string[]
  syncRegistrations(): void
  /** Takes no more calls, unregisters, and leaves the signalling server. Legs are their owners' to hang up first. */
  close(): Promise<void>
}

const MEDIA_TIMEOUT_MS = 60_000
const RECONNECT_MAX_MS = 2000
/** A restart of the server takes a second or two. */
const RECONNECT_WAIT_MS = 10_000
/** Longer than control takes to tell the engines of a new trunk. */
const TRUNK_WAIT_MS = 3000
/** Trunks' host names may move. */
const RESOLVE_EVERY_MS = 300_000

const systemLookup: Lookup = async host => (await dns.lookup(host, { all: true })).map(entry => entry.address)

/** The engine's end of signalling: connects, keeps connected, and makes and takes legs. */
export function openEdge(options: EdgeOptions): Edge {
  return new SipEdge(options)
}

class SipEdge implements Edge {
  readonly dialer: Dialer = { dial: request => this.dial(request) }
  private readonly options: EdgeOptions
  private readonly agent = createAgent()
  private readonly trunks: Trunks
  private readonly registrar: Registrar
  private readonly context: TrunkContext
  /** Legs, attempts and offers, to be told when the server is lost. */
  private readonly tracked = new Set<{ lost(): void }>()
  private readonly stopWatching: () => void
  private cancelResolve: () => void = () => {}
  private up = false
  private closing = false
  /** Calls to be placed that wait for the server to come back. */
  private readonly waiting = new Set<() => void>()

  constructor(options: EdgeOptions) {
    this.options = options
    const { agent } = this
    const { log, clock, media, directory, lookup, mediaTimeoutMs, mayRegister, onRegistration } = options
    this.trunks = new Trunks(directory, lookup ?? systemLookup, log, cidrs => options.onAllowedSources?.(cidrs))
    this.context = {
      agent,
      media,
      clock,
      log,
      mediaTimeoutMs: mediaTimeoutMs ?? MEDIA_TIMEOUT_MS,
      track: thing => {
        this.tracked.add(thing)
        return () => this.tracked.delete(thing)
      },
    }
    this.registrar = new Registrar({
      agent,
      trunks: this.trunks,
      clock,
      log,
      mayRegister: mayRegister ?? (() => true),
      onStatus: onRegistration ?? (() => {}),
    })
    this.stopWatching = directory.onChange(() => this.registrar.sync())
    this.resolveAgain()
    this.connect()
  }

  private connect(): void {
    const { agent } = this
    const { host, port, secret, log } = this.options
    agent.on('connect', error => {
      if (error) log.error({}, 'signalling server refused the secret')
      else this.changed(true)
    })
    agent.on('close', () => {
      if (this.up && !this.closing) log.warn({}, 'signalling server lost')
      this.changed(false)
    })
    // drachtio-srf tries again by itself, provided that somebody listens to its errors.
    agent.on('error', error => log.debug({ err: error }, 'signalling server not reached'))
    agent.invite((req, res) => this.onInvite(req, res))
    agent.options((_req, res) => res.send(200, { headers: { Allow: ALLOW, Accept: 'application/sdp' } }))
    agent.connect({ host, port, secret, reconnect: { retryMaxDelay: RECONNECT_MAX_MS } })
  }

  private changed(up: boolean): void {
    if (up === this.up) return
    this.up = up
    if (!up) for (const thing of [...this.tracked]) thing.lost()
    if (!up) this.tracked.clear()
    if (up) this.wake()
    this.registrar.connected(up)
    this.options.onState?.(up)
  }

  private onInvite(req: IncomingRequest, res: Reply): void {
    if (this.closing) {
      res.send(503)
      return
    }
    const offer = takeInvite(this.context, this.trunks, req, res)
    if (offer !== null) this.options.onOffer(offer)
  }

  private async dial(request: DialOptions): Promise<DialResult> {
    const trunk = await this.trunkOf(request)
    if (trunk === null) {
      const verdict = request.signal.aborted
        ? ({ status: 'canceled', reason: 'canceled_by_api' } as const)
        : ({ status: 'failed', reason: 'trunk_unknown' } as const)
      return { ok: false, failure: { ...verdict, sipCode: null } }
    }
    await this.whenUp(request.signal)
    if (!request.signal.aborted && (!this.up || this.closing)) {
      return { ok: false, failure: { status: 'failed', reason: 'internal_error', sipCode: null } }
    }
    return dial(this.context, trunk, request)
  }

  /** A call may be here sooner than the news of the trunk that it goes over. */
  private async trunkOf({ plan, signal }: DialOptions): Promise<TrunkPlan | null> {
    const id = plan.trunk_id
    if (id === null) return null
    const known = () => this.trunks.byId(id)
    if (known() !== null || signal.aborted || this.closing) return known()
    await new Promise<void>(resolve => {
      const stop = this.options.directory.onChange(() => {
        if (known() !== null) go()
      })
      const cancel = this.options.clock.after(this.options.trunkWaitMs ?? TRUNK_WAIT_MS, () => go())
      const go = (): void => {
        stop()
        cancel()
        signal.removeEventListener('abort', go)
        resolve()
      }
      signal.addEventListener('abort', go, { once: true })
    })
    return known()
  }

  private whenUp(signal: AbortSignal): Promise<void> {
    if (this.up || this.closing || signal.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const go = (): void => {
        this.waiting.delete(go)
        signal.removeEventListener('abort', go)
        cancelWait()
        resolve()
      }
      const cancelWait = this.options.clock.after(this.options.reconnectWaitMs ?? RECONNECT_WAIT_MS, go)
      this.waiting.add(go)
      signal.addEventListener('abort', go, { once: true })
    })
  }

  private wake(): void {
    for (const go of [...this.waiting]) go()
  }

  private resolveAgain(): void {
    void this.trunks.resolve()
    this.cancelResolve = this.options.clock.after(RESOLVE_EVERY_MS, () => this.resolveAgain())
  }

  isUp(): boolean {
    return this.up
  }

  allowedSources(): string[] {
    return this.trunks.allowedSources()
  }

  syncRegistrations(): void {
    this.registrar.sync()
  }

  async close(): Promise<void> {
    if (this.closing) return
    this.closing = true
    this.wake()
    this.stopWatching()
    this.trunks.close()
    this.cancelResolve()
    await this.registrar.close()
    stopAgent(this.agent)
    this.changed(false)
  }
}
