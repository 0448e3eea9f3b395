/** What the tests use of Python: packages in a folder of the cache, beside those of the system. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { run, type Teller } from './prepare.ts'

/** With what finds the test cases, so that a seed gives the same ones everywhere. */
const SCHEMATHESIS = ['schemathesis==4.32.5', 'hypothesis==6.170.15']

/** Compiled packages fit one Python. Null: there is none. */
async function folderOf(cache: string): Promise<string | null> {
  const { code, output } = await run('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'])
  return code === 0 ? join(cache, `${SCHEMATHESIS.join('-').replaceAll('==', '-')}-python-${output.trim()}`) : null
}

export interface PythonProgram {
  command: string
  args: string[]
  env: NodeJS.ProcessEnv
}

/** Null when it is not installed, see `ensureSchemathesis`. */
export async function findSchemathesis(cache: string): Promise<PythonProgram | null> {
  const folder = await folderOf(cache)
  if (folder === null || !existsSync(folder)) return null
  return {
    command: 'python3',
    args: ['-s', '-m', 'schemathesis.cli'],
    env: { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
  }
}

/** Null when it is there now, else why not, in words. Without it its test is skipped. */
export async function ensureSchemathesis(cache: string, teller: Teller): Promise<string | null> {
  const folder = await folderOf(cache)
  if (folder === null) return 'there is no Python'
  if (existsSync(folder)) return null
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(cache, 'python-work-'))
  const done = teller.step('Installing schemathesis (about 60 MB, once)')
  try {
    // Into a folder: asks neither for python3-venv nor to change what the system manages.
    const { code, output } = await run('python3', [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--target',
      work,
      ...SCHEMATHESIS,
    ])
    if (code !== 0) throw new Error(output.trim().split('\n').at(-1) ?? '')
    renameSync(work, folder)
    done()
    return null
  } catch (error) {
    done('failed')
    // Another checkout may have been faster.
    return existsSync(folder) ? null : (error as Error).message
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
