/**
 * Sends mail over SMTP (RFC 5321) with one connection per message, since there are few. TLS is required except to a
 * server on this machine, because the messages contain account codes. When the server is unreachable or reports a
 * temporary failure, delivery is retried for some minutes, from memory only: a person who waits longer requests another
 * code.
 *
 * Server responses may quote the recipient, so only error codes leave this file.
 */
import { getSystemErrorName } from 'node:util'
import { createTransport } from 'nodemailer'
import type { Mail } from '../../control/deps.ts'
import type { Clock } from '../../media/shared/clock.ts'
import type { Log } from '../../media/shared/log.ts'
import { bareHost, isLoopback } from '../config/hosts.ts'
import type { Mailbox, SmtpServer } from '../config/mail.ts'
import { systemClock } from './clock.ts'

/** Delays before the second and later attempts, in ms. Greylisting servers require five minutes (RFC 6647 §5). */
const AGAIN_MS = [15_000, 60_000, 300_000]

export type SmtpFault =
  /** Unreachable, or the server closed the connection. */
  | 'away'
  | 'no_tls'
  | 'certificate'
  | 'login'
  /** The server was reached and refuses. */
  | 'refused'

export interface SmtpFailure {
  fault: SmtpFault
  /** The error code of Node or nodemailer. */
  code: string
  /** RFC 5321 §4.2; null when the server did not answer. */
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
  /** Cancels pending retries. */
  close(): void
}

export interface SmtpOptions {
  place: SmtpServer
  from: Mailbox
  log: Log
  clock?: Clock
  againMs?: readonly number[]
}

type Message = Parameters<Mail['send']>[0]

/**
 * `send` resolves when the server has accepted the message, or a retry is scheduled; it rejects when the server refuses
 * it.
 */
export function createSmtpMail({ place, from, log, clock = systemClock, againMs = AGAIN_MS }: SmtpOptions): SmtpMail {
  const transport = createTransport(optionsFor(place))
  /** Functions that cancel pending retries. */
  const waiting = new Set<() => void>()
  let closed = false

  async function attempt(message: Message, tries: number): Promise<void> {
    const failure = await sendOnce(message)
    if (failure === null) {
      if (tries > 1) log.info({ tries }, 'mail sent after retry')
      return
    }
    const gap = isTemporary(failure) && !closed ? againMs[tries - 1] : undefined
    if (gap === undefined) throw new MailError(failure)
    log.warn({ ...fieldsOf(failure, tries), again_in_ms: gap }, 'sending mail failed, retry scheduled')
    const cancel = clock.after(gap, () => {
      waiting.delete(cancel)
      attempt(message, tries + 1).catch((error: MailError) =>
        log.error({ code: error.code, reason: error.message, tries: tries + 1 }, 'sending mail failed'),
      )
    })
    waiting.add(cancel)
  }

  async function sendOnce({ to, subject, text }: Message): Promise<SmtpFailure | null> {
    try {
      await transport.sendMail({
        from,
        to: { name: '', address: to }, // a single address, whatever the text contains
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated' }, // RFC 3834: prevents automatic replies
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
      if (waiting.size > 0) log.warn({ messages: waiting.size }, 'mail retries canceled')
      for (const cancel of waiting) cancel()
      waiting.clear()
      transport.close()
    },
  }
}

/** Connects and logs in as for a message. Returns null on success, otherwise the failure. */
export async function trySmtp(place: SmtpServer, ms: number): Promise<SmtpFailure | null> {
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

/** True when traffic to the server crosses a network and must be encrypted. */
export const isRemote = ({ host }: SmtpServer): boolean => !isLoopback(host)

export function optionsFor(place: SmtpServer) {
  const { host, port, tls, login } = place
  const remote = isRemote(place)
  return {
    host: host === 'localhost' ? '127.0.0.1' : bareHost(host), // never resolved by DNS (RFC 6761 §6.3)
    port,
    secure: tls,
    requireTLS: remote && !tls,
    // On this machine nobody is in between, and a local server's certificate is often self-signed.
    tls: { rejectUnauthorized: remote },
    // Forced: otherwise mail would be refused later, for another reason than the missing login.
    ...(login ? { auth: { user: login.user, pass: login.password }, forceAuth: true } : {}),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    dnsTimeout: 10_000,
    logger: false,
    debug: false,
  }
}

/** nodemailer uses one code for all socket errors; certificate errors are recognised by OpenSSL's message only. */
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

/** True when a retry may succeed: the server says so (RFC 5321 §4.2.1: 4yz), or was unreachable. */
export const isTemporary = ({ fault, responseCode }: SmtpFailure): boolean =>
  responseCode === null ? fault === 'away' : responseCode >= 400 && responseCode < 500

const fieldsOf = ({ fault, code, responseCode }: SmtpFailure, tries: number) => ({
  fault,
  code,
  tries,
  ...(responseCode === null ? {} : { response_code: responseCode }),
})
