/**
 * Mail by SMTP, with real servers on this machine that accept it, reject it, respond late or lack a required feature.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { createPerson, requestReset } from '../../control/access/login/login.ts'
import { hashPassword } from '../../control/access/login/passwords.ts'
import { backgroundDone } from '../../control/platform/jobs/background.ts'
import { errorFields } from '../../control/platform/log.ts'
import { createSmtpMail, type SmtpMail, smtpFailure, trySmtp } from '../../infra/adapters/mail-smtp.ts'
import { readConfig } from '../../infra/config/config.ts'
import { readSmtpUrl } from '../../infra/config/mail.ts'
import { buildControlParts } from '../../infra/wiring/parts.ts'
import type { Clock } from '../../media/shared/clock.ts'
import { testPair } from '../sip/server/pair.ts'
import { createDatabase } from '../support/database.ts'
import { closedPort, examineByProgram } from '../support/doctor.ts'
import { lacks } from '../support/needs.ts'
import { type SmtpBehaviour, startSmtp, type TestSmtp } from '../support/smtp.ts'
import { recordingLog, until } from '../support/world.ts'

/** An address of this machine that is not a loopback address, so mail to it must be encrypted. */
const ELSEWHERE = '0.0.0.0'
const LOGIN = { user: 'robot@parley.test', password: 'p@ss:w/rd%' }
const USERINFO = `${encodeURIComponent(LOGIN.user)}:${encodeURIComponent(LOGIN.password)}`
const MESSAGE = { to: 'ivan@example.com', subject: 'New password', text: 'The code is tk-4711.\n.\nBye' }
const LATER = { code: 451, text: `4.7.1 <${MESSAGE.to}>: come back later` }
const NEVER = { code: 550, text: `5.1.1 <${MESSAGE.to}>: nobody of this name` }

