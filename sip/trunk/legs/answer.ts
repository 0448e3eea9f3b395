import type { Refusal } from '../../../media/contract/messages.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { SoftphonePlan } from '../../../media/contract/softphones.ts'
import type { EarlyMedia, InboundOffer, RefusalAnnouncement } from '../../../media/ports/inbound.ts'
import type { Leg } from '../../../media/ports/leg.ts'
import type { RtpSession } from '../../../media/rtp/session.ts'
import { splitOutside } from '../../text/grammar.ts'
import { type AgreedAudio, answerOffer, type LocalAudio, makeOffer } from '../../text/offer.ts'
import { accountOf, Credentials } from '../requests/credentials.ts'
import { answerOfRefusal, isAnnounced, RETRY_SOON } from '../requests/outcome.ts'
import type { IncomingRequest, Reply, SrfDialog } from '../requests/srf.ts'
import { waitFor } from '../requests/wait.ts'
import { hostIn, userOf } from '../routing/address.ts'
import { isAccount } from '../routing/choice.ts'
import type { Trunks } from '../routing/directory.ts'
import { accountUri } from '../routing/identity.ts'
import { callerNumber, outgoingNumber, ownNumber } from '../routing/numbers.ts'
import { type TrunkContext, trackLeg } from './attempt.ts'
import { acceptsNoAudio, openEarly } from './early.ts'
import { type LegOptions, SipLeg } from './leg.ts'
import { advertisedAddress, localAudio, type MediaPreferences, mediaPreferences } from './media.ts'

/** Used when the source belongs to several trunks, or to a softphone. */
const ANY: Pick<TrunkPlan, 'codecs' | 'srtp'> = { codecs: ['PCMU', 'PCMA', 'G722', 'opus'], srtp: 'optional' }
/** Milliseconds: 64*T1, when the signalling server gives up the call, plus a margin. */
const PRACK_WAIT_MS = 33_000

/** Returns null when the INVITE was refused at once: unknown source 403, malformed 400, no common codec 488. */
export function takeInvite(
  context: TrunkContext,
  trunks: Trunks,
  req: IncomingRequest,
  res: Reply,
): InboundOffer | null {
  // P-Called-Party-ID (RFC 7315 §4.2) is present when a proxy has replaced the Request-URI with our Contact.
  const dialed = [userOf(req.uri), userOf(req.get('P-Called-Party-ID')), userOf(req.get('To'))]
  const match = trunks.match(req.source_address, dialed, [hostIn(req.get('To')), hostIn(req.get('From'))])
  if (match.kind === 'unknown') {
    context.log.info({ source: req.source_address }, 'call from unknown source refused')
    context.meters.refused.add({ reason: 'unknown_source' })
    res.send(403)
    return null
  }
  const trunk = match.kind === 'trunk' ? match.trunk : null
  const decidedBy = match.kind === 'trunk' ? match.by : undefined
  return take(context, { trunk, called: calledNumber(dialed, trunk), decidedBy }, req, res)
}

/** Like takeInvite, for a call of an authenticated softphone. */
export function takeFromSoftphone(
  context: TrunkContext,
  softphone: SoftphonePlan,
  req: IncomingRequest,
  res: Reply,
): InboundOffer | null {
  return take(context, { trunk: null, softphone, called: userOf(req.uri) ?? userOf(req.get('To')) ?? '' }, req, res)
}

interface Prepared {
  local: LocalAudio
  sdp: string
  /** Null: it arrives with the ACK. */
  audio: AgreedAudio | null
}

interface Source {
  trunk: TrunkPlan | null
  softphone?: SoftphonePlan
  called: string
  decidedBy?: InboundOffer['decidedBy'] | undefined
}

function take(context: TrunkContext, source: Source, req: IncomingRequest, res: Reply): InboundOffer | null {
  const { trunk } = source
  const wishes = mediaPreferences(context.media, trunk ?? ANY)
  // RFC 3261 §8.1.1.8 requires a Contact; without one drachtio-srf would answer the call and then forget it.
  const refused = req.has('Contact') ? checkOffer(req.body ?? '', wishes) : 400
  if (refused !== null) {
    context.log.info({ source: req.source_address, trunk_id: trunk?.id ?? null, sip_code: refused }, 'offer refused')
    context.meters.refused.add({ reason: refused === 400 ? 'bad_request' : 'no_common_codec' })
    res.send(refused)
    return null
  }
  return new Offer(context, source, wishes, req, res)
}

/**
 * Checks the offer before an application sees it; the port is irrelevant. Returns a SIP status, or null when the offer
 * is acceptable or missing.
 */
function checkOffer(body: string, wishes: MediaPreferences): number | null {
  if (body === '') return null
  const result = answerOffer(body, { address: '127.0.0.1', port: 9, sessionId: '0', version: 0, ...wishes })
  if (result.ok) return null
  return result.code === 'malformed' ? 400 : 488
}

