/** Findings of the doctor about things that a test cannot break: clocks, disks, NATs. */
import { describe, expect, it } from 'vitest'
import { readSmtpUrl } from '../../infra/config/mail.ts'
import { judgeRefusals } from '../../infra/doctor/addresses.ts'
import { failureOf, judgeClock } from '../../infra/doctor/finding.ts'
import { judgeLiveKit } from '../../infra/doctor/livekit.ts'
import { judgeFolder, judgeSmtp } from '../../infra/doctor/mail.ts'
import { judgePostgres, judgeWork, type PostgresFound } from '../../infra/doctor/postgres.ts'
import { judgeRedis } from '../../infra/doctor/redis.ts'
import { judgeRtp, type RtpFound } from '../../infra/doctor/rtp.ts'
import { isWeak, judgeSecrets, type SecretsFound } from '../../infra/doctor/secrets.ts'
import { judgeSignalling } from '../../infra/doctor/signalling.ts'
import { judgeModels, judgeSpeech } from '../../infra/doctor/speech.ts'
import { judgeDisks } from '../../infra/doctor/storage.ts'
import { isOpen, judgeControl, judgePublicUrl } from '../../infra/doctor/web.ts'

/** `bad its words`, a line each. */
const said = (findings: readonly { status: string; text: string }[]) =>
  findings.map(({ status, text }) => `${status} ${text}`)
const matching = (...lines: RegExp[]) => lines.map(line => expect.stringMatching(line))

describe('a clock', () => {
  it.each([
    [900, 0, []],
    [2500, 2000, []],
    [3000, 100, [/^warning .* 3 s ahead/]],
    [-60_000, 0, [/^error .* 60 s behind/]],
  ] as const)('%i ms off, ± %i', (skew, uncertain, lines) => {
    expect(said(judgeClock('Redis', 'Its clock', skew, uncertain))).toEqual(matching(...lines))
  })
})

describe('a failure', () => {
  it('is reported by its code, without its own message', () => {
    expect(failureOf(Object.assign(new Error('postgres://me:secret@db'), { code: 'ECONNREFUSED' }))).toBe(
      'connection refused',
    )
    expect(failureOf(new TypeError('fetch failed', { cause: { code: 'ENOTFOUND' } }))).toBe('host name not found')
    expect(failureOf(new AggregateError([{ code: 'EHOSTUNREACH' }], 'me:secret'))).toBe('no route to host')
    expect(failureOf({ code: 'redis://me:secret@host' })).not.toContain('secret')
    expect(failureOf(new Error('me:secret'))).toBe('failed (Error)')
    expect(failureOf(null)).toBe('failed (unknown)')
  })
})

