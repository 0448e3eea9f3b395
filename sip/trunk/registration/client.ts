import { randomUUID } from 'node:crypto'
import type { TrunkStatusEvent } from '../../../media/contract/messages.ts'
import type { TrunkHost, TrunkPlan } from '../../../media/contract/plan.ts'
import { trunkAccount } from '../../../media/contract/trunk-account.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import { splitOutside } from '../../text/grammar.ts'
import { parseNameAddr, parseUri } from '../../text/uri.ts'
import { type Asked, ask } from '../requests/ask.ts'
import { accountOf, Credentials } from '../requests/credentials.ts'
import { challengeWords, registrationWords, secondsIn } from '../requests/outcome.ts'
import type { Agent, IncomingResponse } from '../requests/srf.ts'
import { proxyUri, trunkUri, userOf } from '../routing/address.ts'
import type { Trunks } from '../routing/directory.ts'
import { type HostHealth, hostsOf } from '../routing/hosts.ts'
import { accountDomain, accountUri, accountUser, contactUri } from '../routing/identity.ts'
import { type RegistrationInput, type RegistrationState, stepRegistration, unregistered } from './plan.ts'

export interface RegistrationStatus {
  trunkId: string
  ownerId: string
  registration: TrunkStatusEvent['registration']
  lastError: string | null
  /** The registrar's answer about an account: its address, or null when it rejected the account. */
  registrar?: { account: string; address: string | null }
}

export interface RegistrationClientOptions {
  agent: Agent
  trunks: Trunks
  health: HostHealth
  clock: Clock
  log: Log
  /** One engine at a time registers a trunk; returns true for the holder of its lease. */
  mayRegister(trunkId: string): boolean
  onStatus(status: RegistrationStatus): void
}

const UNREGISTER_WAIT_MS = 2000

export const registers = (trunk: TrunkPlan): boolean => trunk.mode !== 'ip' && trunk.username !== null

/** The parts of a trunk that a REGISTER depends on: when any changes, the trunk is registered again. */
function identityOf(trunk: TrunkPlan): string {
  const { username, password, realm, outbound_proxy: proxy, from_user: user, from_domain: domain } = trunk
  return JSON.stringify([hostsOf(trunk), username, password, realm, proxy, user, domain, trunk.contact_user])
}

/** The parts that identify the binding at the registrar, apart from our address. */
const bindingOf = (trunk: TrunkPlan): string =>
  JSON.stringify([
    ...[hostsOf(trunk), trunk.outbound_proxy, accountUser(trunk), accountDomain(trunk), trunk.contact_user],
  ])

/** Answers to REGISTER by which a registrar rejects the account, after the credentials were sent. */
const REJECTIONS = new Set([401, 403, 404, 407])

/** Keeps trunks of mode `register` and `both` registered. */
export class RegistrationClient {
  readonly #options: RegistrationClientOptions
  readonly #running = new Map<string, Registration>()
  #up = false

  constructor(options: RegistrationClientOptions) {
    this.#options = options
  }

