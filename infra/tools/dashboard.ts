/** Builds the dashboard once per state of its sources; control serves the result. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { asStep, type ProgressReporter } from '../setup/prepare.ts'
import { takeTurn } from '../setup/shared-folder.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'control', 'dashboard')
const dist = join(folder, 'dist')
const mark = join(dist, '.built-from')

/** A hash of all inputs of the build. */
function state(): string {
  const hash = createHash('sha256')
  const add = (file: string) => hash.update(file).update(readFileSync(join(root, file)))
  const page = readdirSync(join(folder, 'page'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(root.length + 1))
  for (const file of page.sort()) add(file)
  for (const file of [
    'control/dashboard/vite.config.ts',
    'control/dashboard/policy.ts',
    'control/api/client/problem.ts',
    'package-lock.json',
  ])
    add(file)
  return hash.digest('hex')
}

const isBuiltFrom = (wanted: string) => existsSync(mark) && readFileSync(mark, 'utf8') === wanted

/** Returns null on success, otherwise the reason. */
export async function ensureDashboard(reporter: ProgressReporter): Promise<string | null> {
  const wanted = state()
  if (isBuiltFrom(wanted)) return null
  let release: (() => void) | undefined
  try {
    mkdirSync(dist, { recursive: true })
    release = await takeTurn(join(dist, '.lock'), { name: 'the build of the dashboard', reporter })
    if (!isBuiltFrom(wanted)) await asStep(reporter, 'Building the dashboard', () => buildPage(wanted))
    return null
  } catch (error) {
    return (error as Error).message
  } finally {
    release?.()
  }
}

/** Builds into a draft and then moves files one by one, because another process may be serving the previous build. */
async function buildPage(wanted: string): Promise<void> {
  const draft = join(dist, '.draft')
  rmSync(draft, { recursive: true, force: true }) // left by a killed build
  // Imported here only: a built installation needs no build tool.
  const { build } = await import('vite')
  await build({ configFile: join(folder, 'vite.config.ts'), logLevel: 'error', build: { outDir: draft } })
  compress(join(draft, 'assets'))
  // index.html last, when everything that it refers to exists.
  const files = filesIn(draft).sort((one, other) => Number(one === 'index.html') - Number(other === 'index.html'))
  for (const file of files) {
    mkdirSync(dirname(join(dist, file)), { recursive: true })
    renameSync(join(draft, file), join(dist, file))
  }
  rmSync(draft, { recursive: true })
  writeFileSync(mark, wanted)
  removeOld(new Set(files))
}

const KEPT_MS = 7 * 24 * 3_600_000

/** Asset names change with their content; those of earlier builds are kept for pages that are still open. */
function removeOld(built: ReadonlySet<string>): void {
  for (const file of filesIn(dist)) {
    if (!file.startsWith('assets/') || built.has(file)) continue
    if (Date.now() - statSync(join(dist, file)).mtimeMs > KEPT_MS) rmSync(join(dist, file), { force: true })
  }
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))

/** Compressed at build time rather than on each request. */
function compress(assets: string): void {
  for (const name of readdirSync(assets).filter(one => /\.(?:js|css|svg)$/.test(one))) {
    const body = readFileSync(join(assets, name))
    writeFileSync(join(assets, `${name}.gz`), gzipSync(body, { level: 9 }))
    writeFileSync(join(assets, `${name}.br`), brotliCompressSync(body))
  }
}
