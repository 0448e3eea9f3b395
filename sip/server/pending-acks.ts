import { headerOf } from '../text/message.ts'
import { parseCSeq } from '../text/validate.ts'
import type { Core } from './core.ts'
import type { Dialog } from './dialogs.ts'
import { hangUp } from './hangup.ts'
import { repeatResponse } from './repeats.ts'
import type { ServerTxn } from './transactions.ts'

type Answer = { readonly txnId: string; readonly seq: number; readonly stop: () => void }

/** Our 2xx answers that await their ACK (RFC 3261 §13.3.1.4), by dialog. */
export class PendingAcks {
  private readonly core: Core
  private readonly open = new Map<string, Answer>()

  constructor(core: Core) {
    this.core = core
  }

  get size(): number {
    return this.open.size
  }

  /**
   * Starts to repeat the 2xx that went out as `bytes`. Without an ACK within 64*T1 the server ends the call with a BYE.
   */
  sent(txn: ServerTxn, dialog: Dialog, bytes: Buffer): void {
    const wanted = (): boolean => {
      if (dialog.phase === 'ended') this.open.delete(dialog.id)
      return dialog.phase !== 'ended'
    }
    const onGiveUp = (): void => {
      this.open.delete(dialog.id)
      void hangUp(this.core, dialog, 'ACK timeout')
    }
    const { t1, t2 } = this.core.timers
    this.open.get(dialog.id)?.stop()
    const stop = repeatResponse({ bytes, flow: txn.flow, wanted, onGiveUp }, t1, t2)
    const seq = parseCSeq(headerOf(txn.request, 'CSeq') ?? '')?.seq ?? 0
    this.open.set(dialog.id, { txnId: txn.id, seq, stop })
  }

  /**
   * Handles the ACK. Returns the transaction id of the INVITE that it acknowledges; null when no answer awaits it (any
   * more).
   */
  acknowledged(dialog: Dialog, seq: number | null): string | null {
    const answer = this.open.get(dialog.id)
    if (answer === undefined || answer.seq !== seq) return null
    answer.stop()
    this.open.delete(dialog.id)
    return answer.txnId
  }

  close(): void {
    for (const answer of this.open.values()) answer.stop()
    this.open.clear()
  }
}