/** Hands that a test moves. */
function handClock(): Clock & { gaps: number[]; ring(): void } {
  const waiting: (() => void)[] = []
  const gaps: number[] = []
  return {
    gaps,
    now: () => 0,
    wall: () => 0,
    after(ms, run) {
      gaps.push(ms)
      waiting.push(run)
      return () => void waiting.splice(waiting.indexOf(run) >>> 0, 1)
    },
    ring: () => waiting.shift()?.(),
  }
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-mail-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

let log: ReturnType<typeof recordingLog>
let clock: ReturnType<typeof handClock>
let open: { close(): unknown }[] = []
let failures: unknown[] = []
beforeEach(() => {
  log = recordingLog()
  clock = handClock()
})
afterEach(async () => {
  for (const one of open.reverse()) await one.close()
  const told = JSON.stringify([log.lines, failures.map(errorFields)])
  for (const secret of [MESSAGE.to, 'tk-4711', LOGIN.user, LOGIN.password, USERINFO]) expect(told).not.toContain(secret)
  open = []
  failures = []
})

async function serve(behaviour: SmtpBehaviour = {}): Promise<TestSmtp> {
  const server = await startSmtp(behaviour)
  open.push(server)
  return server
}

function mailTo(url: string): SmtpMail {
  const mail = createSmtpMail({
    place: readSmtpUrl(url)!,
    from: { name: 'Parley', address: 'parley@example.com' },
    log,
    clock,
  })
  open.push(mail)
  return mail
}

async function failureOf(work: Promise<void>): Promise<Record<string, unknown>> {
  const error = await work.then(
    () => expect.fail('it was sent'),
    (failure: unknown) => failure,
  )
  failures.push(error)
  return errorFields(error)
}

const messages = () => log.lines.map(({ level, message }) => `${level} ${message}`)
const AGAIN = 'warn sending mail failed, retry scheduled'

/** Headers by their names in small letters, and the text. */
function read(raw: string): { headers: Record<string, string>; text: string } {
  const [head, ...rest] = raw.split('\r\n\r\n')
  const lines = head!.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = Object.fromEntries(
    lines.map(line => [/^[^:]*/.exec(line)![0].toLowerCase(), line.replace(/^[^:]*: /, '')]),
  )
  const body = rest.join('\r\n\r\n')
  const unquoted = () =>
    Buffer.from(
      body
        .replace(/=\r\n/g, '')
        .replace(/=([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    )
  const encoding = headers['content-transfer-encoding']
  const bytes =
    encoding === 'base64'
      ? Buffer.from(body, 'base64')
      : encoding === 'quoted-printable'
        ? unquoted()
        : Buffer.from(body)
  return { headers, text: bytes.toString('utf8').replace(/\r\n/g, '\n').trimEnd() }
}

describe('a message', () => {
  it('is complete, in UTF-8, with From and Auto-Submitted', async () => {
    const server = await serve()
    await mailTo(`smtp://127.0.0.1:${server.port}`).send({
      ...MESSAGE,
      subject: 'Новый пароль',
      text: `${MESSAGE.text} Ёж`,
    })
    expect(server.taken).toMatchObject([{ from: 'parley@example.com', to: [MESSAGE.to], user: null }])
    const { headers, text } = read(server.taken[0]!.raw)
    expect(text).toBe(`${MESSAGE.text} Ёж`)
    expect(headers).toMatchObject({
      from: 'Parley <parley@example.com>',
      to: MESSAGE.to,
      'auto-submitted': 'auto-generated',
      'content-type': expect.stringMatching(/^text\/plain; charset=utf-8$/),
      date: expect.stringMatching(/\d{4} \d\d:\d\d:\d\d/),
      'message-id': expect.stringMatching(/^<.+@example\.com>$/),
    })
    expect(headers['subject']).toBe(`=?UTF-8?B?${Buffer.from('Новый пароль').toString('base64')}?=`)
    expect(headers).not.toHaveProperty('x-mailer')
    expect(log.lines).toEqual([])
  })

  it('rejects header injection by subject and address', async () => {
    const server = await serve()
    const mail = mailTo(`smtp://127.0.0.1:${server.port}`)
    await mail.send({ ...MESSAGE, subject: 'Hello\r\nBcc: eve@example.com\r\n\r\nBody' })
    const { headers, text } = read(server.taken[0]!.raw)
    expect([text, headers['bcc']]).toEqual([MESSAGE.text, undefined])
    expect(headers['subject']).toContain('Hello')
    for (const to of [
      'ivan@example.com>\r\nRCPT TO:<eve@example.com',
      'ivan@example.com, eve@example.com',
      'Ivan <eve@example.com>',
      'ivan@example.com\r\nBcc: eve@example.com',
    ]) {
      await mail.send({ ...MESSAGE, to }).catch((error: unknown) => failures.push(error))
    }
    expect(server.asked).not.toContain('eve@example.com')
    expect(server.taken.map(({ raw }) => read(raw).headers)).not.toContainEqual(
      expect.objectContaining({ bcc: expect.anything() }),
    )
    expect(clock.gaps).toEqual([])
  })
})

describe('a server', () => {
  it('does not retry after a 5xx response', async () => {
    const server = await serve({ refuse: () => NEVER })
    const failure = await failureOf(mailTo(`smtp://127.0.0.1:${server.port}`).send(MESSAGE))
    expect(failure).toMatchObject({
      name: 'MailError',
      code: 'EENVELOPE',
      message: 'the mail server said 550 (EENVELOPE)',
    })
    expect([server.asked.length, server.taken.length, clock.gaps]).toEqual([1, 0, []])
  })

  it('retries after a 4xx response', async () => {
    const server = await serve({ refuse: nth => (nth < 3 ? LATER : null) })
    await mailTo(`smtp://127.0.0.1:${server.port}`).send(MESSAGE)
    expect(messages()).toEqual([AGAIN])
    expect(log.lines[0]!.fields).toEqual({
      fault: 'refused',
      code: 'EENVELOPE',
      tries: 1,
      response_code: 451,
      again_in_ms: 15_000,
    })
    clock.ring()
    await until(() => clock.gaps.length === 2)
    clock.ring()
    await until(() => messages().includes('info mail sent after retry'))
    expect(server.taken).toHaveLength(1)
    expect(clock.gaps).toEqual([15_000, 60_000])
  })

  it('gives up after repeated 4xx responses, with a log', async () => {
    const server = await serve({ refuse: () => LATER })
    await mailTo(`smtp://127.0.0.1:${server.port}`).send(MESSAGE)
    for (const tries of [2, 3, 4]) {
      clock.ring()
      await until(() => server.asked.length === tries && log.lines.length === tries)
    }
    expect(messages()).toEqual([AGAIN, AGAIN, AGAIN, 'error sending mail failed'])
    expect(log.lines[3]!.fields).toEqual({
      code: 'EENVELOPE',
      reason: 'the mail server said 451 (EENVELOPE)',
      tries: 4,
    })
    expect(clock.gaps).toEqual([15_000, 60_000, 300_000])
  })

  it('retries an unreachable server', async () => {
    const gone = await startSmtp()
    await gone.close()
    await mailTo(`smtp://127.0.0.1:${gone.port}`).send(MESSAGE)
    expect(log.lines[0]).toMatchObject({ level: 'warn', fields: { fault: 'away', code: 'ECONNREFUSED' } })
    const back = await serve({ port: gone.port })
    clock.ring()
    await until(() => back.taken.length === 1)
  })

  it('is not retried after shutdown', async () => {
    const server = await serve({ refuse: () => LATER })
    const mail = mailTo(`smtp://127.0.0.1:${server.port}`)
    await mail.send(MESSAGE)
    mail.close()
    expect(messages()).toEqual([AGAIN, 'warn mail retries canceled'])
    expect(log.lines[1]!.fields).toEqual({ messages: 1 })
    clock.ring()
    expect((await failureOf(mail.send(MESSAGE)))['code']).toBe('EENVELOPE')
    expect([server.asked.length, clock.gaps]).toEqual([2, [15_000]])
  })
})

describe.skipIf(lacks('openssl'))('encryption', () => {
  const pair = testPair(`IP:${ELSEWHERE},IP:127.0.0.1`)
  const before = getCACertificates('default')
  const trust = () => setDefaultCACertificates([...before, pair.cert])
  afterEach(() => setDefaultCACertificates(before))

  it('uses STARTTLS before the login with a trusted certificate', async () => {
    trust()
    const server = await serve({ host: ELSEWHERE, pair, login: LOGIN })
    await mailTo(`smtp://${USERINFO}@${ELSEWHERE}:${server.port}`).send(MESSAGE)
    expect(server.taken).toMatchObject([{ to: [MESSAGE.to], secure: true, user: LOGIN.user }])
  })

  it('is immediate with smtps', async () => {
    trust()
    const server = await serve({ host: ELSEWHERE, pair, implicit: true, login: LOGIN })
    await mailTo(`smtps://${USERINFO}@${ELSEWHERE}:${server.port}`).send(MESSAGE)
    expect(server.taken).toMatchObject([{ secure: true, user: LOGIN.user }])
  })

  it.each(['smtp', 'smtps'])('sends nothing with an untrusted certificate: %s', async scheme => {
    const server = await serve({ host: ELSEWHERE, pair, implicit: scheme === 'smtps', login: LOGIN })
    const url = `${scheme}://${USERINFO}@${ELSEWHERE}:${server.port}`
    expect((await failureOf(mailTo(url).send(MESSAGE)))['message']).toMatch(/^the mail server: certificate/)
    expect([server.logins, server.asked, clock.gaps]).toEqual([[], [], []])
  })

  it('sends nothing with a certificate for another name', async () => {
    const other = testPair('DNS:other.example')
    setDefaultCACertificates([...before, other.cert])
    const server = await serve({ host: ELSEWHERE, pair: other })
    const url = `smtp://${ELSEWHERE}:${server.port}`
    expect((await failureOf(mailTo(url).send(MESSAGE)))['message']).toMatch(/^the mail server: certificate/)
    expect(server.asked).toEqual([])
  })

  it('is required for remote servers: nothing is sent without it', async () => {
    const server = await serve({ host: ELSEWHERE, login: LOGIN })
    const url = `smtp://${USERINFO}@${ELSEWHERE}:${server.port}`
    expect((await failureOf(mailTo(url).send(MESSAGE)))['code']).toBe('ETLS')
    expect([server.logins, server.asked, clock.gaps]).toEqual([[], [], []])
  })

  it('is optional on loopback, and used when offered', async () => {
    const plain = await serve({ login: LOGIN })
    await mailTo(`smtp://${USERINFO}@127.0.0.1:${plain.port}`).send(MESSAGE)
    expect(plain.taken).toMatchObject([{ secure: false, user: LOGIN.user }])
    const own = await serve({ pair, login: LOGIN })
    await mailTo(`smtp://${USERINFO}@localhost:${own.port}`).send(MESSAGE)
    expect(own.taken).toMatchObject([{ secure: true, user: LOGIN.user }])
  })
})

describe('a login', () => {
  it('is sent once when rejected', async () => {
    const server = await serve({ login: { ...LOGIN, password: 'another' } })
    const failure = await failureOf(mailTo(`smtp://${USERINFO}@127.0.0.1:${server.port}`).send(MESSAGE))
    expect(failure).toMatchObject({ code: 'EAUTH', message: 'the mail server said 535 (EAUTH)' })
    expect([server.logins, server.asked, clock.gaps]).toEqual([[LOGIN.user], [], []])
  })

  it('is a failure when the server has no AUTH, and nothing is sent', async () => {
    const server = await serve()
    await failureOf(mailTo(`smtp://${USERINFO}@127.0.0.1:${server.port}`).send(MESSAGE))
    expect([server.asked, clock.gaps]).toEqual([[], []])
  })
})

describe('control', () => {
  it('sends a reset code, and shuts down despite temporary failures', async () => {
    const database = await createDatabase()
    open.push({ close: () => database.drop() })
    const server = await serve({ refuse: nth => (nth === 1 ? null : LATER) })
    const env = {
      PARLEY_HOME: folder,
      PARLEY_SECRET: 'sixteen letters and more',
      DATABASE_URL: database.url,
      REDIS_URL: inject('redisUrl'),
      SMTP_URL: `smtp://127.0.0.1:${server.port}`,
      MAIL_FROM: 'Parley <parley@example.com>',
    }
    const parts = buildControlParts(readConfig(env, { make: false }), log, 'mail-test')
    await createPerson(parts, { email: MESSAGE.to, password_hash: await hashPassword('a long password') })
    requestReset(parts, MESSAGE.to)
    await backgroundDone(parts)
    expect(server.taken).toMatchObject([{ from: 'parley@example.com', to: [MESSAGE.to] }])
    expect(read(server.taken[0]!.raw).text).toMatch(/\/dashboard\/password#code=[\w-]{43}$/m)
    requestReset(parts, MESSAGE.to)
    await backgroundDone(parts)
    await parts.close()
    expect(messages()).toEqual([AGAIN, 'warn mail retries canceled'])
    expect([server.asked.length, server.taken.length]).toEqual([2, 1])
  })
})

describe('a failure', () => {
  it('has no detail for unknown codes', () => {
    expect(smtpFailure(new Error(MESSAGE.to))).toEqual({ fault: 'away', code: 'ECONNECTION', responseCode: null })
    expect(smtpFailure({ code: `no code ${MESSAGE.to}` }).code).toBe('ECONNECTION')
    expect(smtpFailure(null).fault).toBe('away')
  })
})

describe('the doctor', () => {
  const pair = testPair(`IP:${ELSEWHERE}`)
  /** Returns the doctor's findings about mail, without other services. */
  async function hear(url: string, env: Record<string, string> = {}) {
    const given = { PARLEY_HOME: folder, SMTP_URL: url, MAIL_FROM: 'parley@example.com', ...env }
    const { findings } = await examineByProgram(given) // Node reads NODE_EXTRA_CA_CERTS when it starts
    const found = findings.filter(({ part }) => part === 'Mail')
    expect(JSON.stringify(found)).not.toContain(encodeURIComponent(LOGIN.password))
    expect(JSON.stringify(found)).not.toContain(LOGIN.password)
    return found
  }

  it.skipIf(lacks('openssl'))('authenticates without sending', async () => {
    const server = await serve({ host: ELSEWHERE, pair, login: LOGIN })
    writeFileSync(join(folder, 'authority.pem'), pair.cert)
    const url = `smtp://${USERINFO}@${ELSEWHERE}:${server.port}`
    const text = `${ELSEWHERE}:${server.port} answers, with TLS, and accepts our login.`
    expect(await hear(url, { NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') })).toMatchObject([
      { status: 'ok', text },
    ])
    expect([server.logins, server.asked]).toEqual([[LOGIN.user], []])
    expect(await hear(url)).toMatchObject([{ status: 'error', text: expect.stringContaining('its certificate') }])
  })

  it('explains the failure', async () => {
    const away = await hear(`smtp://127.0.0.1:${await closedPort()}`)
    expect(away).toMatchObject([{ status: 'error', text: expect.stringMatching(/: connection refused\.$/) }])
    const plain = await serve({ host: ELSEWHERE })
    const bare = await hear(`smtp://${USERINFO}@${ELSEWHERE}:${plain.port}`)
    expect(bare).toMatchObject([{ status: 'error', text: expect.stringMatching(/offers no STARTTLS\.$/) }])
    const strict = await serve({ login: { ...LOGIN, password: 'another' } })
    const refused = await hear(`smtp://${USERINFO}@127.0.0.1:${strict.port}`)
    expect(refused).toMatchObject([
      { status: 'error', text: expect.stringContaining('rejects the user or password (535)') },
    ])
  })

  it('detects TLS mismatches and silent servers', async () => {
    const plain = await serve()
    const wrong = await trySmtp(readSmtpUrl(`smtps://127.0.0.1:${plain.port}`)!, 5000)
    expect(wrong).toMatchObject({ fault: 'no_tls', responseCode: null })
    const secure = await serve({ pair, implicit: true })
    const silent = await trySmtp(readSmtpUrl(`smtp://127.0.0.1:${secure.port}`)!, 300)
    expect(silent).toMatchObject({ fault: 'away', code: 'ETIMEDOUT' })
  })
})
