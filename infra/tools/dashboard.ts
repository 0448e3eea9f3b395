/** Builds the dashboard's page, once for each state of its sources; control serves what is built. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { ProgressReporter } from './prepare.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'control', 'dashboard')
const mark = join(folder, 'dist', '.built-from')

/** Of all that the page is made of. */
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

/** Null, or why there is none. */
export async function ensureDashboard(reporter: ProgressReporter): Promise<string | null> {
  const wanted = state()
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return null
  const done = reporter.step('Building the dashboard')
  try {
    // Only here: a built installation needs no build tool.
    const { build } = await import('vite')
    await build({ configFile: join(folder, 'vite.config.ts'), logLevel: 'error' })
    compress(join(folder, 'dist', 'assets'))
    writeFileSync(mark, wanted)
    done()
    return null
  } catch (error) {
    done('failed')
    return (error as Error).message
  }
}

/** Once here rather than at each visit. */
function compress(assets: string): void {
  for (const name of readdirSync(assets).filter(one => /\.(?:js|css|svg)$/.test(one))) {
    const body = readFileSync(join(assets, name))
    writeFileSync(join(assets, `${name}.gz`), gzipSync(body, { level: 9 }))
    writeFileSync(join(assets, `${name}.br`), brotliCompressSync(body))
  }
}