const isOurName = (trunk: TrunkPlan, text: string): boolean => text === trunk.contact_user || isAccount(trunk, text)

/**
 * On a registered trunk the Request-URI may contain our user name, and another header the number. `dialed`: users of the
 * Request-URI, of P-Called-Party-ID, and of To, which callers may choose.
 */
export function calledNumber(dialed: readonly (string | null)[], trunk: TrunkPlan | null): string {
  for (const text of dialed) {
    const own = trunk === null ? null : ownNumber(text, trunk.numbers, trunk.dialing)
    if (own !== null) return own
  }
  const isForeign = (text: string | null) => text !== null && (trunk === null || !isOurName(trunk, text))
  // A carrier that names only the account means its number, when it has exactly one.
  if (trunk?.numbers.length === 1 && !dialed.slice(0, 2).some(isForeign)) return trunk.numbers[0]!
  const named = dialed.filter(isForeign)
  return callerNumber(named[0] ?? null, trunk?.dialing ?? null)
}

class Offer implements InboundOffer {
  readonly called: string
  readonly caller: string
  readonly source: string
  readonly trunkId: string | null
  readonly decidedBy?: 'registration' | 'number'
  readonly softphoneId?: string
  readonly signal: AbortSignal
  readonly #context: TrunkContext
  readonly #trunk: TrunkPlan | null
  readonly #wishes: MediaPreferences
  readonly #req: IncomingRequest
  readonly #res: Reply
  readonly #gone = new AbortController()
  readonly #untrack: () => void
  #decided = false
  #ringing: Promise<void> = Promise.resolve()
  /** Stops audio that plays before the answer. */
  readonly #silenced = new AbortController()

