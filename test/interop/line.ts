/** A SIP server with an engine's edge, and the operations that the cells need. */

import type { ChildProcess } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../infra/embedded/ports.ts'
import type { CallPlan, TrunkPlan } from '../../media/contract/plan.ts'
import { SOFTPHONE_REALM, type SoftphonePlan, type SoftphoneState } from '../../media/contract/softphones.ts'
import type { DialResult } from '../../media/ports/dialer.ts'
import type { InboundOffer } from '../../media/ports/inbound.ts'
import type { Leg } from '../../media/ports/leg.ts'
import type { Softphones } from '../../media/ports/trunks.ts'
import { dtlsIdentity } from '../../media/rtp/dtls-crypto.ts'
import { createPacer } from '../../media/rtp/pacer.ts'
import { openRtp, type RtpSession } from '../../media/rtp/session.ts'
import { selfSigned } from '../../sip/server/self-signed.ts'
import type { Timers } from '../../sip/server/transaction.ts'
import { testPair } from '../sip/server/pair.ts'
import { Bench, clock, MemoryLog } from '../sip/trunk/bench.ts'
import { ended } from '../support/stack.ts'

export const OUR_NUMBER = '+12025550100'
export const THEIR_NUMBER = '+12025550199'
const MEDIA_TIMEOUT_MS = 3000
const PATIENCE_MS = 8000
const HOST = '127.0.0.1'

export type Transport = TrunkPlan['transport']

/** Certificate and key of TLS peers, made once, because that runs openssl. */
export const pair = testPair('IP:127.0.0.1')

/** One that may register and call by its name. */
export const SOFTPHONE = { username: 'phone-abcdefgh', password: 'open-sesame-7' }

/** Softphones as Redis would keep them. */
class Book implements Softphones {
  readonly plan: SoftphonePlan
  readonly #states = new Map<string, SoftphoneState>()

  constructor() {
    const ha1 = (algorithm: string): string =>
      createHash(algorithm).update(`${SOFTPHONE.username}:${SOFTPHONE_REALM}:${SOFTPHONE.password}`).digest('hex')
    const { username } = SOFTPHONE
    this.plan = { id: randomUUID(), owner_id: randomUUID(), username, ha1: { md5: ha1('md5'), sha256: ha1('sha256') } }
  }

  any = (): boolean => true
  find = async (username: string): Promise<SoftphonePlan | null> => (username === SOFTPHONE.username ? this.plan : null)
  state = async (id: string): Promise<SoftphoneState | null> => this.#states.get(id) ?? null
  change: Softphones['change'] = async (id, next) => {
    const after = next(this.#states.get(id) ?? null)
    if (after !== null) this.#states.set(id, after)
  }
  countUp = async (): Promise<boolean> => true
  banned = (): string[] => []
  ban = async (): Promise<void> => {}
  onChange = () => () => {}
  isRegistered = (): boolean => (this.#states.get(this.plan.id)?.contacts.length ?? 0) > 0
}

export interface Dialed {
  result: Promise<DialResult>
  abort(): void
  /** Times of the ringing responses that it received. */
  rings: number[]
}

/** Also the place where programs are started, as `test/support` wants it. */
export class Line {
  readonly bench: Bench
  readonly book: Book
  readonly folder: string
  readonly sip: { host: string; port: number }
  /** RTP ports of peers whose ports can be configured. */
  readonly rtp = { min: 15_000, max: 17_999 }
  readonly ports: Record<Transport, number>
  /** RTP sessions of the calls so far, in the order of their start. */
  readonly sessions: RtpSession[]
  readonly #children = new Set<ChildProcess>()
  readonly #closers: (() => unknown)[] = []

  private constructor(parts: Pick<Line, 'bench' | 'book' | 'ports' | 'sessions'>) {
    this.bench = parts.bench
    this.book = parts.book
    this.ports = parts.ports
    this.sessions = parts.sessions
    this.sip = { host: HOST, port: this.ports.udp }
    this.folder = mkdtempSync(join(tmpdir(), 'interop-'))
  }

  static async open(timers: Partial<Timers> = {}): Promise<Line> {
    const book = new Book()
    const sessions: RtpSession[] = []
    const port = await freePort(20_000 + Math.floor(Math.random() * 8000), HOST, true)
    const ports = { udp: port, tcp: port, tls: await freePort(port + 1, HOST) }
    const identity = dtlsIdentity(selfSigned(Date.now()))
    const log = new MemoryLog()
    const pacer = createPacer(clock)
    const open = async (): Promise<RtpSession> => {
      const rtp = await openRtp({ host: HOST, ports: { min: 0, max: 0 }, clock, pacer, log, identity })
      sessions.push(rtp)
      return rtp
    }
    const listen = (['udp', 'tcp', 'tls'] as const).map(protocol => ({ protocol, host: HOST, port: ports[protocol] }))
    const bench = await Bench.start(
      { listen, tls: { ...pair, ca: [pair.cert] }, timers },
      {
        media: { open, advertise: null, fingerprint: identity.fingerprint },
        mediaTimeoutMs: MEDIA_TIMEOUT_MS,
        softphones: { directory: book, secret: 'of the installation' },
      },
    )
    return new Line({ bench, book, ports, sessions })
  }

  /** URI of our number. */
  uri(transport: Transport, user = OUR_NUMBER): string {
    return `sip:${user}@${HOST}:${this.ports[transport]}${transport === 'udp' ? '' : `;transport=${transport}`}`
  }

  dial(over: Partial<TrunkPlan>, plan: Partial<CallPlan> = {}): Dialed {
    const { result, abort, rings } = this.bench.dial({ port: over.port ?? 0 } as never, over, plan)
    return { result, rings, abort: () => abort.abort() }
  }

  /** The next call that comes. */
  async offer(): Promise<InboundOffer> {
    const late = new AbortController()
    const timer = sleep(PATIENCE_MS, null, { signal: late.signal }).then(() => {
      throw new Error(`waited ${PATIENCE_MS} ms for a call to come\n${this.bench.log.lines.slice(-5).join('\n')}`)
    })
    timer.catch(() => {})
    try {
      return await Promise.race([this.bench.offer(), timer])
    } finally {
      late.abort()
    }
  }

  keep(child: ChildProcess): void {
    this.#children.add(child)
  }

  onStop(run: () => unknown): void {
    this.#closers.push(run)
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close()
    for (const child of this.#children) await ended(child)
    await this.bench.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export function legOf(result: DialResult): Leg {
  if (!result.ok) throw new Error(`no call: ${result.failure.reason} ${result.failure.sipCode ?? ''}`)
  return result.leg
}

export async function answered(offer: InboundOffer): Promise<Leg> {
  const leg = await offer.answer()
  if (leg === null) throw new Error('the call that came could not be answered')
  return leg
}
