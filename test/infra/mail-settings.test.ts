/** Valid and invalid values of SMTP_URL and MAIL_FROM. */
import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../../infra/config/config.ts'
import { type Mailbox, readMailbox, readSmtpUrl, type SmtpServer } from '../../infra/config/mail.ts'

const LOGIN = { user: 'robot@parley.test', password: 'p@ss:w/rd%' }

describe('the settings of mail', () => {
  const places: [string, SmtpServer | null][] = [
    ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, tls: false, login: null }],
    ['smtps://mail.example.com/', { host: 'mail.example.com', port: 465, tls: true, login: null }],
    [
      `smtp://robot%40parley.test:p%40ss%3Aw%2Frd%25@Mail.Example.com:2525`,
      { host: 'mail.example.com', port: 2525, tls: false, login: LOGIN },
    ],
    ['smtp://[::1]:25', { host: '[::1]', port: 25, tls: false, login: null }],
    ['smtp://mail_relay:25', { host: 'mail_relay', port: 25, tls: false, login: null }],
    ...[
      ...['', 'mail.example.com', 'http://mail.example.com', 'smtp:', 'smtp://', 'smtp://:587', 'smtp://me@host'],
      ...['smtp://:word@host', 'smtp://me:100%@host', 'smtp://me:%ff@host', 'smtp://host:0', 'smtp://host:70000'],
      ...['smtp://host?tls=off', 'smtp://host/inbox', 'smtp://host#x', 'smtp://a b', 'smtp://a,b'],
    ].map((text): [string, null] => [text, null]),
  ]
  it.each(places)('say where the server is: %s', (text, place) => {
    expect(readSmtpUrl(text)).toEqual(place)
  })

  const mailboxes: [string, Mailbox | null][] = [
    ['parley@example.com', { name: '', address: 'parley@example.com' }],
    ['Parley <parley@example.com>', { name: 'Parley', address: 'parley@example.com' }],
    [' "Parley, голос" <parley@example.com> ', { name: 'Parley, голос', address: 'parley@example.com' }],
    ...[
      ...['', 'Parley', 'parley@', '<>', 'a@example.com, b@example.com', 'a@example.com,b@example.com'],
      ...['a@example.com <b@example.com>', 'Parley <a@example.com> b', 'Par\r\nBcc: eve <a@example.com>'],
    ].map((text): [string, null] => [text, null]),
  ]
  it.each(mailboxes)('say who mail is from: %j', (text, mailbox) => {
    expect(readMailbox(text)).toEqual(mailbox)
  })

  it('belong together, and are refused by name, without a password', () => {
    const refusal = (env: Record<string, string>): string => {
      try {
        readConfig({ PARLEY_HOME: '/nowhere', ...env }, { make: false })
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError)
        return (error as Error).message
      }
      return ''
    }
    const [url, from] = ['smtp://me:hidden@mail.example.com', 'Parley <parley@example.com>']
    expect(refusal({ SMTP_URL: url, MAIL_FROM: from })).toBe('')
    expect(refusal({ SMTP_URL: url })).toBe('SMTP_URL and MAIL_FROM must be set together')
    expect(refusal({ MAIL_FROM: from })).toBe('SMTP_URL and MAIL_FROM must be set together')
    const wrong = refusal({ SMTP_URL: `${url}?tls=off`, MAIL_FROM: 'Parley' })
    expect(wrong).toMatch(/SMTP_URL: smtp:\/\/user:password@host[\s\S]*MAIL_FROM: one address/)
    expect(wrong).not.toContain('hidden')
  })
})
