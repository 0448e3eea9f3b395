/** Where codes for new passwords go: to a mail server that takes them, or to a folder that somebody must look into. */
import { existsSync, readdirSync } from 'node:fs'
import { mailFolder } from '../adapters/mail.ts'
import { isRemote, type SmtpFailure, trySmtp } from '../adapters/mail-smtp.ts'
import type { Config } from '../config/config.ts'
import type { SmtpPlace } from '../config/mail.ts'
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

/** Name, connection, greeting and login may each take nearly as long as is allowed. */
const ask = (place: SmtpPlace): Promise<SmtpFailure | null> =>
  inTime(trySmtp(place, ANSWER_MS), 2 * ANSWER_MS).catch(() => LATE)

/** `failure`: why nothing can be sent; null: it can. */
export function judgeSmtp(place: SmtpPlace, failure: SmtpFailure | null): Finding {
  const { host, port, tls, login } = place
  const name = `${host}:${port}`
  if (failure === null) {
    const how = isRemote(place) || tls ? 'with TLS' : 'on this machine'
    return say.ok(`${name} answers, ${how}${login ? ', and takes our login' : '; it asks for no login'}.`)
  }
  switch (failure.fault) {
    case 'away': {
      const todo = 'Look at host and port in SMTP_URL, and whether a firewall lets us out: many close ports for mail.'
      return say.bad(`${name}: ${failureOf(failure)}.`, todo)
    }
    case 'no_tls': {
      const wanted = tls ? 'does not speak TLS from the first byte' : 'offers no STARTTLS'
      const todo = tls
        ? 'Write smtp:// where it offers STARTTLS, which is usual at port 587.'
        : 'Write its port for mail from programs (587), or smtps:// and 465. Unencrypted, nothing is sent.'
      return say.bad(`${name} ${wanted}.`, todo)
    }
    case 'certificate': {
      const todo =
        'Write the name that stands in it into SMTP_URL; an authority of your own goes to NODE_EXTRA_CA_CERTS.'
      return say.bad(`${name}: its certificate is not one to trust.`, todo)
    }
    case 'login': {
      const todo =
        'Look at user and password in SMTP_URL: @ : / % are percent-encoded there, and many providers want a password for programs.'
      return say.bad(
        `${name} refuses user or password${failure.responseCode ? ` (${failure.responseCode})` : ''}.`,
        todo,
      )
    }
    case 'refused': {
      const todo = 'Its log says why; it may want a login, or not this address of ours.'
      return say.bad(`${name} answers with ${failure.responseCode ?? failure.code}.`, todo)
    }
  }
}

export function judgeFolder(found: { folder: string; waiting: number; open: boolean; signUp: boolean }): Finding {
  const { folder, waiting, open, signUp } = found
  const text = `It is not sent, but kept for a day in ${folder}; ${many(waiting, 'message')} ${waiting === 1 ? 'lies' : 'lie'} there.`
  if (!open || !signUp) return say.ok(text)
  const todo =
    'Set SMTP_URL and MAIL_FROM, or let the operator alone make accounts (SIGN_UP=off): nobody else can reset a password.'
  return say.warn(text, todo)
}
