/** Texts of Debian packages, unpacked into the cache without installation. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The folder `inside` of what the packages hold together; null where Debian's packages cannot be had. */
export async function findPackages(cache: string, packages: readonly string[], inside: string): Promise<string | null> {
  const folder = join(cache, packages[0]!)
  const wanted = join(folder, inside)
  if (existsSync(wanted)) return wanted
  mkdirSync(folder, { recursive: true })
  const run = promisify(execFile)
  try {
    await run('apt-get', ['download', '-qq', ...packages], { cwd: folder })
    const files = readdirSync(folder).filter(name => name.endsWith('.deb'))
    for (const file of files) await run('dpkg-deb', ['-x', file, '.'], { cwd: folder })
  } catch {
    return null
  }
  return existsSync(wanted) ? wanted : null
}
