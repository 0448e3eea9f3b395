/**
 * Transfers a call with REFER (RFC 3515): the carrier dials (RFC 5589 §6.1), or connects two calls that it has with us
 * (§7.1, RFC 3891), and reports the result.
 */
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { TransferFailure, TransferResult } from '../../../media/ports/leg.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import { within } from '../../../media/shared/within.ts'
import { parseUri } from '../../text/uri.ts'
import { type Asked, askInDialog } from '../requests/ask.ts'
import type { Credentials } from '../requests/credentials.ts'
import { challengeWords, outcomeOf } from '../requests/outcome.ts'
import type { SipIn, SrfDialog } from '../requests/srf.ts'
import { accountUri } from '../routing/identity.ts'
import { outgoingNumber } from '../routing/numbers.ts'

export const transferFailed = (code: TransferFailure, reason: string): TransferResult => ({
  ok: false,
  code,
  reason,
})

export type TransferOptions = {
  readonly dialog: SrfDialog
  readonly trunk: TrunkPlan
  readonly credentials: Credentials | null
  /** Our number in this call. */
  readonly own: string
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds without a NOTIFY before we ask the carrier whether the call still exists. */
  readonly silenceMs: number
}

/** Milliseconds: longer than people let a phone ring. */
const OUTCOME_WAIT_MS = 60_000
const LIVES_WAIT_MS = 4000

/** The Refer-To target for a number, a tel: or a SIP URI; null for anything else. */
export function referTo(to: string, trunk: TrunkPlan): string | null {
  const text = to.trim()
  const uri = parseUri(text)
  // Headers in the URI would become headers of the carrier's INVITE (RFC 3261 §19.1.5).
  if (uri?.scheme === 'sip' || uri?.scheme === 'sips') return uri.headers === null ? text : null
  const number = (uri?.scheme === 'tel' ? uri.number : text).replace(/[\s().-]/g, '')
  return /^\+?\d{2,15}$/.test(number) ? accountUri(trunk, outgoingNumber(number, trunk)) : null
}

/**
 * The remote end of one of our calls, as a Refer-To target for a party that replaces us in it (RFC 3891 §3, RFC 5589
 * §7.1).
 */
export function referToReplacing({ remote, sip }: Pick<SrfDialog, 'remote' | 'sip'>): string | null {
  const contact = parseUri(remote.uri)
  if ((contact?.scheme !== 'sip' && contact?.scheme !== 'sips') || contact.headers !== null) return null
  const { callId, localTag, remoteTag } = sip
  // Tags from the recipient's point of view: its own is `to-tag`.
  const replaced = encodeURIComponent(`${callId};to-tag=${remoteTag};from-tag=${localTag}`)
  return `${remote.uri}?Replaces=${replaced}`
}

/** The status in a NOTIFY's body (RFC 3420); null when it has none. */
export function sipfragStatus(body: string | undefined): number | null {
  const status = /^SIP\/2\.0 (\d{3})\b/.exec(body ?? '')?.[1]
  return status === undefined ? null : Number(status)
}

export class Transfer {
  readonly result: Promise<TransferResult>
  /** The carrier accepted the REFER. */
  accepted = false
  private readonly options: TransferOptions
  private settle: (result: TransferResult) => void = () => {}
  private cancelWait: () => void = () => {}
  private cancelSilence: () => void = () => {}
  /** A NOTIFY has arrived, so more may follow. */
  private followed = false

  /** `target` is the URI for Refer-To; null when the requested destination is not valid. */
  constructor(options: TransferOptions, target: string | null) {
    this.options = options
    this.result = new Promise(resolve => {
      this.settle = resolve
    })
    if (target === null) this.settle(transferFailed('invalid', 'This is not a phone number or SIP address.'))
    else void this.refer(target)
    void this.result.then(() => {
      this.cancelWait()
      this.cancelSilence()
    })
  }

  private async refer(target: string): Promise<void> {
    const { dialog, trunk, credentials, own, clock, log } = this.options
    const headers = {
      'Refer-To': `<${target}>`,
      'Referred-By': `<${accountUri(trunk, outgoingNumber(own, trunk))}>`,
      ...(dialog.local.contact === undefined ? {} : { Contact: dialog.local.contact }),
    }
    let asked: Asked
    try {
      asked = await askInDialog(dialog, { method: 'REFER', headers }, credentials)
    } catch (error) {
      log.warn({ err: error, trunk_id: trunk.id }, 'sending REFER failed')
      this.settle(transferFailed('gone', 'The call has ended.'))
      return
    }
    const { res, refused } = asked
    log.info({ trunk_id: trunk.id, sip_code: res.status }, 'REFER answered')
    if (res.status >= 300) {
      const message = refused === null ? 'The carrier does not allow transfers.' : challengeWords(refused)
      this.settle(transferFailed('refused', message))
      return
    }
    this.accepted = true
    this.cancelWait = clock.after(OUTCOME_WAIT_MS, () => this.unknown())
    if (!this.followed) this.awaitNews()
  }

  private awaitNews(): void {
    const { clock, silenceMs } = this.options
    this.cancelSilence()
    this.cancelSilence = clock.after(silenceMs, () => void this.silent())
  }

  /** Some carriers never report (despite RFC 3515 §2.4.4) and end the call when they have connected both parties. */
  private async silent(): Promise<void> {
    const { dialog, credentials, clock, log } = this.options
    const asked = askInDialog(dialog, { method: 'OPTIONS' }, credentials).catch(() => null)
    const status = (await within(clock, LIVES_WAIT_MS, null, asked))?.res.status ?? null
    log.info({ sip_code: status }, 'checked the call after silence during a transfer')
    if (status === 481) this.settle({ ok: true })
    else this.unknown()
  }

  private unknown(): void {
    this.settle(
      transferFailed('unknown', 'The carrier did not say whether the transfer worked. The caller is still here.'),
    )
  }

  /** Handles a NOTIFY of the dialog; returns the status to answer it with. */
  notified(req: SipIn): number {
    if (!/^\s*refer\s*(?:;|$)/i.test(req.get('Event') ?? '')) return 489
    const status = sipfragStatus(req.body)
    if (status === null) return 400
    // A NOTIFY may overtake the answer to the REFER.
    this.accepted = true
    this.followed = true
    this.cancelSilence()
    if (status >= 300) this.settle(transferFailed('failed', outcomeOf(status, true).message))
    else if (status >= 200) this.settle({ ok: true })
    // No further NOTIFY follows. Hanging up now might drop the caller; the carrier does it once it has connected both.
    else if (/^\s*terminated/i.test(req.get('Subscription-State') ?? '')) this.awaitNews()
    return 200
  }

  /** The call has ended. A carrier that accepted the REFER and then hangs up has completed the transfer. */
  over(): void {
    this.settle(this.accepted ? { ok: true } : transferFailed('gone', 'The call has ended.'))
  }
}