describe('Postgres', () => {
  const server = {
    version: '18.4',
    version_number: 180_004,
    now_ms: 0,
    standby: false,
    connections: 5,
    max_connections: 100,
    bytes: 5e7,
  }
  const row = { version: 1, name: '0001_accounts.sql', hash: 'a' }
  const found: PostgresFound = {
    place: 'db:5432',
    tookMs: 2,
    skewMs: 0,
    server,
    migrated: [row],
    known: [row],
    contradictions: [],
    freeBytes: null,
  }
  it.each([
    ['well', {}, [/^ok db:5432 answers in 2 ms: 18\.4, 50 MB; 1 migration applied, ledger and balances agree/]],
    [
      'too old',
      { server: { ...server, version: '12.1', version_number: 120_001 } },
      [/^error 12\.1 is too old; 13 is the oldest/],
    ],
    [
      'untried',
      { server: { ...server, version: '15.1', version_number: 150_001 } },
      [/^ok/, /^warning 15\.1 is untested/],
    ],
    ['a standby', { server: { ...server, standby: true } }, [/^error This server is a read-only standby/]],
    ['full', { server: { ...server, connections: 95 } }, [/^ok/, /^warning 95 of 100 connections/]],
    ['short of disk', { freeBytes: 2e9 }, [/^ok/, /^warning 2\.0 GB left/]],
    ['without disk', { freeBytes: 1e8 }, [/^error 100 MB left/]],
    ['too long to sum', { contradictions: null }, [/^ok (?!.*ledger)/, /^skipped The ledger check/]],
  ] as const)('%s', (_, change, lines) => {
    expect(said(judgePostgres({ ...found, ...change }))).toEqual(matching(...lines))
  })

  it('with work, webhooks and trunks', () => {
    const well = {
      queues: [{ name: 'call.place', waiting: 3, oldest_s: 2 }],
      webhooks: { failed: 0, delivered: 9, disabled: 0 },
      trunks: { trunks: 2, failed: 0 },
    }
    expect(said(judgeWork(well))).toEqual(
      matching(/^ok 3 pending jobs, none overdue/, /^ok 9 delivered/, /^ok 2 trunks/),
    )
    const ill = {
      queues: [{ name: 'call.place', waiting: 1, oldest_s: 90 }],
      webhooks: { failed: 5, delivered: 9, disabled: 1 },
      trunks: { trunks: 2, failed: 1 },
    }
    expect(said(judgeWork(ill))).toEqual(
      matching(
        /^warning 1 job pending in call\.place, the oldest for 90 s/,
        /^warning .*1 endpoint disabled/,
        /^warning 1 of 2 trunks/,
      ),
    )
  })
})

describe('Redis', () => {
  const info = { redis_version: '7.2.4', role: 'master', used_memory: '3000000', aof_enabled: '1', maxmemory: '0' }
  it.each([
    ['well', {}, [/^ok redis:6379 answers in 1 ms: 7\.2\.4, 3 MB used/]],
    ['too old', { redis_version: '6.0.16' }, [/^error 6\.0\.16 is too old/]],
    ['new enough', { redis_version: '6.2.0' }, [/^ok/]],
    ['evicting some day', { maxmemory_policy: 'volatile-lru' }, [/^ok/, /^warning maxmemory-policy is volatile-lru/]],
    ['nearly full', { maxmemory: '3100000' }, [/^ok/, /^warning 3 MB of 3 MB/]],
    ['unable to write', { aof_last_write_status: 'err' }, [/^error It cannot write its append-only file/]],
    ['unable to save', { rdb_last_bgsave_status: 'err' }, [/^error It cannot write its snapshot/]],
  ] as const)('%s', (_, change, lines) => {
    const given = new Map(Object.entries({ ...info, ...change }))
    expect(said(judgeRedis({ place: 'redis:6379', tookMs: 1, skewMs: 0, info: given }))).toEqual(matching(...lines))
  })
})

describe('secrets', () => {
  const strong = 'q8Zr2mW0xT5vLk9YbN3cHs7PdJ4gFa6E'
  const found: SecretsFound = { secret: strong, database: null, redis: null, livekit: null, drachtio: null, files: [] }
  it.each([
    ['well', {}, [/^ok/]],
    ['not made', { secret: null }, [/^skipped/]],
    ['short', { secret: strong.slice(0, 20) }, [/^warning PARLEY_SECRET has only 20 characters/]],
    ['one letter', { secret: 'a'.repeat(40) }, [/^error PARLEY_SECRET is weak/]],
    [
      'open Redis',
      { redis: new URL('redis://cache.lan/0') },
      [/^error Redis has no password and is reachable over a network/],
    ],
    ['own Redis', { redis: new URL('redis://127.0.0.1/0') }, [/^ok/]],
    [
      'a known SIP server',
      { drachtio: { secret: 'cymru', host: '10.0.0.7' } },
      [/^error The SIP server has a weak password/],
    ],
    [
      'short for LiveKit',
      { livekit: { secret: strong.slice(0, 24), host: 'rooms.lan' } },
      [/^warning LIVEKIT_API_SECRET is shorter/],
    ],
    [
      'a file for all',
      {
        files: [
          { path: '/a', mode: 0o604 },
          { path: '/b', mode: 0o640 },
        ],
      },
      [/^error \/a is readable by every user/],
    ],
  ] as const)('%s', (_, change, lines) => {
    const findings = judgeSecrets({ ...found, ...change })
    expect(said(findings)).toEqual(matching(...lines))
    expect(JSON.stringify(findings)).not.toContain(strong.slice(0, 20))
  })

  it('are weak when they are words, and not when random letters contain one', () => {
    expect(['password-1', 'change-me-please-2026', 'abcabcabcabcabc'].map(isWeak)).toEqual([true, true, true])
    expect([strong, `parley-${strong}`].map(isWeak)).toEqual([false, false])
  })
})

