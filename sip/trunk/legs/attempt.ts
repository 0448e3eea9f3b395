import type { DialRateLimiter } from '../../../media/bus/dial-rate.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { DialFailure, DialOptions, DialResult } from '../../../media/ports/dialer.ts'
import type { RtpSession } from '../../../media/rtp/session.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import { type LocalAudio, makeOffer, readAnswer, reasonOf, withRequiredEncryption } from '../../text/offer.ts'
import { challengerUri } from '../requests/ask.ts'
import { type Credentials, type Exchange, isChallenge } from '../requests/credentials.ts'
import type { SipMeters } from '../requests/meters.ts'
import type { OpenCall } from '../requests/open-calls.ts'
import { challengeWords, type DialOutcome, outcomeOf, secondsIn, unansweredOutcome } from '../requests/outcome.ts'
import { type Agent, type IncomingResponse, responseOf, type SentRequest, type SrfDialog } from '../requests/srf.ts'
import { type HostHealth, sameHost } from '../routing/hosts.ts'
import { callHeaders, nextHop, requestUri } from '../routing/identity.ts'
import { hostOfHop, type NextHop, type NextHopResolver } from '../routing/next-hop.ts'
import { NO_RATE_TOKEN, takeRateToken } from '../routing/rate-token.ts'
import type { Traces } from '../trace/trace.ts'
import { SipLeg } from './leg.ts'
import { type MediaOptions, rtpParams, sampleRateOf } from './media.ts'

export type Tracked = { lost(): void }

/** Shared by outbound and inbound calls. */
export type TrunkContext = {
  readonly agent: Agent
  readonly media: MediaOptions
  readonly clock: Clock
  readonly log: Log
  readonly mediaTimeoutMs: number
  readonly referSilenceMs: number
  readonly health: HostHealth
  readonly traces: Traces
  readonly meters: SipMeters
  readonly nextHops: NextHopResolver
  /** Each new INVITE takes a rate token; undefined disables pacing. */
  readonly pace: DialRateLimiter | undefined
  /** Unanswered inbound calls, by Call-ID. */
  readonly unanswered: Map<string, AbortController>
  /** Sends OPTIONS to a host at once and records the result in `health`. */
  ask(trunk: TrunkPlan, hop: NextHop): void
  /** Registers `thing` until the returned function is called; `lost` runs when the signalling server is lost. */
  track(thing: Tracked): () => void
  /** Persists an open call, which the server would keep if this process died, until the returned function is called. */
  keep(call: OpenCall): () => void
}

export type AttemptOutcome = {
  readonly result: DialResult
  /** True when another host may succeed. */
  readonly next: boolean
  /** True when the host sent any response. */
  readonly answered: boolean
  readonly retryAfterMs: number | null
}

type Parts = {
  readonly trunk: TrunkPlan
  readonly hop: NextHop
  /** Equal for every host (RFC 3263 §4.3): a carrier sees all of them as one attempt. */
  readonly callId: string
  /** True when another host is left to try. */
  readonly more: boolean
  readonly options: DialOptions
  readonly rtp: RtpSession
  readonly local: LocalAudio
  readonly credentials: Credentials | null
  /** Monotonic time at which the ring timeout expires. */
  readonly endAtMs: number
}

export const ALLOW = 'INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, NOTIFY'
/** Milliseconds that a CANCEL may stay unanswered before the dial ends without the final response. */
const CANCEL_WAIT_MS = 5000
/** Milliseconds of silence after which a host is probed with OPTIONS, when another host is left. */
const SILENCE_MS = 2000
/**
 * Milliseconds before the next of several servers behind one name is tried (RFC 3263 §4.3): 64*T1 would outlast the
 * caller.
 */
const PATIENCE_MS = 4000

export const CANCELED: DialOutcome = {
  status: 'canceled',
  reason: 'canceled_by_api',
  message: 'The attempt was canceled.',
}
const UNUSABLE = 'The carrier’s answer is not usable.'
const SERVER_LOST: DialOutcome = {
  status: 'failed',
  reason: 'internal_error',
  message: 'The signalling server is not connected.',
}

export function trackLeg(context: TrunkContext, leg: SipLeg): void {
  const untrack = context.track(leg)
  const release = context.keep({ endedBy: 'BYE', id: leg.dialogId })
  void leg.ended.then(() => {
    untrack()
    release()
  })
}

export function failure(outcome: DialOutcome, sipCode: number | null): { ok: false; failure: DialFailure } {
  return { ok: false, failure: { status: outcome.status, reason: outcome.reason, sipCode } }
}

/** One INVITE to one host, repeated after a challenge, until it becomes a leg or fails. */
export class DialAttempt {
  private readonly context: TrunkContext
  private readonly parts: Parts
  private exchange: Exchange | null
  private local: LocalAudio
  private sent: SentRequest | null = null
  private canceling: 'abort' | 'ring_timeout' | null = null
  /** A response from the network has arrived. */
  private heard = false
  private rung = false
  /** The peer's latest description before the answer. */
  private described: string | null = null
  private settled = false
  /** Called once this INVITE needs no CANCEL any more. */
  private release: () => void = () => {}
  private settle: (outcome: AttemptOutcome) => void = () => {}
  private readonly cleanups: (() => void)[] = []

