import type { EndedReason, MediaStats } from '../../../media/contract/messages.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { Leg, LegEnd, LegSink, TransferResult, TrunkLine } from '../../../media/ports/leg.ts'
import type { RtpSession } from '../../../media/rtp/session.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import {
  type AgreedAudio,
  answerOffer,
  type LocalAudio,
  makeOffer,
  readAnswer,
  reasonOf,
  withAgreedRole,
} from '../../text/offer.ts'
import { askInDialog } from '../requests/ask.ts'
import type { Credentials } from '../requests/credentials.ts'
import type { IncomingRequest, Reply, SipIn, SrfDialog } from '../requests/srf.ts'
import { dtmfRelay, InBandKeys, keyInInfo, takesInfo } from './keys.ts'
import { rtpParams, sampleRateOf } from './media.ts'
import { SessionRefresh } from './session.ts'
import { referTo, referToReplacing, Transfer, transferFailed } from './transfer.ts'

export interface LegOptions {
  dialog: SrfDialog
  rtp: RtpSession
  local: LocalAudio
  /** Null until the peer's description arrives in its ACK (our offer went out in the 200). */
  audio: AgreedAudio | null
  clock: Clock
  log: Log
  /** Milliseconds without a packet, while we should be receiving, after which the far end counts as dead. */
  mediaTimeoutMs: number
  /** Null when the call's source belongs to several trunks. */
  trunk: TrunkPlan | null
  /** Credentials for challenges inside the call. */
  credentials: Credentials | null
  /** Our number in this call. */
  own: string
  /** Milliseconds of silence after an accepted REFER before we ask the carrier whether the call still exists. */
  referSilenceMs: number
}

const MEDIA_CHECK_MS = 1000
/** More than anybody presses; a long number may arrive at once after a delay. */
const MOST_KEYS_A_SECOND = 40
/** Milliseconds: a peer that does not answer our BYE must not delay the hang-up. */
const BYE_WAIT_MS = 2000

/** A SIP call as a leg: owns the dialog and the RTP session, and closes both. */
export class SipLeg implements Leg {
  readonly kind = 'sip'
  readonly sampleRate: number
  readonly ended: Promise<LegEnd>
  /** Set only when a carrier can transfer the call. */
  readonly transfer?: (to: string, consulted?: Leg) => Promise<TransferResult>
  readonly line?: TrunkLine
  readonly #options: LegOptions
  #local: LocalAudio
  #audio: AgreedAudio | null
  #sink: LegSink | null = null
  #end: LegEnd | null = null
  #settle: (end: LegEnd) => void = () => {}
  #cancelCheck: () => void = () => {}
  /** When audio last became due, for the media timeout. */
  #expectingSinceMs: number
  /** True while the answer to our offer is due in an ACK. */
  #awaitingAnswer: boolean
  #transferring: Transfer | null = null
  /** Set only with credentials; otherwise the signalling server refreshes as well as we could. */
  readonly #refresh: SessionRefresh | null
  /** Our latest description. */
  #described: string
  /** In-band detection for peers that agreed to no telephone-events. */
  readonly #inBand: InBandKeys
  #takesInfo: boolean
  /** Keys reported by INFO within the current second. */
  #pressed = { sinceMs: 0, keys: 0 }

