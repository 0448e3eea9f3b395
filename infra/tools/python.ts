/** Pinned packages from PyPI, each installed in a cache directory, separate from the system's. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { asStep, type ProgressReporter, run, tied } from '../setup/prepare.ts'
import { whyNot } from '../setup/registry.ts'
import { makeOnce } from '../setup/shared-folder.ts'

export interface Packages {
  /** Shown to people. */
  name: string
  pins: readonly string[]
  /** Download size in MB; about 60 by default. */
  megabytes?: number
}

/** Characters of pins that still fit into a directory name. */
const LONGEST_NAME = 200

/** Includes the test-case generator, so that a seed produces the same cases everywhere. */
export const SCHEMATHESIS: Packages = {
  name: 'schemathesis',
  pins: ['schemathesis==4.32.5', 'hypothesis==6.170.15'],
}
/** A client that shares no code with ours, for the Python example. */
export const LIVEKIT_CLIENT: Packages = {
  name: "LiveKit's Python client",
  pins: ['livekit==1.2.1'],
}

/** Depends on the Python version, because compiled packages do. Null without Python. */
async function folderOf(cache: string, { pins }: Packages): Promise<string | null> {
  const { code, output } = await run('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'])
  const joined = pins.join('-').replaceAll('==', '-')
  const hash = () => createHash('sha256').update(joined).digest('hex').slice(0, 12)
  const name = joined.length <= LONGEST_NAME ? joined : `${pins[0]!.replace('==', '-')}-${hash()}`
  return code === 0 ? join(cache, `${name}-python-${output.trim()}`) : null
}

/** The directory, or null when they are not installed, see `ensurePackages`. */
export async function findPackages(cache: string, packages: Packages): Promise<string | null> {
  const folder = await folderOf(cache, packages)
  return folder !== null && existsSync(folder) ? folder : null
}

/** Environment for a Python that uses these packages. */
export const withPackages = (folder: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: folder,
  PYTHONDONTWRITEBYTECODE: '1',
})

/** Installs the packages. Returns null on success, otherwise the reason. Reports progress to `reporter`. */
export async function ensurePackages(
  cache: string,
  packages: Packages,
  reporter?: ProgressReporter,
  signal?: AbortSignal,
): Promise<string | null> {
  const folder = await folderOf(cache, packages)
  if (folder === null) return 'Python is not installed'
  if (existsSync(folder)) return null
  try {
    await makeOnce(folder, { name: packages.name, reporter, signal, make: draft => install(packages, draft, reporter) })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

function install({ name, pins, megabytes }: Packages, folder: string, reporter?: ProgressReporter): Promise<void> {
  return asStep(reporter, `Installing ${name} (about ${megabytes ?? 60} MB, once)`, async () => {
    // `--target` needs neither python3-venv nor changes to a system-managed Python (PEP 668).
    const options = ['--quiet', '--target', folder, ...pins]
    const { code, output } = await run(...tied('python3', ['-m', 'pip', 'install', ...options]))
    if (code !== 0) throw new Error(whyNot(name, output))
  })
}

export interface PythonProgram {
  command: string
  args: string[]
  env: NodeJS.ProcessEnv
}

/** Null when it is not installed. */
export async function findSchemathesis(cache: string): Promise<PythonProgram | null> {
  const folder = await findPackages(cache, SCHEMATHESIS)
  if (folder === null) return null
  return { command: 'python3', args: ['-s', '-m', 'schemathesis.cli'], env: withPackages(folder) }
}
