/**
 * Makes the scenario files and the recordings of their callers from the catalogue: `node make.ts --kokoro DIR
 * --asterisk DIR [--festival PROGRAM] [--voices] [part of an id]...` Without `--voices`, only the scenario files are
 * written and existing recordings are kept.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import { readConfig } from '../../../infra/config/config.ts'
import { modelsFolder } from '../../../infra/models/offline-speech.ts'
import { createRandom } from '../../../infra/simulate/network.ts'
import { concatPcm, floatToPcm, rms } from '../../../media/audio/frames.ts'
import { encodeG711 } from '../../../media/audio/g711.ts'
import { createResampler } from '../../../media/audio/resample.ts'
import { decodeWav } from '../../../media/audio/wav.ts'
import { AGENTS, CALLS, type Say, type SpokenCall } from './catalogue.ts'

const RATE = 8000
/** Loudness of speech on the telephone. */
const LEVEL = 2600
const FOLDER = import.meta.dirname

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kokoro: { type: 'string', default: '' },
    asterisk: { type: 'string', default: '' },
    festival: { type: 'string', default: 'text2wave' },
    voices: { type: 'boolean', default: false },
  },
})

interface Sound {
  pcm: Int16Array
  sampleRate: number
}

interface SherpaTts {
  generate(request: object): { samples: Float32Array; sampleRate: number }
}
const loaded = new Map<string, SherpaTts>()
function sherpa(name: string, config: () => object): (words: string, sid: number, speed: number) => Sound {
  const { OfflineTts } = createRequire(import.meta.url)('sherpa-onnx-node') as {
    OfflineTts: new (config: object) => SherpaTts
  }
  const tts = loaded.get(name) ?? new OfflineTts({ model: { ...config(), numThreads: 1 }, maxNumSentences: 1 })
  loaded.set(name, tts)
  return (words, sid, speed) => {
    const { samples, sampleRate } = tts.generate({ text: words, sid, speed, enableExternalBuffer: false })
    return { pcm: floatToPcm(samples), sampleRate }
  }
}

const models = modelsFolder(readConfig({ PARLEY_HOME: tmpdir() }).cache)
const espeakData = { dataDir: join(models, 'espeak-ng-data') }

const ENGINES: Record<string, (voice: string, words: string, speed: number) => Sound> = {
  kokoro(voice, words, speed) {
    const at = (file: string) => join(values.kokoro, file)
    const names = JSON.parse(readFileSync(at('voices.json'), 'utf8')) as string[]
    const files = { model: at('kokoro.onnx'), voices: at('voices.bin'), tokens: at('tokens.txt') }
    return sherpa('kokoro', () => ({ kokoro: { ...files, ...espeakData } }))(words, names.indexOf(voice), speed)
  },
  piper(_voice, words, speed) {
    const files = { model: join(models, 'piper/joe.onnx'), tokens: join(models, 'piper/tokens.txt') }
    return sherpa('piper', () => ({ vits: { ...files, ...espeakData } }))(words, 0, speed)
  },
  festival(_voice, words) {
    const folder = mkdtempSync(join(tmpdir(), 'spoken-'))
    const file = join(folder, 'out.wav')
    const args = ['-eval', '(voice_msu_ru_nsh_clunits)', '-o', file]
    execFileSync(values.festival, args, { input: words, stdio: ['pipe', 'ignore', 'ignore'] })
    const sound = decodeWav(readFileSync(file))
    rmSync(folder, { recursive: true })
    return sound
  },
  /** Single digits and letters that people recorded, one after the other. */
  asterisk(voice, words) {
    const speaker = voice === 'ru' ? 'ru_RU_f_IvrvoiceRU' : 'en_US_f_Allison'
    const parts = words.split(/[\s,]+/).filter(Boolean)
    const sounds = parts.map(word => {
      const digit = DIGITS[voice]!.indexOf(word)
      const file = digit >= 0 ? `digits/${digit}.wav` : `letters/${word.toLowerCase()}.wav`
      return dry(decodeWav(readFileSync(join(values.asterisk, speaker, file))))
    })
    return { pcm: concatPcm(sounds.flatMap(sound => [sound, silence(60)])), sampleRate: RATE }
  },
  noise: voice => ({ pcm: NOISES[voice]!(createRandom(7)), sampleRate: RATE }),
}

