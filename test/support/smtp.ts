/** A mail server on this machine (smtp-server) with scripted answers and a record of messages. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { Pair } from '../sip/server/far.ts'

export interface TakenMail {
  from: string
  to: string[]
  /** The raw message, headers first. */
  raw: string
  secure: boolean
  user: string | null
}

export interface SmtpBehaviour {
  /** Listening address; a free port of `127.0.0.1` by default. */
  host?: string
  port?: number
  /** Its certificate for STARTTLS, which is off without one. */
  pair?: Pair
  /** TLS from the first byte. */
  implicit?: boolean
  /** The required login. */
  login?: { user: string; password: string }
  /** The answer to the recipient of the n-th message, from 1; null accepts it. */
  refuse?: (nth: number) => { code: number; text: string } | null
}

export interface TestSmtp {
  port: number
  taken: TakenMail[]
  /** Recipients requested, accepted or not. */
  asked: string[]
  /** Users who tried to log in. */
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
  server.on('error', () => {}) // a client that disconnects mid-session
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
