/**
 * Import rules: infra → {control, sip} → media in one direction, and the modules that alone may import certain
 * packages.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const rooms = ['media', 'control', 'sip', 'infra'] as const
type Room = (typeof rooms)[number]

const files = rooms.flatMap(room =>
  readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(?:tsx?|mjs)$/.test(name) && !name.startsWith('dashboard/dist/'))
    .map(name => join(room, name)),
)

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const found = text.matchAll(
    /^\s*(?:import|export)\b[^'"]*?from\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|\brequire\)?\(\s*['"]([^'"]+)['"]\)/gm,
  )
  return [...found].map(match => match[1] ?? match[2] ?? match[3] ?? match[4]!)
}

const imports = files.flatMap(from =>
  importsOf(from).map(target =>
    target.startsWith('.')
      ? { from, to: relative(root, resolve(root, dirname(from), target)), pkg: null }
      : { from, to: null, pkg: target },
  ),
)
const roomOf = (file: string) => file.split('/')[0] as Room

const allowed: Record<Room, readonly Room[]> = {
  media: ['media'],
  control: ['control', 'media'],
  sip: ['sip', 'media'],
  infra: ['infra', 'control', 'sip', 'media'],
}

/** Packages that only one file or directory may import. */
const behind: Record<string, RegExp> = {
  'drachtio-srf': /^sip\/trunk\//,
  'sherpa-onnx-node': /^media\/models\/speech\/sherpa\.ts$/,
  'onnxruntime-node': /^(?:media\/models\/speech\/silero|infra\/models\/embedding\/encoder)\.ts$/,
  wabt: /^infra\/tools\/kernel\.ts$/,
  ai: /^media\/models\/text-model\.ts$/,
  '@ai-sdk/openai-compatible': /^media\/models\/text-model\.ts$/,
  '@ai-sdk/anthropic': /^media\/models\/text-model\.ts$/,
  '@ai-sdk/google': /^media\/models\/text-model\.ts$/,
  '@livekit/rtc-node': /^media\/room\//,
  'livekit-server-sdk': /^control\/telephony\/realtime\/livekit\.ts$/,
  postgres: /^control\/platform\/db\//,
  'pg-boss': /^control\/platform\/(?:jobs\/jobs|deps)\.ts$/,
  ws: /^media\/models\/vendor-socket\.ts$/,
  '@opentelemetry/api': /^infra\/adapters\/tracing\.ts$/,
  '@opentelemetry/sdk-trace': /^infra\/adapters\/tracing\.ts$/,
  '@opentelemetry/exporter-trace-otlp-http': /^infra\/adapters\/tracing\.ts$/,
  '@opentelemetry/resources': /^infra\/adapters\/tracing\.ts$/,
  aws4fetch: /^infra\/adapters\/blobs-s3\.ts$/,
  nodemailer: /^infra\/adapters\/mail-smtp\.ts$/,
  undici: /^infra\/adapters\/safe-fetch\.ts$/,
  fastify: /^control\//,
  '@fastify/multipart': /^control\/knowledge\/upload\.ts$/,
  '@fastify/swagger': /^control\/api\/openapi\/openapi\.ts$/,
  '@fastify/swagger-ui': /^control\/api\/openapi\/reference\.ts$/,
  'openapi-fetch': /^control\/(?:api\/client\/client|dashboard\/page\/api\/client)\.ts$/,
  '@fastify/static': /^control\/dashboard\/routes\.ts$/,
  vite: /^(?:infra\/tools\/dashboard|control\/dashboard\/vite\.config)\.ts$/,
  react: /^control\/dashboard\/page\//,
  '@mantine/core': /^control\/dashboard\/page\//,
  'wavesurfer.js': /^control\/dashboard\/page\/calls\/waveform\.tsx$/,
  uplot: /^control\/dashboard\/page\/ui\/chart\.tsx$/,
  'livekit-client': /^control\/dashboard\/page\/(?:talk|live|conversation)\//,
  '@livekit/components-react': /^control\/dashboard\/page\/(?:talk|live|conversation)\//,
  otpauth: /^control\/access\/second-factor\/totp\.ts$/,
  '@simplewebauthn/server': /^control\/access\/second-factor\/passkeys\.ts$/,
  '@simplewebauthn/browser': /^control\/dashboard\/page\/account\//,
  uqr: /^control\/dashboard\/page\/account\//,
  'libphonenumber-js': /^control\/(?:platform\/phone|dashboard\/page\/ui\/phone)\.ts$/,
  'csv-stringify': /^control\/outreach\/campaigns\/csv\.ts$/,
  'temporal-polyfill': /^control\/(?:outreach\/campaigns\/zone|billing\/balance\/days)\.ts$/,
  bson: /^infra\/tools\/callee-zones\.ts$/,
  'libopus-wasm': /^media\/audio\/opus\.ts$/,
  'robots-parser': /^control\/knowledge\/crawl\/robots\.ts$/,
  unpdf: /^control\/knowledge\/extract\/pdf\.ts$/,
  mammoth: /^control\/knowledge\/extract\/docx\.ts$/,
  linkedom: /^control\/knowledge\/extract\/dom\.ts$/,
  '@mozilla/readability': /^control\/knowledge\/extract\/html\.ts$/,
  'csv-parse': /^control\/(?:knowledge\/extract\/csv|dashboard\/page\/campaigns\/read-table)\.ts$/,
  chardet: /^control\/knowledge\/extract\/charset\.ts$/,
  'file-type': /^control\/knowledge\/extract\/sniff\.ts$/,
  yauzl: /^control\/knowledge\/extract\/zip\.ts$/,
}