describe('sound', () => {
  const found: RtpFound = {
    host: '10.0.0.5',
    publicHost: '203.0.114.9',
    min: 20_000,
    max: 20_999,
    capacity: 50,
    free: 50,
    refused: {},
    handedOut: { from: 32_768, to: 60_999 },
    isOpen: true,
  }
  it.each([
    ['well', {}, [/^ok Ports 20000–20999 are available on 10\.0\.0\.5, enough for 500 calls/]],
    [
      'behind a NAT that nobody tells of',
      { publicHost: null },
      [/^ok/, /^warning Carriers on the internet are asked to send RTP to 10\.0\.0\.5/],
    ],
    ['on loopback, open to all', { publicHost: null, host: '127.0.0.1' }, [/^ok/, /^warning RTP is received at 127/]],
    ['on loopback, for itself', { publicHost: null, host: '127.0.0.1', isOpen: false }, [/^ok/]],
    ['among ports of others', { min: 40_000, max: 40_999 }, [/^ok/, /^warning The RTP range overlaps the kernel/]],
    ['half taken', { free: 20, refused: { EADDRINUSE: 30 } }, [/^ok/, /^warning More than half/]],
    ['forbidden', { free: 0, refused: { EACCES: 50 } }, [/^error Permission denied for ports/]],
  ] as const)('%s', (_, change, lines) => {
    expect(said(judgeRtp({ ...found, ...change }))).toEqual(matching(...lines))
  })
})

