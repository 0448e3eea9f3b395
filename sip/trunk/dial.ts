import type { CallPlan, TrunkPlan } from '../../media/contract/plan.ts'
import type { Clock, DialFailure, DialOptions, DialResult, Log } from '../../media/ports.ts'
import type { RtpSession } from '../../media/rtp/session.ts'
import { type LocalAudio, makeOffer, readAnswer } from '../text/offer.ts'
import { parseUri } from '../text/uri.ts'
import { escapeUser, proxyUri, trunkUri } from './address.ts'
import { SipLeg } from './leg.ts'
import { advertisedAddress, localAudio, type MediaOptions, rtpParams } from './media.ts'
import { unansweredVerdict, type Verdict, verdictOf } from './outcome.ts'
import {
  type Agent,
  type Credentials,
  type IncomingResponse,
  type OutgoingCall,
  responseOf,
  type SentRequest,
  type SrfDialog,
} from './srf.ts'

/** What dialing and answering share. */
export type TrunkContext = {
  readonly agent: Agent
  readonly media: MediaOptions
  readonly clock: Clock
  readonly log: Log
  readonly mediaTimeoutMs: number
  /** Keeps `thing` until the returned function is called; when the signalling server is lost, `lost` is. */
  track(thing: { lost(): void }): () => void
}

export const ALLOW = 'INVITE, ACK, CANCEL, BYE, OPTIONS, INFO'
/** How long a CANCEL may stay unanswered before the dial is given up without the final response. */
const CANCEL_WAIT_MS = 5000

/** Places one call over a trunk. Never rejects. */
export async function dial(context: TrunkContext, trunk: TrunkPlan, options: DialOptions): Promise<DialResult> {
  const { signal } = options
  if (signal.aborted) return failure(CANCELED, null)
  let rtp: RtpSession
  try {
    rtp = await context.media.open()
  } catch (error) {
    context.log.error({ err: error }, 'no RTP port for an outbound call')
    return failure({ status: 'failed', reason: 'no_capacity', words: 'No port is free for the sound.' }, null)
  }
  try {
    const address = await advertisedAddress(context.media, rtp, hopHost(trunk))
    const local = localAudio(rtp, address, trunk.codecs)
    const result = await new Attempt(context, trunk, options, rtp, local).run()
    if (!result.ok) rtp.close()
    return result
  } catch (error) {
    rtp.close()
    context.log.warn({ err: error, trunk_id: trunk.id }, 'outbound call could not be sent')
    return failure(verdictOf(503, false), null)
  }
}

const CANCELED: Verdict = { status: 'canceled', reason: 'canceled_by_api', words: 'The attempt was canceled.' }
const SERVER_LOST: Verdict = { status: 'failed', reason: 'internal_error', words: 'The signalling server is away.' }

function failure(verdict: Verdict, sipCode: number | null): { ok: false; failure: DialFailure } {
  return { ok: false, failure: { status: verdict.status, reason: verdict.reason, sipCode } }
}

function hopHost(trunk: TrunkPlan): string {
  const proxy = parseUri(proxyUri(trunk) ?? '')
  return proxy?.scheme === 'sip' || proxy?.scheme === 'sips' ? proxy.host : trunk.host
}

/** One INVITE, from sending it to a leg or a verdict. */
class Attempt {
  private readonly context: TrunkContext
  private readonly trunk: TrunkPlan
  private readonly options: DialOptions
  private readonly rtp: RtpSession
  private readonly local: LocalAudio
  private sent: SentRequest | null = null
  private canceling: 'abort' | 'ring_timeout' | null = null
  /** Something came back from the network. */
  private heard = false
  private rung = false
  private settled = false
  private settle: (result: DialResult) => void = () => {}
  private readonly cleanups: (() => void)[] = []

  constructor(context: TrunkContext, trunk: TrunkPlan, options: DialOptions, rtp: RtpSession, local: LocalAudio) {
    this.context = context
    this.trunk = trunk
    this.options = options
    this.rtp = rtp
    this.local = local
  }

  run(): Promise<DialResult> {
    const { clock, agent } = this.context
    const { signal, plan } = this.options
    return new Promise(resolve => {
      this.settle = resolve
      const onAbort = (): void => this.cancel('abort')
      signal.addEventListener('abort', onAbort, { once: true })
      this.cleanups.push(
        () => signal.removeEventListener('abort', onAbort),
        clock.after(plan.ring_timeout_ms, () => this.cancel('ring_timeout')),
        this.context.track({ lost: () => this.finish(failure(SERVER_LOST, null)) }),
      )
      const progress = {
        cbRequest: (_error: Error | null, req?: SentRequest): void => this.onSent(req),
        cbProvisional: (res: IncomingResponse): void => this.onProvisional(res),
      }
      try {
        agent.createUAC(
          trunkUri(this.trunk, plan.to),
          outgoingCall(this.trunk, plan, this.local),
          progress,
          (error, dialog) => {
            if (dialog === undefined) this.onFailed(error)
            else this.onAnswered(dialog)
          },
        )
      } catch (error) {
        // drachtio-srf throws when its connection is gone.
        this.context.log.warn({ err: error }, 'INVITE could not be handed over')
        this.finish(failure(SERVER_LOST, null))
      }
    })
  }

