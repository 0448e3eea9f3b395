/**
 * Mail by SMTP (RFC 5321), a connection a message, as there are few. It goes by TLS, but to a server on this machine: what is
 * in it opens accounts. A server that is away, or says "later", is asked again for some minutes, from memory alone: a person
 * who waits for longer asks for another code.
 *
 * What servers answer may quote the recipient, so of a failure only its codes leave this file.
 */
import { getSystemErrorName } from 'node:util'
import { createTransport } from 'nodemailer'
import type { Mail } from '../../control/deps.ts'
import type { Clock } from '../../media/shared/clock.ts'
import type { Log } from '../../media/shared/log.ts'
import { bareHost, isLoopback } from '../config/hosts.ts'
import type { Mailbox, SmtpPlace } from '../config/mail.ts'
import { systemClock } from './clock.ts'

/** Before the second try and those after it, in ms. Servers that greylist want five minutes (RFC 6647, 5). */
const AGAIN_MS = [15_000, 60_000, 300_000]

export type SmtpFault =
  /** Not reached, or it hung up. */
  | 'away'
  | 'no_tls'
  | 'certificate'
  | 'login'
  /** It was reached, and says no. */
  | 'refused'

export interface SmtpFailure {
  fault: SmtpFault
  /** As Node or nodemailer name it. */
  code: string
  /** RFC 5321, 4.2; null: no answer came. */
  responseCode: number | null
}

export class MailError extends Error {
  readonly code: string

  constructor({ fault, code, responseCode }: SmtpFailure) {
    super(`the mail server${responseCode === null ? `: ${fault}` : ` said ${responseCode}`} (${code})`)
    this.name = 'MailError'
    this.code = code
  }
}

export interface SmtpMail extends Mail {
  /** Gives up what waits to be sent again. */
  close(): void
}

export interface SmtpOptions {
  place: SmtpPlace
  from: Mailbox
  log: Log
  clock?: Clock
  againMs?: readonly number[]
}

type Message = Parameters<Mail['send']>[0]

/** `send` resolves when the server has the message, or will be asked again; it rejects when the server will not have it. */
export function createSmtpMail({ place, from, log, clock = systemClock, againMs = AGAIN_MS }: SmtpOptions): SmtpMail {
  const transport = createTransport(optionsFor(place))
  /** What cancels each of those that wait. */
  const waiting = new Set<() => void>()
  let closed = false

  async function attempt(message: Message, tries: number): Promise<void> {
    const failure = await sendOnce(message)
    if (failure === null) {
      if (tries > 1) log.info({ tries }, 'mail was sent at last')
      return
    }
    const gap = isTemporary(failure) && !closed ? againMs[tries - 1] : undefined
    if (gap === undefined) throw new MailError(failure)
    log.warn({ ...fieldsOf(failure, tries), again_in_ms: gap }, 'mail was not taken, and is sent again')
    const cancel = clock.after(gap, () => {
      waiting.delete(cancel)
      attempt(message, tries + 1).catch((error: MailError) =>
        log.error({ code: error.code, reason: error.message, tries: tries + 1 }, 'mail was not sent'),
      )
    })
    waiting.add(cancel)
  }

  async function sendOnce({ to, subject, text }: Message): Promise<SmtpFailure | null> {
    try {
      await transport.sendMail({
        from,
        to: { name: '', address: to }, // one address, whatever stands in it
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated' }, // RFC 3834: nobody's absence is to answer it
        xMailer: false,
        disableFileAccess: true,
        disableUrlAccess: true,
      })
      return null
    } catch (error) {
      return smtpFailure(error)
    }
  }

  return {
    send: message => attempt(message, 1),
    close() {
      closed = true
      if (waiting.size > 0) log.warn({ messages: waiting.size }, 'mail that was to be sent again is given up')
      for (const cancel of waiting) cancel()
      waiting.clear()
      transport.close()
    },
  }
}

/** Connects, and logs in, as for a message. Null: it can be sent to. Else why not. */
export async function trySmtp(place: SmtpPlace, ms: number): Promise<SmtpFailure | null> {
  const limits = { connectionTimeout: ms, greetingTimeout: ms, socketTimeout: ms, dnsTimeout: ms }
  const transport = createTransport({ ...optionsFor(place), ...limits })
  try {
    await transport.verify()
    return null
  } catch (error) {
    return smtpFailure(error)
  } finally {
    transport.close()
  }
}

/** Whether what is said to it crosses a network, and so must be encrypted. */
export const isRemote = ({ host }: SmtpPlace): boolean => !isLoopback(host)

export function optionsFor(place: SmtpPlace) {
  const { host, port, tls, login } = place
  const remote = isRemote(place)
  return {
    host: host === 'localhost' ? '127.0.0.1' : bareHost(host), // never a name server's answer (RFC 6761, 6.3)
    port,
    secure: tls,
    requireTLS: remote && !tls,
    // Nobody is between us and this machine, and what runs here mostly has a certificate of its own making.
    tls: { rejectUnauthorized: remote },
    // Forced: without a login that was asked for, mail would be refused later, and for another reason.
    ...(login ? { auth: { user: login.user, pass: login.password }, forceAuth: true } : {}),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    dnsTimeout: 10_000,
    logger: false,
    debug: false,
  }
}

/** nodemailer gives all that befalls a socket one code; whose certificate is wrong is in the words of OpenSSL alone. */
export function smtpFailure(error: unknown): SmtpFailure {
  const { code, errno, responseCode, message } = (error ?? {}) as Record<string, unknown>
  const word = typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'ECONNECTION'
  const said = typeof responseCode === 'number' ? responseCode : null
  const system = typeof errno === 'number' && errno < 0 ? getSystemErrorName(errno) : null
  return { fault: faultOf(word, said, String(message)), code: CODES[word] ?? system ?? word, responseCode: said }
}

const CODES: Record<string, string> = { EDNS: 'ENOTFOUND' }

function faultOf(code: string, responseCode: number | null, message: string): SmtpFault {
  if (code === 'EAUTH' || code === 'ENOAUTH') return 'login'
  if (responseCode !== null) return code === 'ETLS' ? 'no_tls' : 'refused'
  if (/certificate|altname|unable to (?:get|verify)/i.test(message)) return 'certificate'
  if (code === 'ETLS' || /wrong version|ssl routines/i.test(message)) return 'no_tls'
  return AWAY.has(code) ? 'away' : 'refused'
}

const AWAY = new Set(['ECONNECTION', 'ETIMEDOUT', 'ESOCKET', 'EDNS', 'EPROTOCOL'])

/** It may be taken later: the server says so (RFC 5321, 4.2.1: 4yz), or was not there. */
export const isTemporary = ({ fault, responseCode }: SmtpFailure): boolean =>
  responseCode === null ? fault === 'away' : responseCode >= 400 && responseCode < 500

const fieldsOf = ({ fault, code, responseCode }: SmtpFailure, tries: number) => ({
  ...{ fault, code, tries },
  ...(responseCode === null ? {} : { response_code: responseCode }),
})
