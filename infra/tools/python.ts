/** What comes from Python's index: pinned packages, each set in a folder of the cache, beside those of the system. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { asStep, type ProgressReporter, run } from '../setup/prepare.ts'
import { whyNot } from '../setup/registry.ts'
import { makeOnce } from '../setup/shared-folder.ts'

export interface Packages {
  /** For people. */
  name: string
  pins: readonly string[]
  /** Of all of it, when it is not about 60. */
  megabytes?: number
}

/** So many characters of pins still fit the name of a folder. */
const LONGEST_NAME = 200

/** With what finds the test cases, so that a seed gives the same ones everywhere. */
export const SCHEMATHESIS: Packages = {
  name: 'schemathesis',
  pins: ['schemathesis==4.32.5', 'hypothesis==6.170.15'],
}
/** A client that shares nothing with ours, for the example in Python. */
export const LIVEKIT_CLIENT: Packages = {
  name: "LiveKit's Python client",
  pins: ['livekit==1.2.1'],
}

/** Compiled packages fit one Python. Null: there is none. */
async function folderOf(cache: string, { pins }: Packages): Promise<string | null> {
  const { code, output } = await run('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'])
  const joined = pins.join('-').replaceAll('==', '-')
  const hash = () => createHash('sha256').update(joined).digest('hex').slice(0, 12)
  const name = joined.length <= LONGEST_NAME ? joined : `${pins[0]!.replace('==', '-')}-${hash()}`
  return code === 0 ? join(cache, `${name}-python-${output.trim()}`) : null
}

/** The folder, or null when they are not installed, see `ensurePackages`. */
export async function findPackages(cache: string, packages: Packages): Promise<string | null> {
  const folder = await folderOf(cache, packages)
  return folder !== null && existsSync(folder) ? folder : null
}

/** For a Python that is to find them. */
export const withPackages = (folder: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: folder,
  PYTHONDONTWRITEBYTECODE: '1',
})

/** Null when they are there now, else why not, in words. Told when there is a progress reporter. */
export async function ensurePackages(
  cache: string,
  packages: Packages,
  reporter?: ProgressReporter,
  signal?: AbortSignal,
): Promise<string | null> {
  const folder = await folderOf(cache, packages)
  if (folder === null) return 'there is no Python'
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
    // Into a folder: asks neither for python3-venv nor to change what the system manages (PEP 668).
    const { code, output } = await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, ...pins])
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
