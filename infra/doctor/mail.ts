/** Findings about mail for password codes: the mail server, or the local directory. */
import { existsSync, readdirSync } from 'node:fs'
import { mailFolder } from '../adapters/mail.ts'
import { isRemote, type SmtpFailure, trySmtp } from '../adapters/mail-smtp.ts'
import type { Config } from '../config/config.ts'
import type { SmtpServer } from '../config/mail.ts'
import { ANSWER_MS, about, type Finding, failureOf, inTime, many } from './finding.ts'
import { isOpen } from './web.ts'

const say = about('Mail')

export async function examineMail(config: Config): Promise<Finding[]> {
  const place = config.SMTP_URL
  if (place !== undefined) return [judgeSmtp(place, await ask(place))]
  const folder = mailFolder(config.home)
  const waiting = existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.txt')).length : 0
  return [judgeFolder({ folder, waiting, open: isOpen(config), signUp: config.SIGN_UP === 'on' })]
}

const LATE: SmtpFailure = { fault: 'away', code: 'ETIMEDOUT', responseCode: null }

/** Milliseconds: name, connection, greeting and login may each take nearly the full timeout. */
const ask = (place: SmtpServer): Promise<SmtpFailure | null> =>
  inTime(trySmtp(place, ANSWER_MS), 2 * ANSWER_MS).catch(() => LATE)

/** `failure`: why mail cannot be sent; null when it can. */
export function judgeSmtp(place: SmtpServer, failure: SmtpFailure | null): Finding {
  const { host, port, tls, login } = place
  const name = `${host}:${port}`
  if (failure === null) {
    const how = isRemote(place) || tls ? 'with TLS' : 'on this machine'
    return say.ok(`${name} answers, ${how}${login ? ', and accepts our login' : ', without login'}.`)
  }
  switch (failure.fault) {
    case 'away': {
      const todo =
        'Check the host and port in SMTP_URL, and that a firewall allows outgoing mail: many block its ports.'
      return say.error(`${name}: ${failureOf(failure)}.`, todo)
    }
    case 'no_tls': {
      const wanted = tls ? 'does not speak TLS from the first byte' : 'offers no STARTTLS'
      const todo = tls
        ? 'Use smtp:// if the server offers STARTTLS, which is usual on port 587.'
        : 'Use its submission port (587), or smtps:// and 465. Mail is never sent unencrypted.'
      return say.error(`${name} ${wanted}.`, todo)
    }
    case 'certificate': {
      const todo = 'Use the certificate’s host name in SMTP_URL. For a private CA, set NODE_EXTRA_CA_CERTS.'
      return say.error(`${name}: its certificate is not trusted.`, todo)
    }
    case 'login': {
      const todo =
        'Check the user and password in SMTP_URL. Percent-encode @ : / %. Many providers require an app password.'
      return say.error(
        `${name} rejects the user or password${failure.responseCode ? ` (${failure.responseCode})` : ''}.`,
        todo,
      )
    }
    case 'refused': {
      const todo = 'See its log. It may require a login, or reject our address.'
      return say.error(`${name} answered with ${failure.responseCode ?? failure.code}.`, todo)
    }
  }
}

export function judgeFolder(found: { folder: string; waiting: number; open: boolean; signUp: boolean }): Finding {
  const { folder, waiting, open, signUp } = found
  const text = `Mail is not sent but kept for a day in ${folder}, now ${many(waiting, 'message')}.`
  if (!open || !signUp) return say.ok(text)
  const todo =
    'Set SMTP_URL and MAIL_FROM, or let only the operator create accounts (SIGN_UP=off). Until then users cannot reset their passwords.'
  return say.warning(text, todo)
}