  constructor(options: LegOptions) {
    this.#options = options
    this.#local = options.audio === null ? options.local : withAgreedRole(options.local, options.audio)
    this.#audio = options.audio
    this.sampleRate = sampleRateOf(options.audio, options.local)
    this.#awaitingAnswer = options.audio === null
    this.#expectingSinceMs = options.clock.now()
    this.ended = new Promise(resolve => {
      this.#settle = resolve
    })
    if (options.audio !== null) options.rtp.configure(rtpParams(options.audio))
    void options.rtp.insecure.then(message => this.#onInsecure(message))
    const { dialog, trunk, own, clock } = options
    this.#takesInfo = takesInfo(dialog)
    this.#inBand = new InBandKeys(this.sampleRate, clock)
    if (trunk !== null) {
      this.transfer = (to, consulted) => this.#transferOver(trunk, to, consulted)
      this.line = { trunkId: trunk.id, number: own, transfer: trunk.transfer, limited: trunk.max_calls !== null }
    }
    dialog.on('destroy', req => this.#onBye(req))
    dialog.on('modify', (req, res) => this.#onReinvite(req, res))
    dialog.on('update', (req, res) => this.#onUpdate(req, res))
    dialog.on('ack', req => this.#onAck(req))
    dialog.on('info', (req, res) => this.#onInfo(req, res))
    // By default drachtio-srf answers a REFER with 200 and does nothing.
    dialog.on('refer', (_req, res) => res.send(405))
    // RFC 3265 §3.2.4: a NOTIFY that nothing waits for belongs to no subscription.
    dialog.on('notify', (req, res) => res.send(this.#transferring?.notified(req) ?? 481))
    this.#described = dialog.local.sdp
    this.#refresh = this.#refreshed()
    this.#watchMedia()
  }

  #refreshed(): SessionRefresh | null {
    const { dialog, credentials, clock, log } = this.#options
    if (credentials === null) return null
    return new SessionRefresh({
      dialog,
      credentials,
      clock,
      log,
      description: () => this.#described,
      onAnswer: sdp => {
        const answer = readAnswer(sdp, this.#local)
        if (answer.ok) this.#agree(answer.audio)
      },
      onGone: () => {
        if (this.#finish({ by: 'network', reason: 'connection_lost' })) void this.#bye()
      },
    })
  }

  attach(sink: LegSink): void {
    if (this.#sink !== null || this.#end !== null) return
    this.#sink = sink
    this.#options.rtp.attach(
      {
        pull: atMs => sink.pull(atMs),
        ulaw: () => sink.ulaw?.() ?? null,
        dtmf: digit => sink.dtmf(digit),
        push: frame => {
          if (this.#onHold) {
            sink.held?.(frame)
            return
          }
          const key = this.#audio?.dtmf === null ? this.#inBand.hear(frame.pcm) : null
          sink.push(frame)
          if (key !== null) sink.dtmf(key, true)
        },
      },
      this.sampleRate,
    )
  }

  /** True when the far end receives no audio from us (RFC 3264 §8.4). */
  get #onHold(): boolean {
    const direction = this.#audio?.direction
    return direction === 'recvonly' || direction === 'inactive'
  }

  /**
   * Sends keys as telephone-events; as INFO when the peer agreed to none; as in-band tones when it does not allow INFO.
   */
  async sendDtmf(keys: string): Promise<void> {
    const { rtp } = this.#options
    if (this.#audio?.dtmf !== null || !this.#takesInfo) return rtp.sendDtmf(keys)
    for (const [at, key] of [...keys].entries()) {
      if (this.#end !== null) return
      if (key === ',') await rtp.sendDtmf(key)
      else if (!(await this.#sendInfo(key))) {
        this.#takesInfo = false
        return rtp.sendDtmf(keys.slice(at))
      }
    }
  }

  async #sendInfo(key: string): Promise<boolean> {
    const { dialog, credentials, log } = this.#options
    try {
      const { res } = await askInDialog(dialog, { method: 'INFO', ...dtmfRelay(key) }, credentials)
      return res.status < 300
    } catch (error) {
      log.debug({ err: error }, 'sending INFO failed')
      return false
    }
  }

  stats(): MediaStats {
    return this.#options.rtp.stats()
  }

  async hangup(reason: EndedReason): Promise<void> {
    if (!this.#finish({ by: 'local', reason })) return
    const waited = new Promise<void>(resolve => {
      this.#options.clock.after(BYE_WAIT_MS, resolve)
    })
    await Promise.race([this.#bye(), waited])
  }

  async #bye(): Promise<void> {
    const { dialog, credentials, log } = this.#options
    try {
      await askInDialog(dialog, { method: 'BYE' }, credentials)
    } catch {
      log.debug({}, 'sending BYE failed')
      await dialog.destroy().catch(() => {})
    }
  }

  /** Transfers the call. If the transfer fails, the call goes on. */
  async #transferOver(trunk: TrunkPlan, to: string, consulted?: Leg): Promise<TransferResult> {
    if (this.#end !== null) return transferFailed('gone', 'The call has ended.')
    if (this.#transferring !== null) return transferFailed('busy', 'The call is being transferred already.')
    const { dialog, credentials, own, clock, log, referSilenceMs } = this.#options
    const target = consulted instanceof SipLeg ? referToReplacing(consulted.#options.dialog) : referTo(to, trunk)
    const transfer = new Transfer({ dialog, trunk, credentials, own, clock, log, silenceMs: referSilenceMs }, target)
    this.#transferring = transfer
    const result = await transfer.result
    this.#transferring = null
    // RFC 5589 §6.1: the transferor hangs up.
    if (result.ok) await this.hangup('transferred')
    return result
  }

  get dialogId(): string {
    return this.#options.dialog.id
  }

  /** The connection to the signalling server is lost, and with it all control of this call. */
  lost(): void {
    this.#finish({ by: 'network', reason: 'connection_lost' })
  }

  /** Ends the leg; returns true only the first time. */
  #finish(end: LegEnd): boolean {
    if (this.#end !== null) return false
    this.#end = end
    this.#cancelCheck()
    this.#refresh?.close()
    this.#options.rtp.close()
    this.#settle(end)
    this.#transferring?.over()
    return true
  }

  #onBye(req: SipIn): void {
    // The server's own BYE (no ACK, session expired) is not the caller's action.
    if (req.source === 'application') this.#finish({ by: 'network', reason: 'connection_lost' })
    else if (this.#transferring?.accepted) this.#finish({ by: 'remote', reason: 'transferred' })
    else this.#finish({ by: 'remote', reason: 'caller_hangup' })
  }

  /**
   * Hold, resume, or a changed address or codec (RFC 3261 §14.2). If there is no agreement, the session stays as it
   * was.
   */
  #onReinvite(req: IncomingRequest, res: Reply): void {
    const local = { ...this.#local, version: this.#local.version + 1 }
    if (req.body === '' || req.body === undefined) {
      this.#local = local
      this.#awaitingAnswer = true
      this.#agreeTo(req, res, makeOffer(local))
      return
    }
    const answer = answerOffer(req.body, local)
    if (!answer.ok) {
      this.#options.log.info({ code: answer.code }, 're-INVITE refused')
      res.send(answer.code === 'malformed' ? 400 : 488)
      return
    }
    this.#local = local
    this.#agree(answer.audio)
    this.#agreeTo(req, res, answer.sdp)
  }

  #agreeTo(req: IncomingRequest, res: Reply, sdp: string): void {
    this.#described = sdp
    res.send(200, { body: sdp })
    this.#refresh?.answered(req)
  }

  /** Unlike a re-INVITE, an UPDATE may have no description (RFC 3311). */
  #onUpdate(req: IncomingRequest, res: Reply): void {
    if (req.body) {
      this.#onReinvite(req, res)
      return
    }
    res.send(200)
    this.#refresh?.answered(req)
  }

  #onAck(req: SipIn): void {
    if (!this.#awaitingAnswer || this.#end !== null) return
    this.#awaitingAnswer = false
    const answer = readAnswer(req.body ?? '', this.#local)
    if (answer.ok) {
      this.#agree(answer.audio)
      return
    }
    this.#options.log.info({ code: answer.code }, 'ACK has no usable SDP answer')
    // After a re-INVITE without offer the call continues as agreed before; at the start of a call there is no earlier
    // agreement.
    if (this.#audio === null) void this.hangup(reasonOf(answer.code))
  }

  #agree(audio: AgreedAudio): void {
    this.#audio = audio
    this.#local = withAgreedRole(this.#local, audio)
    this.#expectingSinceMs = this.#options.clock.now()
    this.#options.rtp.configure(rtpParams(audio))
  }

  #onInfo(req: IncomingRequest, res: Reply): void {
    res.send(200)
    const digit = keyInInfo(req.get('Content-Type') ?? '', req.body ?? '')
    if (digit === null || this.#end !== null || this.#inBand.reportedByInfo(digit) || this.#isFlood()) return
    this.#sink?.dtmf(digit)
  }

  /** Limits INFO: each key is stored in several places, and INFO takes no time, unlike tones. */
  #isFlood(): boolean {
    const nowMs = this.#options.clock.now()
    if (nowMs - this.#pressed.sinceMs > 1000) this.#pressed = { sinceMs: nowMs, keys: 0 }
    this.#pressed.keys += 1
    return this.#pressed.keys > MOST_KEYS_A_SECOND
  }

  /** Ends the call at once: nothing is sent unencrypted. */
  #onInsecure(message: string): void {
    this.#options.log.warn({ message }, 'media encryption failed')
    if (this.#finish({ by: 'network', reason: 'encryption_failed' })) void this.#bye()
  }

  #watchMedia(): void {
    const { clock, rtp, mediaTimeoutMs, log } = this.#options
    const check = (): void => {
      // No audio is due on hold or during a transfer; the timeout starts anew afterwards. A phone that holds us with
      // `sendonly` often has no music.
      if (this.#audio?.direction !== 'sendrecv' || this.#transferring !== null) this.#expectingSinceMs = clock.now()
      const receivedMs = Math.max(rtp.lastReceivedMs() ?? 0, this.#expectingSinceMs)
      if (clock.now() - receivedMs > mediaTimeoutMs) {
        log.info({}, 'no media from the far end')
        void this.#timeOut()
        return
      }
      this.#cancelCheck = clock.after(MEDIA_CHECK_MS, check)
    }
    this.#cancelCheck = clock.after(MEDIA_CHECK_MS, check)
  }

  async #timeOut(): Promise<void> {
    if (!this.#finish({ by: 'network', reason: 'media_timeout' })) return
    await this.#bye()
  }
}
