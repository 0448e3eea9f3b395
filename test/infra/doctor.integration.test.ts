/** The doctor next to a whole Parley whose parts are broken in turn. */
import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lockHome } from '../../infra/embedded/home.ts'
import { freePort } from '../../infra/embedded/ports.ts'
import {
  callDoctor,
  closedPort,
  examine,
  examineByProgram,
  expectFinding,
  secretsOf,
  worst,
} from '../support/doctor.ts'
import { livekitBinary, startTestLiveKit, type TestLiveKit } from '../support/livekit.ts'
import { createReceiver, type Receiver } from '../support/receiver.ts'
import { HOST, type Stack, startStack } from '../support/stack.ts'

const LIVEKIT_SECRET = randomBytes(24).toString('hex')
let stack: Stack
let env: Record<string, string>
let livekit: TestLiveKit | null = null
let bucket: Receiver
let folder: string
const closers: (() => unknown)[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-doctor-test-'))
  livekit = livekitBinary === null ? null : await startTestLiveKit()
  bucket = await createReceiver()
  const rooms = livekit && {
    LIVEKIT_URL: livekit.url,
    LIVEKIT_API_KEY: livekit.apiKey,
    LIVEKIT_API_SECRET: livekit.apiSecret,
  }
  stack = await startStack({ ...rooms })
  env = { ...stack.env }
  mkdirSync(join(stack.folder, 'blobs'), { recursive: true })
})
afterAll(async () => {
  for (const close of closers.reverse()) await close()
  await stack?.stop()
  await livekit?.stop()
  await bucket?.close()
  rmSync(folder, { recursive: true, force: true })
})

const find = (given: Record<string, string>, part: string, status: 'error' | 'warning', text: RegExp) =>
  expectFinding({ ...env, ...given }, part, status, text)

describe('a whole installation', () => {
  it('passes in all parts without changing anything', async () => {
    const { code, findings } = await examineByProgram(env)
    expect(findings.filter(({ status }) => status === 'error')).toEqual([])
    expect(code).toBe(0)
    for (const part of ['Postgres', 'Bus', 'Engines', 'Control', 'SIP server', 'Speech', 'RTP', 'Blob store', 'Jobs']) {
      expect([part, worst(findings, part)]).toEqual([part, 'ok'])
    }
    if (livekit) expect(worst(findings, 'LiveKit')).toBe('ok')
    // The run's Redis forgets at its end.
    expect(findings.filter(({ part }) => part === 'Redis')).toMatchObject([
      { status: 'ok' },
      { status: 'warning', text: expect.stringContaining('does not persist each write') },
    ])
    expect(readdirSync(join(stack.folder, 'blobs'))).toEqual([])
  })

  it('checks only the folders an engine uses', async () => {
    const { DATABASE_URL: _, ...alone } = env
    const [home, blobs, spool] = ['home', 'blobs', 'spool'].map(name => join(stack.folder, name)) as [
      string,
      string,
      string,
    ]
    for (const each of [home, blobs, spool]) mkdirSync(each, { recursive: true })
    const engine = { ...alone, PARLEY_HOME: home, BLOB_DIR: blobs, SPOOL_DIR: spool }
    const disks = async (given: Record<string, string>) => {
      const findings = await examine(given)
      return findings.flatMap(({ part, text }) => (part === 'Disk' ? [text] : [])).join()
    }
    const [told, atControl] = [await disks(engine), await disks({ ...engine, DATABASE_URL: env['DATABASE_URL']! })]
    expect(told).toContain(blobs)
    expect(told).not.toContain(home)
    expect(atControl).toContain(home)
  })

  it('prints text with the same exit code', async () => {
    const { code, out, err } = await callDoctor([], env)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^Checking control and engine \(settings of this environment\)\n/)
    expect(out).toMatch(/ {2}ok {5}Postgres +\S+ answers in \d+ ms: \d/)
    expect(out).toMatch(/\n0 errors, \d+ warnings?\.\n$/)
    for (const secret of secretsOf(env)) expect(out).not.toContain(secret)
  })

  it('is found by its folder where `npm start` runs it', async () => {
    const home = join(folder, 'running')
    const taken = await lockHome(home)
    const { DATABASE_URL, REDIS_URL, PARLEY_SECRET, PARLEY_HOME: _, ...settings } = env
    writeFileSync(join(home, 'secret'), PARLEY_SECRET!, { mode: 0o600 })
    taken.publish({ database_url: DATABASE_URL!, redis_url: REDIS_URL!, settings })
    const findings = await examine({ PARLEY_HOME: home })
    taken.release()
    for (const part of ['Postgres', 'Bus', 'Engines', 'Control', 'SIP server', 'Speech', 'Models']) {
      expect([part, worst(findings, part)]).not.toEqual([part, 'error'])
      expect([part, worst(findings, part)]).not.toEqual([part, 'absent'])
    }
    const after = await examineByProgram({ PARLEY_HOME: home })
    expect(after).toMatchObject({
      code: 1,
      findings: expect.arrayContaining([expect.objectContaining({ part: 'Parley', status: 'error' })]),
    })
  })

  it('reports a stopped installation, and creates nothing', async () => {
    const home = join(folder, 'nowhere')
    const { code, findings } = await examineByProgram({ PARLEY_HOME: home })
    expect(code).toBe(1)
    expect(findings.filter(({ status }) => status === 'error')).toMatchObject([
      { part: 'Parley', todo: 'Start it with `npm start`.' },
    ])
    expect(existsSync(home)).toBe(false)
  })

  it('checks in a container what its variables name', async () => {
    const { DRACHTIO_HOST: _host, DRACHTIO_SECRET: _secret, SPEECH_PORT: _port, ...control } = env
    const seen = await examine(control)
    expect([worst(seen, 'Postgres'), worst(seen, 'SIP server'), worst(seen, 'RTP')]).toEqual([
      'ok',
      'skipped',
      'skipped',
    ])
    const { DATABASE_URL: _url, ...engine } = env
    const heard = await examine(engine)
    expect([worst(heard, 'Postgres'), worst(heard, 'Control'), worst(heard, 'SIP server')]).toEqual([
      'skipped',
      'absent',
      'ok',
    ])
  })
})

