/**
 * Refreshes a session (RFC 4028) a little before the signalling server would: the server has no password, and some
 * carriers challenge every request of a call.
 */
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import { type Agreed, agreeAsClient, agreeAsServer } from '../../server/session-plan.ts'
import type { Header, SipRequest, SipResponse } from '../../text/message.ts'
import { type Asked, askInDialog } from '../requests/ask.ts'
import type { Credentials } from '../requests/credentials.ts'
import { secondsIn } from '../requests/outcome.ts'
import type { SipIn, SrfDialog } from '../requests/srf.ts'

export interface SessionOptions {
  dialog: SrfDialog
  credentials: Credentials
  clock: Clock
  log: Log
  /** Our latest description, repeated in a re-INVITE that changes nothing (§7.4). */
  description(): string
  /** Receives the SDP answer to that re-INVITE. */
  onAnswer(sdp: string): void
  /** The far end no longer knows the call, or does not respond. */
  onGone(): void
}

/**
 * Fraction of the interval after which we refresh. The server does so at 45 % of the shortest interval, and later for
 * others (`refreshAfter`).
 */
const SHARE = 0.42
/** Longest Min-SE accepted: nobody has a reason to require more than a day. */
const LONGEST_SECONDS = 86_400
/** Milliseconds to wait after glare (RFC 3261 §14.1): the caller waits longer. */
const GLARE_MS = { uac: { least: 2100, spread: 1900 }, uas: { least: 0, spread: 2000 } }
const SESSION_HEADERS = ['Session-Expires', 'Supported', 'Require']

const headersOf = (message: SipIn): Header[] =>
  SESSION_HEADERS.flatMap(name => {
    const value = message.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
const body = Buffer.alloc(0)
const requestOf = (message: SipIn): SipRequest => ({
  kind: 'request',
  method: message.method,
  uri: message.uri,
  headers: headersOf(message),
  body,
})
const responseOf = (headers: readonly Header[]): SipResponse => ({
  kind: 'response',
  status: 200,
  reason: 'OK',
  headers,
  body,
})

/** The agreement that the signalling server adds to our 2xx on its own. */
const agreedAnswering = (request: SipIn): Agreed | null => agreeAsServer(requestOf(request), responseOf([])).agreed

const agreedAtFirst = ({ type, req, res }: SrfDialog): Agreed | null =>
  type === 'uac' ? agreeAsClient(responseOf(headersOf(res))) : agreedAnswering(req)

/** Prefers UPDATE, which leaves the description unchanged (§7.4). */
function methodFor({ type, req, res }: SrfDialog): 'UPDATE' | 'INVITE' {
  const allow = (type === 'uac' ? res : req).get('Allow') ?? ''
  return allow.split(',').some(method => method.trim().toUpperCase() === 'UPDATE') ? 'UPDATE' : 'INVITE'
}

export class SessionRefresh {
  readonly #options: SessionOptions
  #agreed: Agreed | null = null
  #cancel: () => void = () => {}
  #over = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#agree(agreedAtFirst(options.dialog))
  }

  /** A re-INVITE or UPDATE from the far end that we accepted decides again who refreshes. */
  answered(request: SipIn): void {
    const agreed = agreedAnswering(request)
    if (agreed !== null || request.method === 'INVITE') this.#agree(agreed)
  }

  close(): void {
    this.#over = true
    this.#cancel()
  }

  #agree(agreed: Agreed | null): void {
    this.#cancel()
    this.#agreed = agreed
    if (agreed?.weRefresh) this.#wait(agreed.seconds * 1000 * SHARE)
  }

  #wait(ms: number): void {
    this.#cancel()
    if (!this.#over) this.#cancel = this.#options.clock.after(ms, () => void this.#refresh())
  }

  async #refresh(): Promise<void> {
    const agreed = this.#agreed
    if (agreed === null || this.#over) return
    try {
      const first = await this.#ask(agreed.seconds, null)
      const least = first.res.status === 422 ? secondsIn(first.res.get('Min-SE')) : null
      const longer = least !== null && least > agreed.seconds && least <= LONGEST_SECONDS ? least : null
      const { res } = longer === null ? first : await this.#ask(longer, longer)
      // Skipped when the far end has changed the agreement meanwhile.
      if (!this.#over && this.#agreed === agreed) this.#refreshed(res, { ...agreed, seconds: longer ?? agreed.seconds })
    } catch (error) {
      // Without the signalling server the call no longer exists, and the leg is informed of that.
      this.#options.log.debug({ err: error }, 'sending session refresh failed')
    }
  }

  #ask(seconds: number, least: number | null): Promise<Asked> {
    const { dialog, credentials, description } = this.#options
    const method = methodFor(dialog)
    const headers = {
      'Session-Expires': `${seconds};refresher=uac`,
      Supported: 'timer',
      ...(least === null ? {} : { 'Min-SE': String(least) }),
      ...(dialog.local.contact === undefined ? {} : { Contact: dialog.local.contact }),
    }
    if (method === 'UPDATE') return askInDialog(dialog, { method, headers }, credentials)
    const offer = { ...headers, 'Content-Type': 'application/sdp' }
    return askInDialog(dialog, { method, headers: offer, body: description() }, credentials)
  }

  #refreshed(res: Asked['res'], asked: Agreed): void {
    const { dialog, log, onAnswer, onGone } = this.#options
    const { status } = res
    if (status < 300) {
      if (res.body) onAnswer(res.body)
      // An answer without Session-Expires does not end the agreed session.
      this.#agree(agreeAsClient(responseOf(headersOf(res))) ?? asked)
    } else if (status === 491) {
      const { least, spread } = GLARE_MS[dialog.type]
      this.#wait(least + spread * Math.random())
    } else if (status === 481 || status === 408) onGone()
    else {
      log.warn({ sip_code: status }, 'session refresh failed')
      // The server also refreshes meanwhile, and ends the call if that fails too.
      this.#wait(asked.seconds * 1000 * SHARE)
    }
  }
}
