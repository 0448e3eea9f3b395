/** The registrar of softphones (RFC 3261 §10.3), and the authentication of their calls. */
import { createHmac, randomBytes } from 'node:crypto'
import type { SoftphoneContact, SoftphonePlan, SoftphoneState } from '../../../media/contract/softphones.ts'
import { SOFTPHONE_USERNAME } from '../../../media/contract/softphones.ts'
import type { Softphones } from '../../../media/ports/trunks.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import { networkOf } from '../../text/source-network.ts'
import type { PhoneEvent, SipMeters } from '../requests/meters.ts'
import { RETRY_SOON } from '../requests/outcome.ts'
import { type IncomingRequest, lines, type Reply } from '../requests/srf.ts'
import { userOf } from '../routing/address.ts'
import { contactHeader, liveContacts, REGISTER_LIMITS, type Registering, register } from './contacts.ts'
import { challenges, isProven, judgeNonce, makeNonce, NONCE_MS, type Proof, readProof } from './digest.ts'
import { MOST_POINTS, MOST_WRONG, POINTS, Suspects } from './suspects.ts'

export interface SoftphoneRegistrarOptions {
  softphones: Softphones
  /** The installation's secret: nonces of one engine are valid at the others. */
  secret: string
  clock: Clock
  log: Log
  meters?: Pick<SipMeters, 'phones'>
  /** Addresses that are never banned: those of this machine. */
  isTrusted(address: string): boolean
}

/** Milliseconds that a ban lasts. */
const BAN_MS = 900_000
/**
 * Milliseconds to wait for Redis: a phone retransmits its REGISTER and gives up after 32 s, so a later answer is
 * useless.
 */
const REDIS_MS = 3000
/** Challenges per second for all strangers together, so that a flood is not reflected to others. */
const MOST_CHALLENGES = 300

type AuthResult =
  | { ok: true; softphone: SoftphonePlan }
  | { ok: false; status: 401 | 403 | 503; headers: Record<string, string> }

export class SoftphoneRegistrar {
  readonly #options: SoftphoneRegistrarOptions
  readonly #secret: Buffer
  readonly #suspects = new Suspects()
  /** Random hashes used when the user does not exist, so that the answer takes equally long. */
  readonly #nobody = { md5: randomBytes(16).toString('hex'), sha256: randomBytes(32).toString('hex') }
  #budget = { second: 0, spent: 0 }

  constructor(options: SoftphoneRegistrarOptions) {
    this.#options = options
    this.#secret = createHmac('sha256', options.secret).update('parley softphone nonces').digest()
  }

  /** True when an INVITE needs softphone authentication: it comes from no trunk, or its From claims to be a softphone. */
  concerns(req: IncomingRequest, fromTrunk: boolean): boolean {
    return this.#options.softphones.any() && (!fromTrunk || SOFTPHONE_USERNAME.test(userOf(req.get('From')) ?? ''))
  }

  /** Answers a REGISTER. Never rejects. */
  async onRegister(req: IncomingRequest, res: Reply): Promise<void> {
    try {
      await this.#answer(req, res)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'softphone registration failed')
      this.#count('unavailable')
      if (!res.finalResponseSent) res.send(503, { headers: RETRY_SOON })
    }
  }

  async #answer(req: IncomingRequest, res: Reply): Promise<void> {
    const result = await this.#judge(req)
    if (!result.ok) {
      res.send(result.status, { headers: result.headers })
      return
    }
    const { id, username } = result.softphone
    const request = registering(req, this.#options.clock.wall())
    // §10.3 step 5: a user may register only itself.
    if (userOf(req.get('To')) !== username) return res.send(403)
    // A Path would send calls where a stranger chooses (RFC 3327); without it they go to the source of the REGISTER.
    if (/(?:^|[\s,])path(?:$|[\s,])/i.test(req.get('Require') ?? '')) {
      return res.send(420, { headers: { Unsupported: 'path' } })
    }
    if (request === null) return res.send(400)
    const done = await this.#patient(this.#store(id, request))
    if (done.ok) {
      const contacts = liveContacts(done.state, request.atMs)
      const bound = contacts.length === 0 ? {} : { Contact: contactHeader(contacts, request.atMs) }
      res.send(200, { headers: { ...bound, Date: new Date(request.atMs).toUTCString() } })
      this.#options.log.info({ softphone_id: id, contacts: contacts.length }, 'softphone registered')
      this.#count('registered')
      return
    }
    this.#count('refused')
    res.send(done.status, {
      headers: done.status === 423 ? { 'Min-Expires': String(REGISTER_LIMITS.shortestSeconds) } : {},
    })
  }