describe('settings', () => {
  it('reports each invalid setting', async () => {
    const { code, findings } = await examineByProgram({ ...env, HTTP_PORT: 'eighty', CURRENCY: 'roubles' })
    expect(code).toBe(1)
    expect(findings.map(({ text }) => text.split(':')[0])).toEqual(['HTTP_PORT', 'CURRENCY'])
  })

  it('reports missing companions', async () => {
    const { code, findings } = await examineByProgram({ ...env, LLM_MODEL: 'one' })
    expect(code).toBe(1)
    expect(findings).toMatchObject([{ part: 'Settings', text: 'LLM_BASE_URL and LLM_MODEL must be set together' }])
  })

  it('rejects unknown arguments', async () => {
    expect(await callDoctor(['--fast'], env)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('npm run doctor'),
    })
    expect(await callDoctor(['--help'], env)).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('Exit status: 0'),
    })
  })
})

describe('the SIP server', () => {
  it('is not reachable', async () => {
    await find({ DRACHTIO_PORT: await closedPort() }, 'SIP server', 'error', /connection refused/)
  })
  it('has a different secret', async () => {
    const given = { DRACHTIO_SECRET: 'certainly-another-one' }
    await find(given, 'SIP server', 'error', /rejects DRACHTIO_SECRET/)
  })
  it('is another service', async () => {
    const given = { DRACHTIO_PORT: new URL(env['REDIS_URL']!).port }
    await find(given, 'SIP server', 'error', /another service|connection closed|no answer/)
  })
})

describe('LiveKit', () => {
  it.skipIf(livekitBinary === null)('refuses the key', async () => {
    const given = { LIVEKIT_API_SECRET: LIVEKIT_SECRET }
    await find(given, 'LiveKit', 'error', /rejects our API key/)
  })
  it('is not reachable', async () => {
    const rooms = {
      LIVEKIT_URL: `ws://${HOST}:${await closedPort()}`,
      LIVEKIT_API_KEY: 'key',
      LIVEKIT_API_SECRET: LIVEKIT_SECRET,
    }
    await find(rooms, 'LiveKit', 'error', /connection refused/)
  })
})