  constructor(context: TrunkContext, parts: Parts) {
    this.context = context
    this.parts = parts
    parts.rtp.trust(hostOfHop(parts.hop).host)
    this.exchange = parts.credentials?.exchange() ?? null
    this.local = parts.local
  }

  run(): Promise<AttemptOutcome> {
    const { clock } = this.context
    const { options, endAtMs } = this.parts
    return new Promise(resolve => {
      this.settle = resolve
      const onAbort = (): void => this.cancel('abort')
      options.signal.addEventListener('abort', onAbort, { once: true })
      this.cleanups.push(
        () => options.signal.removeEventListener('abort', onAbort),
        clock.after(Math.max(0, endAtMs - clock.now()), () => this.cancel('ring_timeout')),
        this.context.track({ lost: () => this.finish(failure(SERVER_LOST, null)) }),
      )
      if (this.parts.more) this.watchSilence()
      this.invite({}, nextHop(this.parts.trunk, this.parts.hop, options.plan.to))
    })
  }

  private invite(again: Record<string, string>, proxy: string | null): void {
    const { trunk, options } = this.parts
    const { host } = this.parts.hop
    const { plan, divertedFrom } = options
    const call = {
      headers: {
        ...callHeaders(trunk, host, { from: plan.from, to: plan.to, divertedFrom }),
        'Call-ID': this.parts.callId,
        Allow: ALLOW,
        'Content-Type': 'application/sdp',
        ...again,
      },
      localSdp: makeOffer(this.local),
      ...(proxy === null ? {} : { proxy }),
    }
    const progress = {
      cbRequest: (_error: Error | null, req?: SentRequest): void => this.onSent(req),
      cbProvisional: (res: IncomingResponse): void => this.onProvisional(res),
    }
    try {
      this.context.agent.createUAC(requestUri(trunk, host, plan.to), call, progress, (error, dialog) => {
        if (dialog === undefined) this.onFailed(error)
        else this.onAnswered(dialog)
      })
    } catch (error) {
      // drachtio-srf throws when its connection is gone.
      this.context.log.warn({ err: error }, 'sending INVITE failed')
      this.finish(failure(SERVER_LOST, null))
    }
  }

  private finish(result: DialResult, next = false, retryAfterMs: number | null = null): void {
    if (this.settled) return
    this.settled = true
    this.release()
    for (const cleanup of this.cleanups) cleanup()
    this.settle({ result, next, answered: this.heard, retryAfterMs })
  }

  /** Gives up a host that used to answer OPTIONS and now does not. A CANCEL follows in case the host recovers. */
  private watchSilence(): void {
    const { health, clock } = this.context
    const { trunk, hop } = this.parts
    this.cleanups.push(
      clock.after(SILENCE_MS, () => {
        if (!this.heard) this.context.ask(trunk, hop)
      }),
      health.onSilence(silent => {
        if (sameHost(silent, hostOfHop(hop))) this.giveUp()
      }),
    )
    if (hop.at !== null) this.cleanups.push(clock.after(PATIENCE_MS, () => this.giveUp()))
  }

  private giveUp(): void {
    if (this.heard || this.canceling !== null) return
    this.finish(failure(outcomeOf(408, false), null), true)
    this.sendCancel()
  }

  private onSent(req: SentRequest | undefined): void {
    if (req === undefined) return
    this.sent = req
    this.context.traces.bind(req.get('Call-ID'), this.parts.options.plan.call_id, this.parts.trunk.id)
    this.release()
    if (!this.settled) this.release = this.context.keep({ endedBy: 'CANCEL', id: req.stackTxnId })
    if (this.canceling !== null || this.settled) this.sendCancel()
  }

  private onProvisional(res: IncomingResponse): void {
    this.heard = true
    this.parts.rtp.trust(res.source_address)
    if (this.settled || this.canceling !== null) return
    if (res.status !== 180 && res.status !== 183) return
    if (res.body && res.body !== this.described) this.hearEarly(res.body)
    if (this.rung) return
    this.rung = true
    this.parts.options.onRinging()
  }

  /** Early media: configures RTP before the answer, so that the peer's packets are not rejected as an intruder's. */
  private hearEarly(description: string): void {
    const early = readAnswer(description, this.local)
    if (!early.ok) return
    const { rtp, options } = this.parts
    const { onEarlyMedia } = options
    rtp.configure(rtpParams(early.audio))
    // When several phones ring, the one that sent the latest description is heard.
    if (onEarlyMedia && this.described === null) {
      const rate = sampleRateOf(early.audio, this.local)
      rtp.listen(frame => {
        if (!this.settled) onEarlyMedia(frame, rate)
      }, rate)
    }
    this.described = description
  }

  private cancel(why: 'abort' | 'ring_timeout'): void {
    if (this.settled || this.canceling !== null) return
    this.canceling = why
    this.sendCancel()
    this.cleanups.push(this.context.clock.after(CANCEL_WAIT_MS, () => this.finish(this.canceledResult(null))))
  }