/** Layers from the bottom up; the files of `control` itself, such as app.ts, are above them. */
const CONTROL_LAYERS = [
  'platform',
  'metrics',
  'billing',
  'agents',
  'knowledge',
  'access',
  'telephony',
  'webhooks',
  'outreach',
  'data',
  'background',
  'api',
  'dashboard',
]

describe('imports', () => {
  it('reads a good number of them', () => {
    expect(imports.length).toBeGreaterThan(200)
  })

  it('go one way only', () => {
    const wrong = imports.filter(({ from, to }) => to !== null && !allowed[roomOf(from)].includes(roomOf(to)))
    expect(wrong).toEqual([])
  })

  it('of control reach nothing of media but what is shared, the contract, the ports and the HTTP tool', () => {
    const wrong = imports.filter(
      ({ from, to }) =>
        to !== null &&
        roomOf(from) === 'control' &&
        roomOf(to) === 'media' &&
        !/^media\/(?:shared|contract|ports|bus|tools)\//.test(to),
    )
    expect(wrong).toEqual([])
  })

  it('of media know no SIP, SQL, HTTP server', () => {
    const strangers = /^(?:drachtio-srf|postgres|pg-boss|fastify|@fastify\/.*)$/
    expect(imports.filter(({ from, pkg }) => roomOf(from) === 'media' && pkg !== null && strangers.test(pkg))).toEqual(
      [],
    )
  })

  it.each(Object.entries(behind))('of %s stand in one place', (pkg, place) => {
    const wrong = imports.filter(
      entry => (entry.pkg === pkg || entry.pkg?.startsWith(`${pkg}/`)) && !place.test(entry.from),
    )
    expect(wrong).toEqual([])
  })

  it('never go in a circle between the files of a package', () => {
    const graph = new Map<string, string[]>()
    for (const { from, to } of imports) if (to) graph.set(from, [...(graph.get(from) ?? []), to])
    expect(findCircle(graph)).toBeNull()
  })

  it.each(rooms)('of %s never go in a circle between folders', room => {
    const graph = new Map<string, Set<string>>()
    for (const { from, to } of imports) {
      // Data has no imports of its own.
      if (to === null || to.endsWith('.json') || roomOf(from) !== room || roomOf(to) !== room) continue
      if (dirname(from) !== dirname(to)) {
        graph.set(dirname(from), (graph.get(dirname(from)) ?? new Set()).add(dirname(to)))
      }
    }
    expect(foldersInCircles(graph)).toEqual([])
  })

  it('of control go down its layers', () => {
    const layerOf = (file: string) => {
      const [, group, ...rest] = file.split('/')
      return rest.length === 0 ? CONTROL_LAYERS.length : CONTROL_LAYERS.indexOf(group!)
    }
    const ours = imports.filter(({ from }) => roomOf(from) === 'control')
    expect(ours.filter(({ from }) => layerOf(from) < 0)).toEqual([])
    expect(
      ours.filter(({ from, to }) => to !== null && roomOf(to) === 'control' && layerOf(to) > layerOf(from)),
    ).toEqual([])
  })
})

describe('object literals', () => {
  it('are not spread into others, which would switch off the check for excess properties', () => {
    const spreads = files.filter(
      file => !file.endsWith('.tsx') && /\.\.\.\{/.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(spreads).toEqual([])
  })
})

describe('commands of Redis', () => {
  // Redis 7 has them; the embedded server is 6.2.
  const newer =
    /\.(?:lmpop|blmpop|zmpop|bzmpop|sintercard|zintercard|expiretime|pexpiretime|fcall)\(|expire\([^)]*'(?:NX|XX|GT|LT)'/i

  it('are those of version 6.2', () => {
    expect(files.filter(file => newer.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
    expect(newer.test("redis.multi().incr(key).expire(key, 3600, 'NX')")).toBe(true)
  })
})

describe('the environment', () => {
  const mentions = (pattern: RegExp) => files.filter(file => pattern.test(readFileSync(join(root, file), 'utf8')))

  it('is read in config.ts alone; the SIP server, which also runs alone, takes its secret from it', () => {
    const readers = mentions(/process\.env(?:\.(?=\w)|\[['"])(?!PATH)/)
    expect(readers.sort()).toEqual(['sip/server/main.ts'])
  })

  it('is passed on to children by infra alone', () => {
    expect(mentions(/process\.env\b/).filter(file => !file.startsWith('infra/'))).toEqual(['sip/server/main.ts'])
  })
})

function findCircle(graph: Map<string, string[]>): string[] | null {
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return null
    path.push(file)
    for (const next of graph.get(file) ?? []) {
      const circle = visit(next)
      if (circle) return circle
    }
    path.pop()
    done.add(file)
    return null
  }
  for (const file of graph.keys()) {
    const circle = visit(file)
    if (circle) return circle
  }
  return null
}

/** Those that can be reached from themselves. */
function foldersInCircles(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const isInCircle = (start: string) => {
    const seen = new Set<string>()
    const next = [...(graph.get(start) ?? [])]
    for (let folder = next.pop(); folder !== undefined; folder = next.pop()) {
      if (folder === start) return true
      if (seen.has(folder)) continue
      seen.add(folder)
      next.push(...(graph.get(folder) ?? []))
    }
    return false
  }
  return [...graph.keys()].filter(isInCircle).sort()
}