describe('control and speech', () => {
  it('are not reachable', async () => {
    await find({ HTTP_PORT: await closedPort() }, 'Control', 'error', /connection refused/)
    await find({ SPEECH_PORT: await closedPort() }, 'Speech', 'error', /connection refused/)
  })
  it('are another service', async () => {
    const given = { HTTP_PORT: new URL(bucket.url).port }
    await find(given, 'Control', 'error', /answered with status 204/)
  })
  it('has no models', async () => {
    const findings = await examine({ PARLEY_HOME: join(folder, 'bare'), PARLEY_CACHE: join(folder, 'no-cache') })
    expect(worst(findings, 'Models')).toBe('error')
  })
  it("have another service's address", async () => {
    const given = { PUBLIC_URL: `http://${HOST}:${await closedPort()}` }
    await find(given, 'Control', 'warning', /is not reachable from here: connection refused/)
  })
})

describe('sound', () => {
  it('has an address of another machine', async () => {
    await find({ RTP_HOST: '192.0.2.1' }, 'RTP', 'error', /not an address of this machine/)
  })
  it('has ports in use', async () => {
    const sockets = await bindPair()
    const [min, max] = sockets.map(socket => String(socket.address().port)) as [string, string]
    const findings = await find(
      { RTP_PORT_MIN: min, RTP_PORT_MAX: max },
      'RTP',
      'error',
      /All tested ports of .* are in use/,
    )
    expect(findings).toContainEqual(
      expect.objectContaining({
        part: 'RTP',
        text: expect.stringContaining('suffice for 1 call, but ENGINE_CAPACITY is 50'),
      }),
    )
    for (const socket of sockets) socket.close()
  })
  it('advertises a private address to carriers', async () => {
    const given = { RTP_PUBLIC_HOST: '10.1.2.3' }
    await find(given, 'RTP', 'error', /10\.1\.2\.3 is not a public address/)
  })
})

const bind = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = createSocket('udp4')
    socket.once('error', reject)
    socket.bind({ port, address: HOST, exclusive: true }, () => resolve(socket))
  })

/** Two ports, one after the other. */
async function bindPair(): Promise<[Socket, Socket]> {
  for (let from = 32_000; ; from += 2) {
    const first = await bind(await freePort(from, HOST, true))
    const second = await bind(first.address().port + 1).catch(() => null)
    if (second) return [first, second]
    first.close()
  }
}

describe('the blob store', () => {
  const keys = { BLOB_S3_ACCESS_KEY: 'access', BLOB_S3_SECRET_KEY: randomBytes(12).toString('hex') }

  it('refuses the key', async () => {
    bucket.answer((_, response) => void response.writeHead(403).end())
    const given = { ...keys, BLOB_S3_URL: `${bucket.url}/bucket` }
    await find(given, 'Blob store', 'error', /cannot be written/)
  })
  it('returns different data', async () => {
    bucket.answer((request, response) => void response.writeHead(request.method === 'PUT' ? 200 : 404).end())
    const given = { ...keys, BLOB_S3_URL: `${bucket.url}/bucket` }
    await find(given, 'Blob store', 'error', /cannot be read: it returned different data/)
  })
  it('is not a folder', async () => {
    writeFileSync(join(folder, 'file'), '')
    await find({ BLOB_DIR: join(folder, 'file') }, 'Blob store', 'error', /cannot be written/)
  })
})

describe('secrets', () => {
  it('reports weak secrets without showing them', async () => {
    const given = { PARLEY_SECRET: 'parley-secret-2026' }
    await find(given, 'Secrets', 'error', /PARLEY_SECRET is weak/)
    await find({ DRACHTIO_SECRET: 'cymru' }, 'Secrets', 'warning', /SIP server has a weak password/)
  })
  it('reports secrets readable by everybody', async () => {
    const file = join(folder, 'secret-file')
    writeFileSync(file, env['PARLEY_SECRET']!)
    chmodSync(file, 0o644)
    await find({ PARLEY_SECRET_FILE: file }, 'Secrets', 'error', /secret-file is readable by every user/)
    chmodSync(file, 0o640)
    expect(worst(await examine({ ...env, PARLEY_SECRET_FILE: file }), 'Secrets')).not.toBe('error')
  })
})
