/** Readers of the deployment's files for tests: compose file, Dockerfile, imports and packages. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parse } from 'yaml'

export const root = resolve(import.meta.dirname, '../..')
export const read = (path: string) => readFileSync(join(root, path), 'utf8')
export const exists = (path: string) => existsSync(join(root, path))

export interface Service {
  image: string
  build?: { context: string; dockerfile: string; target: string }
  command?: string[]
  entrypoint?: string[]
  environment?: Record<string, string>
  env_file?: { path: string; required: boolean }[]
  user?: string
  read_only?: boolean
  cap_drop?: string[]
  cap_add?: string[]
  security_opt?: string[]
  healthcheck?: { test: string[] }
  secrets?: string[]
  volumes?: string[]
  ports?: string[]
  expose?: string[]
  extra_hosts?: string[]
  networks?: string[]
  network_mode?: string
  depends_on?: Record<string, { condition: string }>
  stop_grace_period?: string
}

export interface Compose {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  volumes: Record<string, null>
  networks: { inside: { ipam: { config: { subnet: string }[] } } }
}

export const composeText = read('infra/deploy/docker/compose.yaml')
export const compose = parse(composeText, { merge: true }) as Compose

/** Variables that `.env` sets. */
export const VARIABLES: Record<string, string> = Object.fromEntries(
  [...read('infra/deploy/docker/.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)].map(match => [match[1]!, match[2]!]),
)

/** `${NAME}`, `${NAME:-default}`, `${NAME:?words}` and `$$`, as compose has them. */
export function interpolated(text: string): string {
  return text.replace(/\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}/g, (whole, name: string, kind: string, word: string) => {
    if (whole === '$$') return '$'
    const value = VARIABLES[name] ?? (kind === '-' ? word : undefined)
    if (value === undefined) throw new Error(`${name} stands in no .env`)
    return value
  })
}

export const settingsOf = (service: Service): Record<string, string> =>
  Object.fromEntries(Object.entries(service.environment ?? {}).map(([name, value]) => [name, interpolated(value)]))

// ---- the images ----

export interface Stage {
  name: string
  from: string
  /** Its instructions, each on a line. */
  lines: string[]
}

export const dockerfile = read('infra/deploy/docker/Dockerfile')

export const stages: Stage[] = dockerfile
  .replace(/^\s*#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split(/^(?=FROM )/m)
  .filter(text => text.startsWith('FROM '))
  .map(text => {
    const [first, ...lines] = text.split('\n').filter(Boolean)
    const [, from, name] = /^FROM (\S+) AS (\S+)$/.exec(first!)!
    return { from: from!, name: name!, lines }
  })

export function stage(name: string): Stage {
  const found = stages.find(one => one.name === name)
  if (!found) throw new Error(`the Dockerfile has no ${name}`)
  return found
}

/** Includes the lines of the stages that it builds on, in order. */
export function linesOf(name: string): string[] {
  const { from, lines } = stage(name)
  return stages.some(one => one.name === from) ? [...linesOf(from), ...lines] : lines
}

export const environmentOf = (name: string): Record<string, string> =>
  Object.fromEntries(
    linesOf(name)
      .filter(line => line.startsWith('ENV '))
      .flatMap(line => line.slice(4).split(/\s+/))
      .map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  )

/** `CMD`, or what `HEALTHCHECK` runs. */
export function wordsOf(name: string, instruction: 'CMD' | 'HEALTHCHECK'): string[] | null {
  const line = linesOf(name).findLast(one => one.startsWith(instruction))
  return line === undefined ? null : (JSON.parse(line.slice(line.indexOf('['))) as string[])
}

/** Paths of the repository that `COPY` instructions copy. */
export const copiedTo = (name: string): string[] =>
  linesOf(name)
    .filter(line => line.startsWith('COPY ') && !line.startsWith('COPY --from'))
    .flatMap(line => line.split(/\s+/).slice(1, -1))

/** Packages that a stage removes again. */
export const removedFrom = (name: string): string[] =>
  linesOf(name).flatMap(line =>
    [...line.matchAll(/\brm -rf ((?:node_modules\/\S+ ?)+)/g)].flatMap(match => match[1]!.trim().split(/\s+/)),
  )

// ---- what programs need ----

/**
 * Files that a program imports, from wherever it does, and packages. Types are none of it, nor what `unasked` would load when
 * their functions are called: the program never does.
 */
export function neededBy(
  entries: readonly string[],
  unasked: readonly string[] = [],
): { files: string[]; packages: string[] } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const waiting = [...entries]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue
    files.add(file)
    for (const target of [...importsOf(file), ...(unasked.includes(file) ? [] : loadedBy(file))]) {
      if (target.startsWith('.')) waiting.push(relative(root, resolve(root, dirname(file), target)))
      else if (!target.startsWith('node:'))
        packages.add(
          target
            .split('/')
            .slice(0, target.startsWith('@') ? 2 : 1)
            .join('/'),
        )
    }
  }
  return { files: [...files].sort(), packages: [...packages].sort() }
}

function importsOf(file: string): string[] {
  const found = read(file).matchAll(
    /^\s*(?:import|export)\b(?!\s+type\b)[^'"]*?from\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|\brequire\)?\(\s*['"]([^'"]+)['"]\)|new URL\(\s*['"](\.[^'"]+\.ts)['"]/gm,
  )
  return [...found].map(match => match.slice(1).find(Boolean)!)
}

const loadedBy = (file: string): string[] =>
  [...read(file).matchAll(/createRequire\(import\.meta\.url\)\(\s*['"]([^'"]+)['"]\)/g)].map(match => match[1]!)

interface Locked {
  version: string
  dev?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}
export const locked = (JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> }).packages

/** Packages with all that they need, as folders of `node_modules`, for Linux on x64. */
export function closureOf(packages: readonly string[]): Set<string> {
  const folders = new Set<string>()
  const waiting: [from: string, name: string][] = packages.map(name => ['', name])
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const folder = placeOf(...next)
    if (folder === null || folders.has(folder)) continue
    folders.add(folder)
    const { dependencies = {}, optionalDependencies = {} } = locked[folder]!
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) waiting.push([folder, name])
  }
  return folders
}

/** Resolves as Node does: next to the importer, then upward. Null: not for this system. */
function placeOf(from: string, name: string): string | null {
  for (let at = from; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
    const folder = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (locked[folder] && exists(folder)) return folder
    if (at === '') return null
  }
}