  private sendCancel(): void {
    this.sent?.cancel(error => {
      // Too late: the final response is on its way and decides.
      if (error) this.context.log.debug({}, 'CANCEL was not sent')
    })
  }

  private canceledResult(sipCode: number | null): DialResult {
    return failure(this.canceling === 'abort' ? CANCELED : unansweredOutcome(this.heard), sipCode)
  }

  private onAnswered(dialog: SrfDialog): void {
    this.heard = true
    // CANCEL and 200 crossed, or the caller gave up: drachtio-srf has sent the ACK, and we send the BYE.
    if (this.canceling !== null || this.settled) {
      void dialog.destroy().catch(() => {})
      this.finish(this.canceledResult(200))
      return
    }
    const { rtp, trunk, credentials, options } = this.parts
    const { local } = this
    const answer = readAnswer(dialog.remote.sdp ?? '', local)
    if (!answer.ok) {
      void dialog.destroy().catch(() => {})
      this.context.log.info({ trunk_id: trunk.id, code: answer.code }, 'SDP answer from carrier is not usable')
      this.finish(failure({ status: 'failed', reason: reasonOf(answer.code), message: UNUSABLE }, 200))
      return
    }
    const { clock, log, mediaTimeoutMs, referSilenceMs } = this.context
    const { audio } = answer
    const own = options.plan.from
    // A softphone leg has no carrier that could transfer the call.
    const line = options.plan.trunk_id === null ? null : trunk
    const bounds = { mediaTimeoutMs, referSilenceMs }
    const leg = new SipLeg({ dialog, rtp, local, audio, clock, log, ...bounds, trunk: line, credentials, own })
    trackLeg(this.context, leg)
    this.finish({ ok: true, leg })
  }

  private onFailed(error: unknown): void {
    if (this.settled) return
    const response = responseOf(error)
    if (response === null) {
      this.context.log.warn({ err: error, trunk_id: this.parts.trunk.id }, 'signalling server rejected INVITE')
      this.finish(failure(outcomeOf(503, false), null), true)
      return
    }
    // A response generated by the server has no source address.
    const fromNetwork = response.res !== null && response.res.source_address !== ''
    this.heard ||= fromNetwork
    const sipCode = fromNetwork ? response.status : null
    if (this.canceling !== null) this.finish(this.canceledResult(sipCode))
    else if (fromNetwork && isChallenge(response)) this.onChallenge(response.res!)
    else if (fromNetwork && response.status === 488 && this.mayInsist()) void this.insist()
    else this.refused(response.status, sipCode, response.res)
  }

  /** We offered optional encryption, and the carrier may accept it only under its own profile (RFC 3711). */
  private mayInsist(): boolean {
    return this.local.security?.policy === 'optional' && !this.rung
  }

  /** Repeats the INVITE with mandatory encryption. The carrier sees another call, so it takes its own rate token. */
  private async insist(): Promise<void> {
    const { trunk, hop, options, credentials } = this.parts
    // Nothing can be cancelled until the new request is sent.
    this.sent = null
    const may = await takeRateToken(this.context.pace, trunk, options).catch(() => false)
    if (this.settled) return
    if (this.canceling !== null) return this.finish(this.canceledResult(488))
    if (!may) return this.finish(failure(NO_RATE_TOKEN, 488))
    this.local = withRequiredEncryption(this.local)
    this.exchange = credentials?.exchange() ?? null
    this.invite({}, nextHop(trunk, hop, options.plan.to))
  }

  private onChallenge(res: IncomingResponse): void {
    const { trunk, hop, options, credentials } = this.parts
    const { sent } = this
    const outcome = this.exchange?.challenged(res) ?? 'rejected'
    if (outcome !== 'answer' || sent === null || credentials === null) {
      this.refused(res.status, res.status, res, outcome === 'answer' ? undefined : challengeWords(outcome))
      return
    }
    // Nothing can be cancelled until the new request is sent.
    this.sent = null
    const uri = requestUri(trunk, hop.host, options.plan.to)
    const proxy = nextHop(trunk, hop, options.plan.to)
    // RFC 3261 §22.2: the same call to the server, with the next CSeq number.
    const again = {
      From: sent.get('From') ?? '',
      'Call-ID': sent.get('Call-ID') ?? '',
      CSeq: `${Number.parseInt(sent.get('CSeq') ?? '1', 10) + 1} INVITE`,
      ...credentials.headers('INVITE', uri),
    }
    this.invite(again, challengerUri(res, proxy ?? uri) ?? proxy)
  }

  private refused(status: number, sipCode: number | null, res: IncomingResponse | null, message?: string): void {
    // A 408 from the server after ringing counts as no answer, because the network did respond.
    const outcome = outcomeOf(status, this.heard)
    const trunk_id = this.parts.trunk.id
    this.context.log.info({ trunk_id, sip_code: status, message: message ?? outcome.message }, 'outbound call failed')
    const elsewhere = !this.rung && (status === 503 || (status === 408 && sipCode === null))
    const seconds = secondsIn(res?.get('Retry-After'))
    this.finish(failure(outcome, sipCode), elsewhere, seconds === null ? null : seconds * 1000)
  }
}
