/** A phone that registers with us, at the level of SIP messages. */
import { createHash, randomUUID } from 'node:crypto'
import type { SoftphonePlan } from '../../../media/contract/softphones.ts'
import { listOf, type SipResponse } from '../../../sip/text/message.ts'
import { authorization, parseChallenges } from '../../../sip/trunk/requests/digest.ts'
import type { Peer } from '../peer.ts'

export const PASSWORD = 'k7mn-2qxe-vxam-pme9'
export const USER = 'phone-abcdefgh'
let branches = 0

export function planOf(username: string, password = PASSWORD): SoftphonePlan {
  const text = `${username}:parley:${password}`
  const hash = (name: string) => createHash(name).update(text).digest('hex')
  return { id: randomUUID(), owner_id: randomUUID(), username, ha1: { md5: hash('md5'), sha256: hash('sha256') } }
}

export class Phone {
  readonly peer: Peer
  readonly callId = randomUUID()
  readonly user: string
  #cseq = 0
  #nonceCount = 0
  constructor(peer: Peer, user = USER) {
    this.peer = peer
    this.user = user
  }

  contact(expires = 300): string {
    return `Contact: <${this.uri}>;expires=${expires}`
  }
  get uri(): string {
    const { port, transport } = this.peer
    return `sip:${this.user}@127.0.0.1:${port}${transport === 'TCP' ? ';transport=tcp' : ''}`
  }

  ask(method: string, extra: readonly string[] = [], to = 'sip:127.0.0.1', body = ''): void {
    this.#cseq += 1
    branches += 1
    this.peer.send(
      [
        `${method} ${to} SIP/2.0`,
        `Via: SIP/2.0/${this.peer.transport} 127.0.0.1:${this.peer.port};rport;branch=z9hG4bK-p${process.pid}-${branches}`,
        'Max-Forwards: 70',
        `From: <sip:${this.user}@127.0.0.1>;tag=p`,
        `To: <${method === 'REGISTER' ? `sip:${this.user}@127.0.0.1` : to}>`,
        `Call-ID: ${this.callId}`,
        `CSeq: ${this.#cseq} ${method}`,
        'User-Agent: Test/1',
        ...extra,
      ],
      body,
    )
  }

  /** The answer to a challenge. */
  proof(challenged: SipResponse, over: { password?: string; algorithm?: string; method?: string; uri?: string } = {}) {
    const all = listOf(challenged, 'WWW-Authenticate').length
    if (all === 0) throw new Error('no challenge')
    const offered = challenged.headers
      .filter(([name]) => name === 'WWW-Authenticate')
      .flatMap(([, value]) => parseChallenges(value))
    const challenge = offered.find(({ algorithm }) => algorithm === (over.algorithm ?? 'SHA-256'))!
    this.#nonceCount += 1
    const input = {
      username: this.user,
      password: over.password ?? PASSWORD,
      cnonce: 'abc',
      nonceCount: this.#nonceCount,
    }
    const { method = 'REGISTER', uri = 'sip:127.0.0.1' } = over
    return `Authorization: ${authorization(challenge, { ...input, method, uri })}`
  }

  async register(extra: readonly string[] = [this.contact()], algorithm = 'SHA-256'): Promise<SipResponse> {
    this.ask('REGISTER', extra)
    const challenged = await this.peer.response(401)
    this.#nonceCount = 0
    this.ask('REGISTER', [...extra, this.proof(challenged, { algorithm })])
    return this.peer.next((m): m is SipResponse => m.kind === 'response' && m.status !== 401)
  }
}