  async #store(id: string, request: Registering): Promise<ReturnType<typeof register>> {
    let outcome: ReturnType<typeof register> = { ok: false, status: 500 }
    await this.#options.softphones.change(id, (before: SoftphoneState | null) => {
      outcome = register(before, request)
      return outcome.ok ? outcome.state : null
    })
    return outcome
  }

  /** Authenticates a request. Never rejects. */
  async prove(req: IncomingRequest): Promise<AuthResult> {
    try {
      return await this.#judge(req)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'softphone authentication failed')
      this.#count('unavailable')
      return { ok: false, status: 503, headers: RETRY_SOON }
    }
  }

  /** Cheap until a valid nonce of ours comes back: until then nothing is looked up, and only points are stored. */
  async #judge(req: IncomingRequest): Promise<AuthResult> {
    const { softphones, clock } = this.#options
    const network = networkOf(req.source_address)
    // Bans from other engines, or sources admitted by a server without our list. Not skipped when there are no
    // softphones: the first one may arrive here later than its owner types the password.
    if (softphones.banned().includes(network) && !this.#options.isTrusted(req.source_address)) {
      this.#count('banned')
      return refused(403)
    }
    const proof = readProof(req.get('Authorization') ?? req.get('Proxy-Authorization'))
    if (proof === null) return this.#challenge(req, false, POINTS.unproven)
    switch (judgeNonce(this.#secret, proof.nonce, clock.wall())) {
      case 'foreign':
        return this.#challenge(req, false, POINTS.nonsense)
      case 'stale':
        return this.#challenge(req, true, POINTS.unproven)
      case 'good':
        return this.#check(req, proof, network)
    }
  }

  async #check(req: IncomingRequest, proof: Proof, network: string): Promise<AuthResult> {
    const { softphones } = this.#options
    const { username, nonce, nonceCount } = proof
    const found = SOFTPHONE_USERNAME.test(username) ? await this.#patient(softphones.find(username)) : null
    // A proxy may rewrite the URI, but not its user.
    const right = isProven(proof, found?.ha1 ?? this.#nobody, req.method) && userOf(proof.uri) === userOf(req.uri)
    if (found === null || !right) {
      this.#options.log.info(
        { source: req.source_address, softphone_id: found?.id ?? null },
        'softphone sent wrong password',
      )
      this.#count('wrong_password')
      return this.#wrong(req, username)
    }
    if (!(await this.#patient(softphones.countUp(nonce, nonceCount, NONCE_MS * 2)))) {
      return this.#challenge(req, true, POINTS.unproven)
    }
    this.#suspects.clear(network)
    return { ok: true, softphone: found }
  }

  /**
   * The right password is always accepted: a lock of the name would let guessers keep its telephone out, and 80 random
   * bits need none. While a name is guessed at, from however many networks, wrong passwords are not answered as such.
   */
  #wrong(req: IncomingRequest, username: string): AuthResult {
    const isGuessed = this.#suspects.add(`name ${username}`, POINTS.wrong, this.#options.clock.now()) > MOST_WRONG
    const challenge = this.#challenge(req, false, POINTS.wrong)
    if (!isGuessed || (!challenge.ok && challenge.status === 403)) return challenge
    this.#count('guessed_name')
    return refused(503)
  }

  #challenge(req: IncomingRequest, stale: boolean, points: number): AuthResult {
    const { clock, softphones, log } = this.#options
    const [network, address] = [networkOf(req.source_address), req.source_address]
    const total = this.#suspects.add(network, points, clock.now())
    if (total >= MOST_POINTS && !this.#options.isTrusted(address)) {
      log.warn({ source: address }, 'banned source after repeated failed authentication')
      this.#count('shut_out')
      void softphones.ban(network, BAN_MS).catch(() => {})
      return refused(403)
    }
    if (!this.#mayChallenge()) {
      this.#count('too_many_challenges')
      return refused(503)
    }
    this.#count('challenged')
    return { ok: false, status: 401, headers: lines('WWW-Authenticate', this.#asks(req, stale)) }
  }

  /** Refuses strangers' requests other than REGISTER and INVITE. */
  refuse(req: IncomingRequest, res: Reply): void {
    const result = this.#challenge(req, false, POINTS.unproven)
    res.send(result.ok || result.status === 401 ? 403 : result.status)
  }

  #asks(req: IncomingRequest, stale: boolean): string[] {
    return challenges(makeNonce(this.#secret, this.#options.clock.wall()), stale, req.get('User-Agent'))
  }

  #count(event: PhoneEvent): void {
    this.#options.meters?.phones.add({ event })
  }

  #mayChallenge(): boolean {
    const second = Math.floor(this.#options.clock.now() / 1000)
    if (second !== this.#budget.second) this.#budget = { second, spent: 0 }
    this.#budget.spent += 1
    return this.#budget.spent <= MOST_CHALLENGES
  }

  #patient<T>(asked: Promise<T>): Promise<T> {
    const { clock } = this.#options
    return new Promise((resolve, reject) => {
      const cancel = clock.after(REDIS_MS, () => reject(new Error('Redis did not answer in time')))
      asked.then(resolve, reject).finally(cancel)
    })
  }
}

const refused = (status: 403 | 503): AuthResult => ({ ok: false, status, headers: status === 503 ? RETRY_SOON : {} })

/** Returns null for a malformed request. */
function registering(req: IncomingRequest, atMs: number): Registering | null {
  const cseq = Number.parseInt(req.get('CSeq') ?? '', 10)
  const callId = req.get('Call-ID')
  if (!Number.isSafeInteger(cseq) || callId === undefined) return null
  return {
    contact: req.get('Contact') ?? null,
    expires: req.get('Expires') ?? null,
    userAgent: req.get('User-Agent') ?? null,
    callId,
    cseq,
    atMs,
    host: req.source_address,
    port: req.source_port ?? 5060,
    transport: transportOf(req.protocol),
  }
}

/** WebSocket transports, which drachtio may support, are not used for softphones. */
function transportOf(protocol: string | undefined): SoftphoneContact['transport'] {
  return protocol === 'tcp' || protocol === 'tls' ? protocol : 'udp'
}
