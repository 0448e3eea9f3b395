import type { Refusal } from '../../media/contract/messages.ts'
import type { TrunkPlan } from '../../media/contract/plan.ts'
import type { InboundOffer, Leg } from '../../media/ports.ts'
import type { RtpSession } from '../../media/rtp/session.ts'
import { type AgreedAudio, answerOffer, type CodecName, type LocalAudio, makeOffer } from '../text/offer.ts'
import { ownNumber, plainNumber, userOf } from './address.ts'
import type { TrunkContext } from './dial.ts'
import type { Trunks } from './directory.ts'
import { SipLeg } from './leg.ts'
import { advertisedAddress, localAudio } from './media.ts'
import { statusOfRefusal } from './outcome.ts'
import type { IncomingRequest, Reply } from './srf.ts'

const ALL_CODECS: readonly CodecName[] = ['PCMU', 'PCMA']

/** Null when the INVITE was refused here and now: unknown source 403, unreadable 400, no common codec 488. */
export function takeInvite(
  context: TrunkContext,
  trunks: Trunks,
  req: IncomingRequest,
  res: Reply,
): InboundOffer | null {
  const dialed = [userOf(req.uri), userOf(req.get('To'))]
  const match = trunks.match(req.source_address, dialed)
  if (match.kind === 'unknown') {
    context.log.info({ source: req.source_address }, 'call from an unknown source refused')
    res.send(403)
    return null
  }
  const trunk = match.kind === 'trunk' ? match.trunk : null
  const codecs = trunk?.codecs ?? ALL_CODECS
  // RFC 3261 §8.1.1.8 demands a Contact; without one drachtio-srf would answer the call and then forget it.
  const refused = req.has('Contact') ? checkOffer(req.body ?? '', codecs) : 400
  if (refused !== null) {
    context.log.info({ source: req.source_address, trunk_id: trunk?.id ?? null, sip_code: refused }, 'offer refused')
    res.send(refused)
    return null
  }
  return new Offer(context, trunk, codecs, req, res, calledNumber(dialed, trunk))
}

/** A dry run, before anybody is asked: the port doesn't matter. Null when the offer is fine, or left to us. */
function checkOffer(body: string, codecs: readonly CodecName[]): number | null {
  if (body === '') return null
  const result = answerOffer(body, { address: '127.0.0.1', port: 9, codecs, sessionId: '0', version: 0 })
  if (result.ok) return null
  return result.code === 'malformed' ? 400 : 488
}

/** On a registered trunk the Request-URI may hold our user name, and To the number. */
function calledNumber(dialed: readonly (string | null)[], trunk: TrunkPlan | null): string {
  for (const text of dialed) {
    const own = ownNumber(text, trunk?.numbers ?? [])
    if (own !== null) return own
  }
  return plainNumber(dialed[0] ?? dialed[1] ?? null)
}

class Offer implements InboundOffer {
  readonly called: string
  readonly caller: string
  readonly source: string
  readonly trunkId: string | null
  readonly signal: AbortSignal
  private readonly context: TrunkContext
  private readonly codecs: readonly CodecName[]
  private readonly req: IncomingRequest
  private readonly res: Reply
  private readonly gone = new AbortController()
  private readonly untrack: () => void
  private decided = false

  constructor(
    context: TrunkContext,
    trunk: TrunkPlan | null,
    codecs: readonly CodecName[],
    req: IncomingRequest,
    res: Reply,
    called: string,
  ) {
    this.context = context
    this.codecs = codecs
    this.req = req
    this.res = res
    this.called = called
    this.caller = plainNumber(userOf(req.get('P-Asserted-Identity')) ?? userOf(req.get('From')))
    this.source = req.source_address
    this.trunkId = trunk?.id ?? null
    this.signal = this.gone.signal
    this.untrack = context.track({ lost: () => this.gone.abort() })
    req.on('cancel', () => this.gone.abort())
  }

  reject(refusal: Refusal): void {
    if (this.decided) return
    this.decide()
    if (!this.signal.aborted) this.res.send(statusOfRefusal(refusal))
  }

  async answer(): Promise<Leg | null> {
    if (this.decided) return null
    this.decided = true
    let rtp: RtpSession | null = null
    try {
      rtp = await this.context.media.open()
      const address = await advertisedAddress(this.context.media, rtp, this.source)
      const leg = this.signal.aborted ? null : await this.accept(rtp, localAudio(rtp, address, [...this.codecs]))
      if (leg === null) rtp.close()
      return leg
    } catch (error) {
      rtp?.close()
      this.context.log.error({ err: error }, 'inbound call could not be answered')
      if (!this.signal.aborted && !this.res.finalResponseSent) this.res.send(503)
      return null
    } finally {
      this.untrack()
    }
  }

  private decide(): void {
    this.decided = true
    this.untrack()
  }

  private accept(rtp: RtpSession, local: LocalAudio): Promise<Leg | null> {
    const { sdp, audio } = this.describe(local)
    return new Promise(resolve => {
      const onLost = (): void => resolve(null)
      this.signal.addEventListener('abort', onLost, { once: true })
      this.context.agent.createUAS(this.req, this.res, { localSdp: sdp }, (error, dialog) => {
        this.signal.removeEventListener('abort', onLost)
        if (dialog === undefined) {
          this.context.log.debug({ err: error }, 'caller gave up before the answer')
          resolve(null)
          return
        }
        const { clock, log, mediaTimeoutMs } = this.context
        const leg = new SipLeg({ dialog, rtp, local, audio, clock, log, mediaTimeoutMs })
        const untrack = this.context.track(leg)
        void leg.ended.then(untrack)
        resolve(leg)
      })
    })
  }

  /** Our answer; or, when the caller left the offer to us (RFC 3261 §13.2.1), our offer, whose answer the ACK brings. */
  private describe(local: LocalAudio): { readonly sdp: string; readonly audio: AgreedAudio | null } {
    if (!this.req.body) return { sdp: makeOffer(local), audio: null }
    const answer = answerOffer(this.req.body, local)
    // The same offer was found good on arrival.
    if (!answer.ok) throw new Error(`offer no longer acceptable: ${answer.code}`)
    return { sdp: answer.sdp, audio: answer.audio }
  }
}