  private finish(result: DialResult): void {
    if (this.settled) return
    this.settled = true
    for (const cleanup of this.cleanups) cleanup()
    this.settle(result)
  }

  private onSent(req: SentRequest | undefined): void {
    if (req === undefined) return
    this.sent = req
    if (this.canceling !== null) this.sendCancel()
  }

  private onProvisional(res: IncomingResponse): void {
    this.heard = true
    if (this.rung || this.canceling !== null) return
    if (res.status !== 180 && res.status !== 183) return
    this.rung = true
    const early = res.body ? readAnswer(res.body, this.local) : null
    // Early media: the peer's packets are known before the answer, and what it sends isn't taken for an intruder's.
    if (early?.ok) this.rtp.configure(rtpParams(early.audio))
    this.options.onRinging()
  }

  private cancel(why: 'abort' | 'ring_timeout'): void {
    if (this.settled || this.canceling !== null) return
    this.canceling = why
    if (this.sent !== null) this.sendCancel()
    this.cleanups.push(this.context.clock.after(CANCEL_WAIT_MS, () => this.finish(this.canceledResult(null))))
  }

  private sendCancel(): void {
    this.sent?.cancel(error => {
      // Too late: the final response is on its way and decides.
      if (error) this.context.log.debug({}, 'CANCEL was not sent')
    })
  }

  private canceledResult(sipCode: number | null): DialResult {
    return failure(this.canceling === 'abort' ? CANCELED : unansweredVerdict(this.heard), sipCode)
  }

  private onAnswered(dialog: SrfDialog): void {
    // CANCEL and 200 crossed, or nobody waits any more: drachtio-srf has sent the ACK, the BYE is ours.
    if (this.canceling !== null || this.settled) {
      void dialog.destroy().catch(() => {})
      this.finish(this.canceledResult(200))
      return
    }
    const answer = readAnswer(dialog.remote.sdp ?? '', this.local)
    if (!answer.ok) {
      void dialog.destroy().catch(() => {})
      const malformed = answer.code === 'malformed'
      const words = malformed ? 'The answer could not be read.' : 'The carrier and we share no codec.'
      this.finish(failure({ status: 'failed', reason: malformed ? 'bad_sdp' : 'no_common_codec', words }, 200))
      return
    }
    const { clock, log, mediaTimeoutMs } = this.context
    const { rtp, local } = this
    const leg = new SipLeg({ dialog, rtp, local, audio: answer.audio, clock, log, mediaTimeoutMs })
    const untrack = this.context.track(leg)
    void leg.ended.then(untrack)
    this.finish({ ok: true, leg })
  }

  private onFailed(error: unknown): void {
    const response = responseOf(error)
    if (response === null) {
      this.context.log.warn({ err: error, trunk_id: this.trunk.id }, 'signalling server refused the INVITE')
      this.finish(failure(verdictOf(503, false), null))
      return
    }
    // A response made up by the server has no source address.
    const fromNetwork = response.res !== null && response.res.source_address !== ''
    this.heard ||= fromNetwork
    const sipCode = fromNetwork ? response.status : null
    if (this.canceling !== null) {
      this.finish(this.canceledResult(sipCode))
      return
    }
    // "Nobody answered" after it rang was said by the network too, in its way.
    const verdict = verdictOf(response.status, this.heard)
    this.context.log.info(
      { trunk_id: this.trunk.id, sip_code: response.status, words: verdict.words },
      'outbound call failed',
    )
    this.finish(failure(verdict, sipCode))
  }
}

function outgoingCall(trunk: TrunkPlan, plan: CallPlan, local: LocalAudio): OutgoingCall {
  const user = plan.from !== '' ? plan.from : (trunk.username ?? 'anonymous')
  const domain = trunk.username === null ? 'localhost' : hostForUri(trunk.host)
  const transport = trunk.transport === 'udp' ? '' : `;transport=${trunk.transport}`
  const proxy = proxyUri(trunk)
  const auth = credentialsOf(trunk)
  return {
    headers: {
      From: `<sip:${escapeUser(user)}@${domain}>`,
      To: `<${trunkUri({ ...trunk, transport: 'udp' }, plan.to)}>`,
      Contact: `<sip:${escapeUser(trunk.username ?? user)}@localhost${transport}>`,
      Allow: ALLOW,
      'Content-Type': 'application/sdp',
    },
    localSdp: makeOffer(local),
    ...(proxy === null ? {} : { proxy }),
    ...(auth === null ? {} : { auth }),
  }
}

const hostForUri = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** Credentials for a challenge of the trunk's realm, where one is set; others don't get them. */
export function credentialsOf(trunk: TrunkPlan): Credentials | null {
  const { username, password, realm } = trunk
  if (username === null || password === null) return null
  return (_req, res, done) => {
    const challenge = res.get('www-authenticate') ?? res.get('proxy-authenticate') ?? ''
    const asked = /realm="([^"]*)"/i.exec(challenge)?.[1] ?? ''
    if (realm !== null && realm !== '' && realm !== asked) done(new Error('challenged for another realm'))
    else done(null, username, password)
  }
}
