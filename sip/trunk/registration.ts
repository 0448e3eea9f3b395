import { randomUUID } from 'node:crypto'
import type { TrunkStatusEvent } from '../../media/contract/messages.ts'
import type { TrunkPlan } from '../../media/contract/plan.ts'
import type { Clock, Log } from '../../media/ports.ts'
import { splitOutside } from '../text/grammar.ts'
import { parseNameAddr } from '../text/uri.ts'
import { escapeUser, proxyUri, trunkUri, userOf } from './address.ts'
import { credentialsOf } from './dial.ts'
import type { Trunks } from './directory.ts'
import { verdictOf } from './outcome.ts'
import { type RegistrationInput, type RegistrationState, stepRegistration, unregistered } from './registration-plan.ts'
import type { Agent, IncomingResponse } from './srf.ts'

export type RegistrationStatus = {
  readonly trunkId: string
  readonly ownerId: string
  readonly registration: TrunkStatusEvent['registration']
  readonly lastError: string | null
}

export type RegistrarOptions = {
  readonly agent: Agent
  readonly trunks: Trunks
  readonly clock: Clock
  readonly log: Log
  /** Registering is one engine's business at a time; whoever holds the lease says yes. */
  mayRegister(trunkId: string): boolean
  onStatus(status: RegistrationStatus): void
}

const UNREGISTER_WAIT_MS = 2000

const registers = (trunk: TrunkPlan): boolean => trunk.mode !== 'ip' && trunk.username !== null

/** What a REGISTER is made of: when any of it changes, the trunk is registered anew. */
function identityOf(trunk: TrunkPlan): string {
  const { host, port, transport, username, password, realm, outbound_proxy: proxy } = trunk
  return JSON.stringify([host, port, transport, username, password, realm, proxy])
}

/** Keeps the trunks of mode `register` and `both` registered. */
export class Registrar {
  private readonly options: RegistrarOptions
  private readonly running = new Map<string, Registration>()
  private up = false

  constructor(options: RegistrarOptions) {
    this.options = options
  }

  /** The signalling server came or went. */
  connected(up: boolean): void {
    this.up = up
    if (!up) for (const registration of this.running.values()) registration.pause()
    if (!up) this.running.clear()
    this.sync()
  }

  /** Brings what runs into line with the snapshot and the leases. */
  sync(): void {
    if (!this.up) return
    const { trunks, mayRegister } = this.options
    const wanted = new Map(
      trunks
        .all()
        .filter(registers)
        .map(trunk => [trunk.id, trunk]),
    )
    for (const [id, registration] of this.running) {
      const trunk = wanted.get(id)
      if (trunk !== undefined && mayRegister(id) && identityOf(trunk) === registration.identity) continue
      this.running.delete(id)
      void registration.stop()
    }
    for (const [id, trunk] of wanted) {
      if (this.running.has(id) || !mayRegister(id)) continue
      const registration = new Registration(trunk, this.options)
      this.running.set(id, registration)
      registration.start()
    }
  }

  async close(): Promise<void> {
    const all = [...this.running.values()]
    this.running.clear()
    await Promise.all(all.map(registration => registration.stop()))
  }
}

class Registration {
  readonly identity: string
  private readonly trunk: TrunkPlan
  private readonly options: RegistrarOptions
  private readonly callId = randomUUID()
  private state: RegistrationState = unregistered
  private told = ''
  private cseq = 1
  private cancelTimer: () => void = () => {}
  private over = false

  constructor(trunk: TrunkPlan, options: RegistrarOptions) {
    this.trunk = trunk
    this.identity = identityOf(trunk)
    this.options = options
  }

  start(): void {
    this.feed({ type: 'start' }, null)
  }

  pause(): void {
    this.over = true
    this.cancelTimer()
  }

  async stop(): Promise<void> {
    if (this.over) return
    const { effect } = stepRegistration(this.state, { type: 'stop' }, this.options.clock.now(), 0)
    this.pause()
    this.tell('none', null)
    if (effect !== 'unregister') return
    await Promise.race([
      this.send(0).catch(() => null),
      new Promise<void>(resolve => {
        this.options.clock.after(UNREGISTER_WAIT_MS, resolve)
      }),
    ])
  }