  /** Called when the signalling server connects or disconnects. */
  connected(up: boolean): void {
    this.#up = up
    if (!up) for (const registration of this.#running.values()) registration.pause()
    if (!up) this.#running.clear()
    this.sync()
  }

  /** Starts and stops registrations to match the trunks and the leases. */
  sync(): void {
    if (!this.#up) return
    const { trunks, mayRegister } = this.#options
    const wanted = new Map(
      trunks
        .all()
        .filter(registers)
        .map(trunk => [trunk.id, trunk]),
    )
    for (const [id, registration] of this.#running) {
      const trunk = wanted.get(id)
      if (trunk !== undefined && mayRegister(id) && identityOf(trunk) === registration.identity) continue
      this.#running.delete(id)
      // Another engine, or this one with a new password, registers the same binding: unregistering would remove it.
      if (trunk !== undefined && bindingOf(trunk) === registration.binding) registration.pause()
      else void registration.stop()
    }
    for (const [id, trunk] of wanted) {
      if (this.#running.has(id) || !mayRegister(id)) continue
      const registration = new Registration(trunk, this.#options)
      this.#running.set(id, registration)
      registration.start()
    }
  }

  /** The Call-ID of the trunk's registration; empty when another engine registers it. */
  callIdOf(trunkId: string): string[] {
    const registration = this.#running.get(trunkId)
    return registration === undefined ? [] : [registration.callId]
  }

  async close(): Promise<void> {
    const all = [...this.#running.values()]
    this.#running.clear()
    await Promise.all(all.map(registration => registration.stop()))
  }
}

class Registration {
  readonly identity: string
  readonly binding: string
  readonly #trunk: TrunkPlan
  readonly #options: RegistrationClientOptions
  readonly #credentials: Credentials | null
  readonly callId = randomUUID()
  #state: RegistrationState = unregistered
  /** The host that accepted the registration. */
  #at: TrunkHost | null = null
  #reported = ''
  /** The registrar's latest answer about the account; undefined before one. */
  #registrar: string | null | undefined
  #cseq = 0
  #cancelTimer: () => void = () => {}
  #over = false
  /** True while the registration is being removed. */
  #leaving = false

  constructor(trunk: TrunkPlan, options: RegistrationClientOptions) {
    this.#trunk = trunk
    this.identity = identityOf(trunk)
    this.binding = bindingOf(trunk)
    this.#options = options
    const account = accountOf(trunk)
    this.#credentials = account === null ? null : new Credentials(account)
  }

  start(): void {
    this.#feed({ type: 'start' }, null)
  }

  /** Stops without unregistering or reporting. */
  pause(): void {
    this.#over = true
    this.#cancelTimer()
  }

  async stop(): Promise<void> {
    if (this.#over) return
    const { effect } = stepRegistration(this.#state, { type: 'stop' }, this.#options.clock.now(), 0)
    this.pause()
    this.#leaving = true
    this.#report('none', null)
    if (effect !== 'unregister' || this.#at === null) return
    await Promise.race([
      this.#send(this.#at, 0).catch(() => null),
      new Promise<void>(resolve => {
        this.#options.clock.after(UNREGISTER_WAIT_MS, resolve)
      }),
    ])
  }

  #feed(input: RegistrationInput, error: string | null): void {
    if (this.#over) return
    const { clock } = this.#options
    const { state, effect } = stepRegistration(this.#state, input, clock.now(), Math.random())
    this.#state = state
    this.#cancelTimer()
    if (state.dueAtMs !== null) {
      this.#cancelTimer = clock.after(Math.max(0, state.dueAtMs - clock.now()), () => this.#feed({ type: 'due' }, null))
    }
    if (state.phase !== 'idle') this.#report(state.phase, error)
    if (effect === 'register') void this.#register()
  }

  #report(registration: RegistrationStatus['registration'], lastError: string | null): void {
    const news = `${registration} ${lastError} ${this.#registrar}`
    if (news === this.#reported) return
    this.#reported = news
    const address = this.#registrar
    const registrar = address === undefined ? {} : { registrar: { account: trunkAccount(this.#trunk), address } }
    const { id: trunkId, owner_id: ownerId } = this.#trunk
    this.#options.onStatus({ trunkId, ownerId, registration, lastError, ...registrar })
  }

  /** Registers at the first available host. */
  async #register(): Promise<void> {
    const { health, log } = this.#options
    const hosts = health.order(hostsOf(this.#trunk))
    for (const [index, host] of hosts.entries()) {
      const asked = await this.#send(host, this.#state.expiresSeconds).catch(error => {
        log.warn({ err: error, trunk_id: this.#trunk.id }, 'sending REGISTER failed')
        return null
      })
      if (this.#over) {
        // The registration succeeded after stop, so it is removed again.
        if (this.#leaving && asked !== null && asked.res.status < 300) void this.#send(host, 0).catch(() => null)
        return
      }
      const there = asked !== null && asked.res.source_address !== ''
      if (there && asked.res.status !== 503) {
        health.recordAnswer(host)
        this.#answered(host, asked)
        return
      }
      health.recordFailure(host)
      if (index === hosts.length - 1) this.#refused(asked?.res ?? null, null)
    }
  }

  #answered(host: TrunkHost, { res, refused }: Asked): void {
    if (res.status < 200 || res.status > 299) {
      this.#refused(res, refused === null ? null : challengeWords(refused))
      return
    }
    this.#at = host
    this.#options.trunks.learn(host.host, res.source_address)
    this.#note(res.source_address)
    this.#feed({ type: 'accepted', expiresSeconds: grantedSeconds(res) ?? this.#state.expiresSeconds }, null)
  }

  #note(address: string | null): void {
    this.#registrar = address
    this.#options.trunks.noteRegistrar(this.#trunk, address)
  }

  #refused(res: IncomingResponse | null, message: string | null): void {
    const status = res?.status ?? 503
    if (REJECTIONS.has(status)) this.#note(null)
    this.#options.log.warn({ trunk_id: this.#trunk.id, sip_code: status }, 'REGISTER refused')
    const input = {
      type: 'refused',
      status,
      retryAfterSeconds: secondsIn(res?.get('Retry-After')),
      minExpiresSeconds: secondsIn(res?.get('Min-Expires')),
    } as const
    this.#feed(input, message ?? registrationWords(status, (res?.source_address ?? '') !== ''))
  }

  /** All requests of a registration share one Call-ID with a growing CSeq (§10.2.4). */
  #send(host: TrunkHost, expires: number): Promise<Asked> {
    const trunk = this.#trunk
    const user = accountUser(trunk) ?? ''
    const aor = `<${accountUri(trunk, user)}>`
    const headers = (): Record<string, string> => {
      this.#cseq += 1
      return {
        From: aor,
        To: aor,
        Contact: `<${contactUri(trunk.contact_user ?? user, host)}>;expires=${expires}`,
        'Call-ID': this.callId,
        CSeq: `${this.#cseq} REGISTER`,
        Expires: String(expires),
      }
    }
    const request = { method: 'REGISTER', headers, proxy: proxyUri(trunk) }
    return ask(this.#options.agent, trunkUri(host, null), request, this.#credentials)
  }
}

/**
 * Seconds granted (§10.2.4): `expires` of our own Contact in the answer, or of the message; null when absent, which
 * means as requested. Our Contact is the one that we sent, or, behind a NAT that the registrar corrects, the only one
 * of our user.
 */
export function grantedSeconds(res: Pick<IncomingResponse, 'get' | 'req'>): number | null {
  const sent = parseNameAddr(res.req.get('Contact') ?? '')?.uri ?? ''
  const contacts = splitOutside(res.get('Contact') ?? '', ',')
  const ofUser = contacts.filter(contact => userOf(contact) === userOf(sent))
  const ours = contacts.find(contact => samePlace(parseNameAddr(contact)?.uri ?? '', sent)) ?? soleOf(ofUser)
  const expires = parseNameAddr(ours ?? '')?.params.get('expires')
  return secondsIn(expires ?? undefined) ?? secondsIn(res.get('Expires'))
}

const soleOf = (contacts: readonly string[]): string | undefined => (contacts.length === 1 ? contacts[0] : undefined)

function samePlace(one: string, other: string): boolean {
  const [a, b] = [parseUri(one), parseUri(other)]
  if (a === null || b === null || !('host' in a) || !('host' in b)) return false
  const port = (uri: { port: number | null }): number => uri.port ?? 5060
  return a.user === b.user && a.host.toLowerCase() === b.host.toLowerCase() && port(a) === port(b)
}
