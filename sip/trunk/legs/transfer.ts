/**
 * A call given to somebody else by REFER (RFC 3515): the carrier dials (RFC 5589 §6.1), or connects two calls that it has
 * with us (§7.1, RFC 3891), and we are told how that goes.
 */
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { TransferFailure, TransferResult } from '../../../media/ports/leg.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import { within } from '../../../media/shared/within.ts'
import { parseUri } from '../../text/uri.ts'
import { type Asked, askInDialog } from '../requests/ask.ts'
import type { Credentials } from '../requests/credentials.ts'
import { challengeWords, verdictOf } from '../requests/outcome.ts'
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
  /** The number of ours in this call. */
  readonly own: string
  readonly clock: Clock
  readonly log: Log
  /** With no NOTIFY for so long the carrier is asked whether the call is still there. */
  readonly silenceMs: number
}

/** Longer than people let it ring. */
const OUTCOME_WAIT_MS = 60_000
const LIVES_WAIT_MS = 4000

/** Who is meant by a number, a tel: or a SIP URI; null when it is none of them. */
export function referTo(to: string, trunk: TrunkPlan): string | null {
  const text = to.trim()
  const uri = parseUri(text)
  // Headers would become headers of the carrier's INVITE (RFC 3261 §19.1.5).
  if (uri?.scheme === 'sip' || uri?.scheme === 'sips') return uri.headers === null ? text : null
  const number = (uri?.scheme === 'tel' ? uri.number : text).replace(/[\s().-]/g, '')
  return /^\+?\d{2,15}$/.test(number) ? accountUri(trunk, outgoingNumber(number, trunk)) : null
}

/** The other end of a call of ours, for somebody who is to take our place in it (RFC 3891 §3, RFC 5589 §7.1). */
export function referToReplacing({ remote, sip }: Pick<SrfDialog, 'remote' | 'sip'>): string | null {
  const contact = parseUri(remote.uri)
  if ((contact?.scheme !== 'sip' && contact?.scheme !== 'sips') || contact.headers !== null) return null
  const { callId, localTag, remoteTag } = sip
  // The tags as who gets it sees them: its own is `to`.
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
  /** The carrier took the order. */
  accepted = false
  private readonly options: TransferOptions
  private settle: (result: TransferResult) => void = () => {}
  private cancelWait: () => void = () => {}
  private cancelSilence: () => void = () => {}
  /** A NOTIFY has come: more will. */
  private followed = false

  /** `target`: a URI for Refer-To; null: there is none for who is asked for. */
  constructor(options: TransferOptions, target: string | null) {
    this.options = options
    this.result = new Promise(resolve => {
      this.settle = resolve
    })
    if (target === null) this.settle(transferFailed('invalid', 'Nobody can be called under this.'))
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
      log.warn({ err: error, trunk_id: trunk.id }, 'REFER could not be sent')
      this.settle(transferFailed('gone', 'The call is over.'))
      return
    }
    const { res, refused } = asked
    log.info({ trunk_id: trunk.id, sip_code: res.status }, 'REFER answered')
    if (res.status >= 300) {
      const words = refused === null ? 'The carrier does not transfer calls.' : challengeWords(refused)
      this.settle(transferFailed('refused', words))
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

  /** Some carriers never tell (RFC 3515 §2.4.4 notwithstanding), and let the call end when they have connected both. */
  private async silent(): Promise<void> {
    const { dialog, credentials, clock, log } = this.options
    const asked = askInDialog(dialog, { method: 'OPTIONS' }, credentials).catch(() => null)
    const status = (await within(clock, LIVES_WAIT_MS, null, asked))?.res.status ?? null
    log.info({ sip_code: status }, 'carrier was asked what became of a transfer')
    if (status === 481) this.settle({ ok: true })
    else this.unknown()
  }

  private unknown(): void {
    this.settle(
      transferFailed('unknown', 'The carrier did not say whether the transfer worked. The caller is still here.'),
    )
  }

  /** A NOTIFY of the dialog; returns the status to answer it with. */
  notified(req: SipIn): number {
    if (!/^\s*refer\s*(?:;|$)/i.test(req.get('Event') ?? '')) return 489
    const status = sipfragStatus(req.body)
    if (status === null) return 400
    // It may overtake the answer to the REFER.
    this.accepted = true
    this.followed = true
    this.cancelSilence()
    if (status >= 300) this.settle(transferFailed('failed', verdictOf(status, true).words))
    else if (status >= 200) this.settle({ ok: true })
    // No more will be said. To hang up now might drop the caller; the carrier does it when it has connected both.
    else if (/^\s*terminated/i.test(req.get('Subscription-State') ?? '')) this.awaitNews()
    return 200
  }

  /** The call has ended: a carrier that took the order and then hangs up on us has done what it was asked for. */
  over(): void {
    this.settle(this.accepted ? { ok: true } : transferFailed('gone', 'The call is over.'))
  }
}