  constructor(
    context: TrunkContext,
    { trunk, softphone, called, decidedBy }: Source,
    wishes: MediaPreferences,
    req: IncomingRequest,
    res: Reply,
  ) {
    this.#context = context
    this.#trunk = trunk
    if (softphone !== undefined) this.softphoneId = softphone.id
    this.#wishes = wishes
    this.#req = req
    this.#res = res
    this.called = called
    // RFC 3325 §9.1: there may be a SIP and a tel URI of the same caller.
    const asserted = splitOutside(req.get('P-Asserted-Identity') ?? '', ',').map(userOf)
    const caller = asserted.find(user => user !== null) ?? userOf(req.get('From'))
    this.caller = softphone?.username ?? callerNumber(caller, trunk?.dialing ?? null)
    this.source = req.source_address
    this.trunkId = trunk?.id ?? null
    if (decidedBy !== undefined) this.decidedBy = decidedBy
    this.signal = this.#gone.signal
    const untrack = context.track({ lost: () => this.#gone.abort() })
    const callId = req.get('Call-ID') ?? ''
    context.unanswered.set(callId, this.#gone)
    this.#untrack = () => {
      untrack()
      if (context.unanswered.get(callId) === this.#gone) context.unanswered.delete(callId)
    }
    req.on('cancel', () => this.#gone.abort())
  }

  admitted(callId: string): void {
    this.#context.meters.admitted.add()
    this.#context.traces.bind(this.#req.get('Call-ID'), callId, this.trunkId)
    if (this.#decided || this.signal.aborted) return
    // Rings only now, because a carrier stops looking for another destination once the call rings. RFC 3262 §5: without
    // an offer in the INVITE, a reliable 180 would need our offer and get its answer in the PRACK; the 200 follows soon
    // anyway.
    if (!this.#mustConfirm() || this.#req.body) this.#ringing = this.#ring()
  }

  async #ring(): Promise<void> {
    try {
      await this.#progress(180)
    } catch (error) {
      // drachtio-srf throws when its connection is gone; then there is no answer either.
      this.#context.log.debug({ err: error }, '180 Ringing could not be sent')
    }
  }

  #mustConfirm(): boolean {
    return /\b100rel\b/i.test(this.#req.get('Require') ?? '')
  }

  /** Returns false when the caller required a reliable response and did not send PRACK in time (RFC 3262 §3). */
  async #progress(status: number, body?: string, signal = this.signal): Promise<boolean> {
    const said = body === undefined ? {} : { body }
    if (!this.#mustConfirm()) {
      this.#res.send(status, said)
      return true
    }
    let confirmed = false
    await waitFor({ clock: this.#context.clock, ms: PRACK_WAIT_MS, signal }, go => {
      const onSent = (error: unknown): void => {
        if (error) queueMicrotask(go)
      }
      const onPrack = (): void => {
        confirmed = true
        go()
      }
      this.#res.send(status, { ...said, headers: { Require: '100rel' } }, onSent, onPrack)
      return () => {}
    })
    return confirmed
  }

  announcementOf(refusal: Refusal): RefusalAnnouncement | null {
    const trunk = this.#trunk
    if (!trunk?.refusal_announcement || !isAnnounced(refusal) || this.#fallback() !== null) return null
    return { text: trunk.refusal_announcement, language: trunk.refusal_language }
  }

  /** A description before the answer is also that of the answer (RFC 3261 §13.2.1), so it is built the same way. */
  async early(): Promise<EarlyMedia | null> {
    // A caller that sent no offer would have to answer ours first.
    if (this.#decided || !this.#req.body) return null
    try {
      const sound = await this.#sayBefore(AbortSignal.any([this.signal, this.#silenced.signal]))
      if (sound === null) this.#silence()
      return sound
    } catch (error) {
      this.#silence()
      this.#context.log.error({ err: error }, 'early media failed')
      return null
    }
  }

  async #sayBefore(signal: AbortSignal): Promise<EarlyMedia | null> {
    const rtp = await this.#context.media.open()
    signal.addEventListener('abort', () => rtp.close(), { once: true })
    if (signal.aborted) rtp.close()
    const { sdp, audio, local } = await this.#prepare(rtp)
    if (signal.aborted || audio === null || acceptsNoAudio(audio)) return null
    const told = await this.#progress(183, sdp, signal)
    if (!told || signal.aborted) return null
    this.#context.meters.announced.add()
    return openEarly({ rtp, audio, local, signal, onInsecure: () => this.#silence() })
  }

  #silence(): void {
    this.#silenced.abort()
  }

  reject(refusal: Refusal): void {
    if (this.#decided) return
    this.#decide()
    this.#silence()
    if (this.signal.aborted) return
    const { status, headers } = answerOfRefusal(refusal, this.#fallback())
    this.#context.meters.refused.add({ reason: refusal })
    if (status === 302) this.#context.meters.redirected.add()
    this.#res.send(status, { headers })
  }

  /** The URI of the trunk's fallback number, in the carrier's format. */
  #fallback(): string | null {
    const trunk = this.#trunk
    const number = trunk?.fallback_number
    return trunk && number && number !== this.called ? accountUri(trunk, outgoingNumber(number, trunk)) : null
  }

  async answer(): Promise<Leg | null> {
    if (this.#decided) return null
    this.#decided = true
    let rtp: RtpSession | null = null
    try {
      rtp = await this.#context.media.open()
      const prepared = await this.#prepare(rtp)
      await this.#ringing
      const leg = this.signal.aborted ? null : await this.#accept(rtp, prepared)
      if (leg === null) rtp.close()
      return leg
    } catch (error) {
      rtp?.close()
      this.#context.log.error({ err: error }, 'answering inbound call failed')
      if (!this.signal.aborted && !this.#res.finalResponseSent) this.#res.send(503, { headers: RETRY_SOON })
      return null
    } finally {
      this.#untrack()
    }
  }

  #decide(): void {
    this.#decided = true
    this.#untrack()
  }

  async #prepare(rtp: RtpSession): Promise<Prepared> {
    rtp.trust(this.source)
    const address = await advertisedAddress(this.#context.media, rtp, this.source)
    const local = localAudio(rtp, address, this.#wishes)
    return { local, ...this.#describe(local) }
  }

  #accept(rtp: RtpSession, { local, sdp, audio }: Prepared): Promise<Leg | null> {
    return new Promise(resolve => {
      const onLost = (): void => resolve(null)
      this.signal.addEventListener('abort', onLost, { once: true })
      this.#context.agent.createUAS(this.#req, this.#res, { localSdp: sdp }, (error, dialog) => {
        this.signal.removeEventListener('abort', onLost)
        if (dialog === undefined) {
          this.#context.log.debug({ err: error }, 'caller canceled before the answer')
          resolve(null)
          return
        }
        const leg = this.#legOf(dialog, { rtp, local, audio })
        trackLeg(this.#context, leg)
        resolve(leg)
      })
    })
  }

  #legOf(dialog: SrfDialog, sound: Pick<LegOptions, 'rtp' | 'local' | 'audio'>): SipLeg {
    const { clock, log, mediaTimeoutMs, referSilenceMs } = this.#context
    const trunk = this.#trunk
    const { called: own } = this
    const account = trunk === null ? null : accountOf(trunk)
    const credentials = account === null ? null : new Credentials(account)
    const bounds = { mediaTimeoutMs, referSilenceMs }
    return new SipLeg({ dialog, ...sound, clock, log, ...bounds, trunk, credentials, own })
  }

  /** Builds our answer; or, when the INVITE had no offer (RFC 3261 §13.2.1), our offer, which the ACK answers. */
  #describe(local: LocalAudio): { sdp: string; audio: AgreedAudio | null } {
    if (!this.#req.body) return { sdp: makeOffer(local), audio: null }
    const answer = answerOffer(this.#req.body, local)
    // This offer was accepted on arrival.
    if (!answer.ok) throw new Error(`offer no longer acceptable: ${answer.code}`)
    return { sdp: answer.sdp, audio: answer.audio }
  }
}