const DIGITS: Record<string, string[]> = {
  en: ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'],
  ru: ['ноль', 'один', 'два', 'три', 'четыре', 'пять', 'шесть', 'семь', 'восемь', 'девять'],
}

/** Hiss that swells and dies: twice for a cough, with a thump in it for a door. */
const NOISES: Record<string, (random: () => number) => Int16Array> = {
  cough: random => concatPcm([burst(random, 180, 0.5), silence(90), burst(random, 260, 0.5)]),
  door: random => {
    const hiss = burst(random, 220, 0.2)
    return hiss.map((sample, i) => sample * 0.5 + 9000 * Math.exp(-i / 500) * Math.sin((2 * Math.PI * 90 * i) / RATE))
  },
}

function burst(random: () => number, ms: number, dullness: number): Int16Array {
  const length = (RATE / 1000) * ms
  let last = 0
  return Int16Array.from({ length }, (_, i) => {
    last = dullness * last + (1 - dullness) * (random() * 2 - 1)
    return 14_000 * last * Math.min(1, i / 80) * Math.exp((-3 * i) / length)
  })
}

const silence = (ms: number) => new Int16Array((RATE / 1000) * ms)

/** At the telephone's rate and level, without the silence around it. */
function dry({ pcm, sampleRate }: Sound): Int16Array {
  const resampler = createResampler(sampleRate, RATE)
  const narrow = sampleRate === RATE ? pcm : concatPcm([resampler.push(pcm).slice(), resampler.flush().slice()])
  const frame = RATE / 100
  const peak = narrow.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
  const loud = (at: number) => rms(narrow.subarray(at, at + frame)) > peak * 0.015
  let from = 0
  while (from < narrow.length && !loud(from)) from += frame
  let to = narrow.length - (narrow.length % frame)
  while (to > from && !loud(to - frame)) to -= frame
  const cut = narrow.slice(from, to)
  const gain = LEVEL / Math.max(1, rms(cut))
  return cut.map(sample => Math.max(-32_768, Math.min(32_767, sample * gain)))
}

function record(call: SpokenCall, voice: string, words: string): Int16Array {
  const [engine, name] = voice.split(':') as [string, string]
  const parts = words.split('…').filter(text => text.trim() !== '')
  const sounds = parts.map(part => dry(ENGINES[engine]!(name, part.trim(), call.speed ?? 1)))
  return concatPcm(sounds.flatMap((sound, i) => (i === 0 ? [sound] : [silence(call.pause_ms ?? 700), sound])))
}

function speech(call: SpokenCall, step: Say, n: number): object {
  const said = typeof step === 'string' ? { words: step } : 'over' in step ? { ...step, words: step.over } : step
  if (!('words' in said)) throw new Error('not spoken')
  if ('given' in said && said.given) return { say: said.words, file: said.given }
  const voice = ('voice' in said && said.voice) || call.voice
  const file = `voices/${call.id}-${n}.ul`
  const path = join(FOLDER, file)
  if (values.voices || !existsSync(path)) {
    const pcm = record(call, voice, said.words)
    const bytes = new Uint8Array(pcm.length)
    encodeG711('PCMU', pcm, bytes)
    writeFileSync(path, bytes)
  }
  return { say: said.words, file }
}

function step(call: SpokenCall, said: Say, n: number): object {
  if (typeof said === 'string' || 'words' in said) return speech(call, said, n)
  if ('press' in said) return said
  if ('silent' in said) return { silence_ms: said.silent }
  if ('hangUp' in said) return { hang_up: true }
  return { barge_in: { after_ms: said.after, ...speech(call, said, n), ...(said.aside ? { stops: false } : {}) } }
}

function scenario(call: SpokenCall): object {
  const { id: _, name, language, agent, line, caller, tools, expect } = call
  const steps = caller.map((said, i) => step(call, said, i + 1))
  return { name, language, mode: 'audio', agent: AGENTS[agent], tools, line, caller: steps, expect }
}

mkdirSync(join(FOLDER, 'voices'), { recursive: true })
for (const call of CALLS) {
  if (positionals.length > 0 && !positionals.some(part => call.id.includes(part))) continue
  const head = `# Made by make.ts from catalogue.ts. The caller: ${call.voice}.\n`
  const text = stringify(scenario(call), { lineWidth: 0, aliasDuplicateObjects: false })
  writeFileSync(join(FOLDER, `${call.id}.yaml`), head + text)
  console.log(call.id)
}
