/** A trunk's credentials: answers challenges and counts nonces. */
import { randomBytes } from 'node:crypto'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import { authorization, type Challenge, nextNonce, parseChallenges, strongest } from './digest.ts'

export type Account = {
  readonly username: string
  readonly password: string
  /** Answers only challenges of this realm; null answers any. */
  readonly realm: string | null
}

/** The result of a challenge: `answer` repeats the request with `Credentials.headers`, anything else is final. */
export type ChallengeResult = 'answer' | 'rejected' | 'other_realm' | 'unsupported'

type Challenging = { readonly status: number; get(name: string): string | undefined }
type Name = 'Authorization' | 'Proxy-Authorization'
type Held = { readonly challenge: Challenge; readonly cnonce: string; used: number }

const makeCnonce = (): string => randomBytes(12).toString('hex')

export const isChallenge = ({ status }: { readonly status: number }): boolean => status === 401 || status === 407

export function accountOf({ username, password, realm }: TrunkPlan): Account | null {
  return username === null || password === null ? null : { username, password, realm: realm || null }
}

/** Lives as long as its nonces may be used: for a registration, or a call. */
export class Credentials {
  private readonly account: Account
  private readonly cnonce: () => string
  private readonly held = new Map<Name, Held>()

  constructor(account: Account, cnonce: () => string = makeCnonce) {
    this.account = account
    this.cnonce = cnonce
  }

  /** Headers for the next request; empty before the first challenge. */
  headers(method: string, uri: string): Record<string, string> {
    const { username, password } = this.account
    return Object.fromEntries(
      [...this.held].map(([name, held]) => {
        held.used += 1
        const { cnonce, used: nonceCount } = held
        return [name, authorization(held.challenge, { username, password, method, uri, cnonce, nonceCount })]
      }),
    )
  }

  /** Starts the exchange of one request and its repetitions. */
  exchange(): Exchange {
    return new Exchange(this)
  }

  /** Used only by `Exchange`. */
  choose(res: Challenging): { readonly name: Name; readonly challenge: Challenge } | ChallengeResult {
    const name = res.status === 407 ? 'Proxy-Authorization' : 'Authorization'
    const header = res.get(res.status === 407 ? 'Proxy-Authenticate' : 'WWW-Authenticate')
    const challenges = parseChallenges(header ?? '')
    if (challenges.length === 0) return 'unsupported'
    const { realm } = this.account
    const ours = challenges.filter(challenge => realm === null || challenge.realm === realm)
    if (ours.length === 0) return 'other_realm'
    const challenge = strongest(ours)
    return challenge === null ? 'unsupported' : { name, challenge }
  }

  hold(name: Name, challenge: Challenge): void {
    const same = this.held.get(name)
    if (same?.challenge.nonce === challenge.nonce && same.challenge.algorithm === challenge.algorithm) return
    this.held.set(name, { challenge, cnonce: this.cnonce(), used: 0 })
  }

  /** A response other than a challenge may carry the nonce for the next request (RFC 7616 §3.5). */
  accepted(res: Challenging): void {
    for (const [name, info] of [
      ['Authorization', res.get('Authentication-Info')],
      ['Proxy-Authorization', res.get('Proxy-Authentication-Info')],
    ] as const) {
      const nonce = nextNonce(info ?? '')
      const held = this.held.get(name)
      if (nonce !== null && held !== undefined) this.hold(name, { ...held.challenge, nonce })
    }
  }
}

/** Decides for each challenge whether to answer it: once, and once more when the nonce was only stale. */
export class Exchange {
  private readonly credentials: Credentials
  private readonly answered = new Map<string, number>()

  constructor(credentials: Credentials) {
    this.credentials = credentials
  }

  challenged(res: Challenging): ChallengeResult {
    const chosen = this.credentials.choose(res)
    if (typeof chosen === 'string') return chosen
    const { name, challenge } = chosen
    const key = `${name} ${challenge.realm}`
    const times = this.answered.get(key) ?? 0
    if (times > 1 || (times === 1 && !challenge.stale)) return 'rejected'
    this.answered.set(key, times + 1)
    this.credentials.hold(name, challenge)
    return 'answer'
  }
}
