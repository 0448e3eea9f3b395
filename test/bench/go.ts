/** The benchmarks' Go programs, built once into the cache, under the hash of their source. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findGo } from '../../infra/embedded/livekit.ts'
import { run } from '../../infra/setup/prepare.ts'

/** `name` is the directory next to this file. Resolves with the program's path. */
export async function ensureBuilt(cache: string, name: 'room-load' | 'sip-peers'): Promise<string> {
  const source = join(import.meta.dirname, name)
  const hash = createHash('sha256')
  for (const file of readdirSync(source).sort()) hash.update(readFileSync(join(source, file)))
  const target = join(cache, `${name}-${hash.digest('hex').slice(0, 12)}`, name)
  if (existsSync(target)) return target
  const go = await findGo(cache)
  if (typeof go !== 'string') throw new Error(go.missing)
  const building = join(cache, `${name}-build-${process.pid}`)
  try {
    const env = { ...process.env, GOTOOLCHAIN: 'auto' }
    const { code, output } = await run(go, ['-C', source, 'build', '-o', building, '.'], { env })
    if (code !== 0) throw new Error(`${name} could not be built: ${output.slice(-500)}`)
    mkdirSync(join(target, '..'), { recursive: true })
    renameSync(building, target)
    return target
  } finally {
    rmSync(building, { force: true })
  }
}