describe('other parts', () => {
  it('of the disks', () => {
    const disk = { folders: ['/data'], freeBytes: 5e10, closed: [] }
    expect(said(judgeDisks([disk]))).toEqual(matching(/^ok 50\.0 GB free for \/data/))
    expect(
      said(
        judgeDisks([
          { ...disk, freeBytes: 1e9 },
          { ...disk, freeBytes: 1e8, closed: ['/data'] },
        ]),
      ),
    ).toEqual(matching(/^warning/, /^error 100 MB/, /^error This user cannot write to \/data/))
  })

  it('of control and its addresses', () => {
    const ready = (status: number, text: string) => said(judgeControl('http://x', { status, text }))
    expect(ready(503, '{"status":"not_ready","checks":{"postgres":true,"redis":false}}')).toEqual(
      matching(/^error .*redis\.$/),
    )
    expect(ready(503, '{"status":"draining","checks":{"postgres":true,"redis":true}}')).toEqual(matching(/^warning/))
    const url = (text: string, status: number) => said(judgePublicUrl(text, { status, text: '' }))
    expect(url('https://voice.example.com', 200)).toEqual([])
    expect(url('http://voice.example.com', 200)).toEqual(matching(/^warning .*plain text/))
    expect(url('https://voice.example.com', 502)).toEqual(matching(/^warning .*status 502/))
    expect(
      ['https://voice.example.com', 'https://voice.lan', 'http://192.168.1.2', undefined].map(PUBLIC_URL =>
        isOpen({ PUBLIC_URL }),
      ),
    ).toEqual([true, false, false, false])
  })

  it('of mail that stays in a folder', () => {
    const mail = { folder: '/m', waiting: 1, open: true, signUp: true }
    expect(judgeFolder(mail)).toMatchObject({
      status: 'warning',
      text: expect.stringContaining('now 1 message'),
      todo: expect.stringContaining('SMTP_URL'),
    })
    expect(judgeFolder({ ...mail, open: false }).status).toBe('ok')
    expect(judgeFolder({ ...mail, signUp: false }).status).toBe('ok')
  })

  it.each([
    ['', null, /^ok mail\.example\.com:587 answers, with TLS, without login\.$/, null],
    ['me:word@', null, /^ok mail\.example\.com:587 answers, with TLS, and accepts our login\.$/, null],
    ['', { fault: 'away', code: 'ETIMEDOUT' }, /^error mail\.example\.com:587: no answer in time\.$/, /host and port/],
    ['', { fault: 'away', code: 'ENOTFOUND' }, /host name not found/, /SMTP_URL/],
    ['', { fault: 'no_tls', code: 'ETLS', responseCode: 502 }, /^error .* offers no STARTTLS/, /smtps:/],
    ['', { fault: 'certificate', code: 'ESOCKET' }, /^error .* certificate/, /NODE_EXTRA_CA_CERTS/],
    ['me:word@', { fault: 'login', code: 'EAUTH', responseCode: 535 }, /^error .* rejects .*535/, /[Pp]ercent-encode/],
    ['', { fault: 'refused', code: 'EPROTOCOL', responseCode: 554 }, /^error .* answered with 554/, /log/],
  ] as const)('of a mail server: %s %j', (login, failure, text, todo) => {
    const place = readSmtpUrl(`smtp://${login}mail.example.com`)!
    const finding = judgeSmtp(place, failure && { responseCode: null, ...failure })
    expect(`${finding.status} ${finding.text}`).toMatch(text)
    if (todo === null) expect(finding.todo).toBeNull()
    else expect(finding.todo).toMatch(todo)
    expect(JSON.stringify(finding)).not.toContain('word@')
  })

  it('of refused destinations', () => {
    expect(judgeRefusals([], 0)).toEqual([])
    const refusal = (n: number) => ({ kind: 'rtp', target: `10.66.0.${n}:8889`, count: 400, at: 58_000 })
    const http = { kind: 'http', target: '[fd00::1]:80', count: 1, at: 0 }
    expect(said(judgeRefusals([refusal(1), http], 60_000))).toEqual([
      'warning Refused: RTP to 10.66.0.1:8889 (400 packets, 2 s ago), HTTP to [fd00::1]:80 (1 request, 60 s ago).',
    ])
    const many = [...Array(8).keys()].map(refusal)
    expect(said(judgeRefusals(many, 60_000))).toEqual(matching(/10\.66\.0\.4:8889 .*, and 3 further destinations\.$/))
  })

  it('of SIP server, LiveKit and speech', () => {
    const greeting = { accepted: true as const, addresses: ['udp/192.0.2.1:5060'], version: 'v0.9.10' }
    expect(said(judgeSignalling('a:1', greeting))).toEqual(
      matching(/^ok a:1 answers \(v0\.9\.10\).*192\.0\.2\.1:5060\.$/),
    )
    expect(said(judgeSignalling('a:1', { ...greeting, addresses: ['udp/127.0.0.1:5060'] }))).toEqual(
      matching(/only from this machine/),
    )
    expect(said(judgeSignalling('a:1', { ...greeting, addresses: [] }))).toEqual(
      matching(/^error .*has no SIP listener/),
    )
    const rooms = {
      place: 'b:2',
      answer: { status: 404 },
      publicUrl: 'wss://rooms.example.com',
      outside: 'no answer in time',
    }
    expect(said(judgeLiveKit(rooms))).toEqual(
      matching(/^error b:2 answered with status 404/, /^warning .*rooms\.example\.com:443/),
    )
    expect(judgeSpeech('c:3', { stt_languages: [], tts_languages: ['en'] }).status).toBe('error')
    const models = { missing: [], russian: 'missing', embedding: 'missing', espeak: false } as const
    expect(said(judgeModels(models))).toEqual(
      matching(/^ok/, /^warning .*Russian/, /^warning .*knowledge/, /^warning espeak-ng/),
    )
  })
})