  private feed(input: RegistrationInput, error: string | null): void {
    if (this.over) return
    const { clock } = this.options
    const { state, effect } = stepRegistration(this.state, input, clock.now(), Math.random())
    this.state = state
    this.cancelTimer()
    if (state.dueAtMs !== null) {
      this.cancelTimer = clock.after(Math.max(0, state.dueAtMs - clock.now()), () => this.feed({ type: 'due' }, null))
    }
    if (state.phase !== 'idle') this.tell(state.phase, error)
    if (effect === 'register') void this.register()
  }

  private tell(registration: RegistrationStatus['registration'], lastError: string | null): void {
    const news = `${registration} ${lastError}`
    if (news === this.told) return
    this.told = news
    this.options.onStatus({ trunkId: this.trunk.id, ownerId: this.trunk.owner_id, registration, lastError })
  }

  private async register(): Promise<void> {
    try {
      this.heard(await this.send(this.state.expiresSeconds))
    } catch (error) {
      this.options.log.warn({ err: error, trunk_id: this.trunk.id }, 'REGISTER could not be sent')
      const input = { type: 'refused', status: 503, retryAfterSeconds: null, minExpiresSeconds: null } as const
      this.feed(input, verdictOf(503, false).words)
    }
  }

  private heard(res: IncomingResponse): void {
    if (res.status >= 200 && res.status < 300) {
      this.options.trunks.learn(this.trunk.host, res.source_address)
      this.feed({ type: 'accepted', expiresSeconds: this.granted(res) }, null)
      return
    }
    const { words } = verdictOf(res.status, res.source_address !== '')
    this.options.log.warn({ trunk_id: this.trunk.id, sip_code: res.status }, 'REGISTER refused')
    const input = {
      type: 'refused',
      status: res.status,
      retryAfterSeconds: secondsIn(res.get('Retry-After')),
      minExpiresSeconds: secondsIn(res.get('Min-Expires')),
    } as const
    this.feed(input, words)
  }

  /** §10.2.4: expires of our own Contact, else of the message, else what we asked for. */
  private granted(res: IncomingResponse): number {
    const contacts = splitOutside(res.get('Contact') ?? '', ',')
    const ours = contacts.length === 1 ? contacts[0] : contacts.find(contact => userOf(contact) === this.trunk.username)
    const expires = parseNameAddr(ours ?? '')?.params.get('expires')
    return secondsIn(expires ?? undefined) ?? secondsIn(res.get('Expires')) ?? this.state.expiresSeconds
  }

  /** One Call-ID and a growing CSeq for all of this registration (§10.2.4); a challenge takes a second number. */
  private async send(expires: number): Promise<IncomingResponse> {
    const { trunk, cseq } = this
    this.cseq += 2
    const user = escapeUser(trunk.username ?? '')
    const transport = trunk.transport === 'udp' ? '' : `;transport=${trunk.transport}`
    const aor = trunkUri({ ...trunk, transport: 'udp', port: 5060 }, trunk.username).replace(/:5060$/, '')
    const proxy = proxyUri(trunk)
    const auth = credentialsOf(trunk)
    const req = await this.options.agent.request(trunkUri(trunk, null), {
      method: 'REGISTER',
      headers: {
        From: `<${aor}>`,
        To: `<${aor}>`,
        Contact: `<sip:${user}@localhost${transport}>;expires=${expires}`,
        'Call-ID': this.callId,
        CSeq: `${cseq} REGISTER`,
        Expires: String(expires),
      },
      ...(proxy === null ? {} : { proxy }),
      ...(auth === null ? {} : { auth }),
    })
    return new Promise(resolve => req.on('response', res => resolve(res)))
  }
}

function secondsIn(text: string | undefined): number | null {
  const digits = /^\s*(\d{1,9})/.exec(text ?? '')?.[1]
  return digits === undefined ? null : Number(digits)
}
