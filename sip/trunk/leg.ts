import type { EndedReason, MediaStats } from '../../media/contract/messages.ts'
import type { Clock, Leg, LegEnd, LegSink, Log } from '../../media/ports.ts'
import { RTP_RATE, type RtpSession } from '../../media/rtp/session.ts'
import { type AgreedAudio, answerOffer, type LocalAudio, makeOffer, readAnswer } from '../text/offer.ts'
import { rtpParams } from './media.ts'
import type { IncomingRequest, Reply, SipIn, SrfDialog } from './srf.ts'

export type LegOptions = {
  readonly dialog: SrfDialog
  readonly rtp: RtpSession
  readonly local: LocalAudio
  /** Null while the peer's description is still to come in its ACK (our offer went out in the 200). */
  readonly audio: AgreedAudio | null
  readonly clock: Clock
  readonly log: Log
  /** No packet for so long, while we should be receiving, means that the other side is dead. */
  readonly mediaTimeoutMs: number
}

const MEDIA_CHECK_MS = 1000
/** A peer that doesn't answer our BYE must not hold up whoever waits for the hang-up. */
const BYE_WAIT_MS = 2000

/** A SIP call as a leg: owns the dialog and the RTP session, and closes both. */
export class SipLeg implements Leg {
  readonly kind = 'sip'
  readonly sampleRate = RTP_RATE
  readonly ended: Promise<LegEnd>
  private readonly options: LegOptions
  private local: LocalAudio
  private audio: AgreedAudio | null
  private sink: LegSink | null = null
  private end: LegEnd | null = null
  private settle: (end: LegEnd) => void = () => {}
  private cancelCheck: () => void = () => {}
  /** When sound was last due to come, for the media timeout. */
  private expectingSinceMs: number
  /** Set while the answer to an offer of ours is due in an ACK. */
  private awaitingAnswer: boolean

  constructor(options: LegOptions) {
    this.options = options
    this.local = options.local
    this.audio = options.audio
    this.awaitingAnswer = options.audio === null
    this.expectingSinceMs = options.clock.now()
    this.ended = new Promise(resolve => {
      this.settle = resolve
    })
    if (options.audio !== null) options.rtp.configure(rtpParams(options.audio))
    const { dialog } = options
    dialog.on('destroy', req => this.onBye(req))
    dialog.on('modify', (req, res) => this.onReinvite(req, res))
    dialog.on('ack', req => this.onAck(req))
    dialog.on('info', (req, res) => this.onInfo(req, res))
    // Unless told otherwise, drachtio-srf says 200 to a transfer it does nothing about.
    dialog.on('refer', (_req, res) => res.send(405))
    this.watchMedia()
  }

  attach(sink: LegSink): void {
    if (this.sink !== null || this.end !== null) return
    this.sink = sink
    this.options.rtp.attach(sink)
  }

  sendDtmf(keys: string): Promise<void> {
    return this.options.rtp.sendDtmf(keys)
  }

  stats(): MediaStats {
    return this.options.rtp.stats()
  }

  async hangup(reason: EndedReason): Promise<void> {
    if (!this.finish({ by: 'local', reason })) return
    const bye = this.options.dialog.destroy().catch(() => {
      this.options.log.debug({}, 'BYE could not be sent')
    })
    const waited = new Promise<void>(resolve => {
      this.options.clock.after(BYE_WAIT_MS, resolve)
    })
    await Promise.race([bye, waited])
  }

  /** The connection to the signalling server is gone, and with it every means to speak for this call. */
  lost(): void {
    this.finish({ by: 'network', reason: 'connection_lost' })
  }

  /** True the first time: the end is told once. */
  private finish(end: LegEnd): boolean {
    if (this.end !== null) return false
    this.end = end
    this.cancelCheck()
    this.options.rtp.close()
    this.settle(end)
    return true
  }

  private onBye(req: SipIn): void {
    // The server's own BYE (no ACK came, the session expired) is not the caller's doing.
    if (req.source === 'application') this.finish({ by: 'network', reason: 'connection_lost' })
    else this.finish({ by: 'remote', reason: 'caller_hangup' })
  }

  /** Hold, resume, another address or codec (RFC 3261 §14.2). What can't be agreed leaves all as it was. */
  private onReinvite(req: IncomingRequest, res: Reply): void {
    const local = { ...this.local, version: this.local.version + 1 }
    if (req.body === '' || req.body === undefined) {
      this.local = local
      this.awaitingAnswer = true
      res.send(200, { body: makeOffer(local) })
      return
    }
    const answer = answerOffer(req.body, local)
    if (!answer.ok) {
      this.options.log.info({ code: answer.code }, 're-INVITE refused')
      res.send(answer.code === 'malformed' ? 400 : 488)
      return
    }
    this.local = local
    this.agree(answer.audio)
    res.send(200, { body: answer.sdp })
  }

  private onAck(req: SipIn): void {
    if (!this.awaitingAnswer || this.end !== null) return
    this.awaitingAnswer = false
    const answer = readAnswer(req.body ?? '', this.local)
    if (answer.ok) {
      this.agree(answer.audio)
      return
    }
    this.options.log.info({ code: answer.code }, 'ACK brought no usable answer')
    // After a re-INVITE without offer the call goes on as agreed before; at its start there is nothing to go on with.
    if (this.audio === null) void this.hangup(answer.code === 'malformed' ? 'bad_sdp' : 'no_common_codec')
  }

  private agree(audio: AgreedAudio): void {
    this.audio = audio
    this.expectingSinceMs = this.options.clock.now()
    this.options.rtp.configure(rtpParams(audio))
  }

  private onInfo(req: IncomingRequest, res: Reply): void {
    res.send(200)
    const digit = dtmfOf(req.get('Content-Type') ?? '', req.body ?? '')
    if (digit !== null && this.end === null) this.sink?.dtmf(digit)
  }

  private watchMedia(): void {
    const { clock, rtp, mediaTimeoutMs, log } = this.options
    const check = (): void => {
      const receiving = this.audio?.direction === 'sendrecv' || this.audio?.direction === 'recvonly'
      // On hold no sound is due; the wait begins anew when it ends.
      if (!receiving) this.expectingSinceMs = clock.now()
      const heardMs = Math.max(rtp.lastReceivedMs() ?? 0, this.expectingSinceMs)
      if (clock.now() - heardMs > mediaTimeoutMs) {
        log.info({}, 'no media from the far end')
        void this.timeOut()
        return
      }
      this.cancelCheck = clock.after(MEDIA_CHECK_MS, check)
    }
    this.cancelCheck = clock.after(MEDIA_CHECK_MS, check)
  }

  private async timeOut(): Promise<void> {
    if (!this.finish({ by: 'network', reason: 'media_timeout' })) return
    await this.options.dialog.destroy().catch(() => {})
  }
}

const KEY = /^[0-9*#A-D]$/

/** A key sent as INFO: `Signal=5` (application/dtmf-relay), or the key alone (application/dtmf). */
export function dtmfOf(contentType: string, body: string): string | null {
  const type = contentType.split(';')[0]!.trim().toLowerCase()
  const relayed = /^\s*Signal\s*=\s*(\S+)/im.exec(body)?.[1]
  const text =
    type === 'application/dtmf-relay' ? relayed : type === 'application/dtmf' ? (relayed ?? body.trim()) : undefined
  // Some gateways number * and # as 10 and 11, as RFC 4733 does.
  const key = text === '10' ? '*' : text === '11' ? '#' : text?.toUpperCase()
  return key !== undefined && KEY.test(key) ? key : null
}
