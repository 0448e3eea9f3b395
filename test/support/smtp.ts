/** A mail server on this machine (smtp-server): what it was told, and what it says to it. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { Pair } from '../sip/server/far.ts'

export interface TakenMail {
  from: string
  to: string[]
  /** As it came, headers first. */
  raw: string
  secure: boolean
  user: string | null
}

export interface SmtpBehaviour {
  /** Where it listens: at a free port of `127.0.0.1` unless told. */
  host?: string
  port?: number
  /** Its certificate, for STARTTLS; without one it offers none. */
  pair?: Pair
  /** TLS from the first byte. */
  implicit?: boolean
  /** Who may log in, and must. */
  login?: { user: string; password: string }
  /** What it answers to the recipient of the n-th message, from 1; null: it is taken. */
  refuse?: (nth: number) => { code: number; text: string } | null
}

export interface TestSmtp {
  port: number
  taken: TakenMail[]
  /** Recipients that it was asked for, taken or not. */
  asked: string[]
  /** Those who tried to log in. */
  logins: string[]
  close(): Promise<void>
}

export async function startSmtp(behaviour: SmtpBehaviour = {}): Promise<TestSmtp> {
  const { host = '127.0.0.1', port = 0, pair, implicit = false, login, refuse = () => null } = behaviour
  const [taken, asked, logins]: [TakenMail[], string[], string[]] = [[], [], []]
  const server = new SMTPServer({
    ...(pair ? { cert: pair.cert, key: pair.key } : {}),
    secure: implicit,
    disabledCommands: [...(pair ? [] : ['STARTTLS']), ...(login ? [] : ['AUTH'])],
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: !pair,
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 1,
    onAuth({ username, password }, _session, done) {
      logins.push(username ?? '')
      if (username === login?.user && password === login?.password) done(null, { user: username ?? '' })
      else done(Object.assign(new Error(`no such ${username} with ${password}`), { responseCode: 535 }))
    },
    onRcptTo({ address }, _session, done) {
      asked.push(address)
      const refusal = refuse(asked.length)
      done(refusal === null ? null : Object.assign(new Error(refusal.text), { responseCode: refusal.code }))
    },
    onData(stream, session, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        taken.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(parts).toString('utf8'),
          secure: session.secure,
          user: typeof session.user === 'string' ? session.user : null,
        })
        done()
      })
    },
  })
  server.on('error', () => {}) // a client that hangs up in its middle
  server.listen(port, host)
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    taken,
    asked,
    logins,
    close: () => new Promise<void>(resolve => void server.close(() => resolve())),
  }
}
