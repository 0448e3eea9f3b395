/**
 * The labelled set against the whole detector. Each run uses the recorded output of Silero and Moonshine
 * (`recorded.jsonl` next to the clips); the long run transcribes anew, with the speech process.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { modelsFolder } from '../../../infra/models/offline-speech.ts'
import { createSpeechClient } from '../../../media/models/speech/client.ts'
import { startSpeechServer } from '../../../media/models/speech/server.ts'
import { loadModels } from '../../../media/models/speech/sherpa.ts'
import { babbleOf, type Clip, index, type Sound, soundOf } from '../../corpus/answering/sounds.ts'
import { liveStt, readRecorded, recordedStt } from '../../corpus/answering/stt.ts'
import { quietLog } from '../../support/world.ts'
import { type Judged, judgeSound, resultAt, type SttReader } from './listening.ts'

/** A result counts when it is given within three seconds of the far end's first sound. */
const WITHIN_MS = 3000
const PEOPLE_LOST = 0.02
const MACHINES_FOUND = 0.9
/** Judged blind: 11 of 14. */
const HELD_FOUND = 0.75
const ANSWERING_RESULTS = ['human', 'voicemail', 'screening', 'ivr', 'fax', 'unknown'] as const

interface Result {
  clip: Clip
  judged: Judged
  /** AnsweringResult at three seconds, and the last of all. */
  soon: string
  late: string
}

const clips = index()
const isMachine = (result: string) => result !== 'human' && result !== 'unknown'
const share = (part: number, whole: number) => (whole === 0 ? 0 : part / whole)
const percent = (value: number) => `${(value * 100).toFixed(1)} %`

async function judgeAll(sttWith: (clip: Clip, sound: Sound) => Promise<SttReader>): Promise<Result[]> {
  const results: Result[] = []
  for (const clip of clips) {
    const sound = soundOf(clip, babbleOf(clips, clip.split))
    const judged = await judgeSound(sound, await sttWith(clip, sound))
    results.push({
      clip,
      judged,
      soon: resultAt(judged, WITHIN_MS)?.result ?? 'unknown',
      late: judged.results.at(-1)?.result ?? 'unknown',
    })
  }
  return results
}

interface Figures {
  peopleLost: number
  peopleLostEver: number
  machinesFound: number
  machinesFoundLate: number
}

function figuresOf(results: readonly Result[]): Figures {
  const people = results.filter(({ clip }) => clip.label === 'human')
  const machines = results.filter(({ clip }) => clip.label !== 'human')
  const lostOnce = ({ judged }: Result) => judged.results.some(({ result }) => isMachine(result))
  return {
    peopleLost: share(people.filter(({ soon }) => isMachine(soon)).length, people.length),
    peopleLostEver: share(people.filter(lostOnce).length, people.length),
    machinesFound: share(machines.filter(({ soon }) => isMachine(soon)).length, machines.length),
    machinesFoundLate: share(machines.filter(({ late }) => isMachine(late)).length, machines.length),
  }
}

/** When the result that was right by three seconds was given, from the first sound; or, for people, from their last. */
function times(results: readonly Result[], from: 'first' | 'last'): string {
  const given = results
    .map(({ clip, judged }) => (resultAt(judged, WITHIN_MS)?.afterMs ?? 0) - (from === 'last' ? clip.voice_ms : 0))
    .sort((a, b) => a - b)
  const at = (q: number) => given[Math.min(given.length - 1, Math.floor(q * given.length))] ?? 0
  return `p50 ${Math.round(at(0.5))} ms, p95 ${Math.round(at(0.95))} ms`
}

function tell(name: string, results: readonly Result[]): Figures {
  const figures = figuresOf(results)
  const lines = [`${name}: ${results.length} clips, result ${WITHIN_MS} ms after the first sound`]
  lines.push(`${'label'.padEnd(11)}${ANSWERING_RESULTS.map(result => result.padStart(10)).join('')}`)
  for (const label of ANSWERING_RESULTS.slice(0, 5)) {
    const own = results.filter(({ clip }) => clip.label === label)
    const cells = ANSWERING_RESULTS.map(result => String(own.filter(({ soon }) => soon === result).length).padStart(10))
    lines.push(`${label.padEnd(11)}${cells.join('')}`)
  }
  const people = results.filter(({ clip, soon }) => clip.label === 'human' && soon === 'human')
  const machines = results.filter(({ clip, soon }) => clip.label !== 'human' && isMachine(soon))
  lines.push(
    `people called machines ${percent(figures.peopleLost)} (at any time ${percent(figures.peopleLostEver)})`,
    `machines found ${percent(figures.machinesFound)} (in the end ${percent(figures.machinesFoundLate)})`,
    `people known: ${times(people, 'first')} from their first sound, ${times(people, 'last')} from their last`,
    `machines known: ${times(machines, 'first')} from the first sound`,
  )
  for (const { clip, judged, soon, late } of results) {
    if (isMachine(soon) === (clip.label !== 'human') && soon !== 'unknown' && late === soon) continue
    const story = judged.results.map(
      ({ result, rule, found, afterMs }) =>
        `${result} by ${rule}${found ? ` "${found}"` : ''} at ${Math.round(afterMs)}`,
    )
    lines.push(`  ${clip.id} "${clip.words}": ${story.join(', ')}`)
  }
  console.log(lines.join('\n'))
  return figures
}

const readable = ({ clip }: Result) => clip.language === 'en'
const split = (results: Result[], which: Clip['split']) => results.filter(({ clip }) => clip.split === which)

describe('the set', () => {
  it('is large enough, labelled, and keeps its voices apart', () => {
    expect(clips.length).toBeGreaterThanOrEqual(90)
    expect(clips.filter(({ label }) => label === 'human').length).toBeGreaterThanOrEqual(40)
    for (const kind of ['voicemail', 'screening', 'ivr', 'fax'] as const)
      expect(clips.filter(clip => clip.split === 'test' && clip.label === kind).length).toBeGreaterThanOrEqual(3)
    const voices = (which: Clip['split']) =>
      new Set(clips.filter(clip => clip.split === which && clip.file !== null).map(({ voice }) => speaker(voice)))
    for (const [one, other] of [
      ['tune', 'test'],
      ['tune', 'held'],
      ['test', 'held'],
    ] as const)
      expect([...voices(one)].filter(voice => voices(other).has(voice))).toEqual([])
    expect(clips.every(({ source, license }) => source !== '' && license !== '')).toBe(true)
  })
})

/**
 * The limits hold for the test split, which has been looked at. What was held back has not, and shows how far the words
 * of the rules reach: no person is lost there either, and fewer machines are detected in time (see the corpus's README.md).
 */
function expectWithin(results: Result[], name: string): void {
  tell(`${name}tuned on, English`, split(results, 'tune').filter(readable))
  const test = tell(`${name}test, English`, split(results, 'test').filter(readable))
  const held = tell(`${name}held back, English`, split(results, 'held').filter(readable))
  expect(test.peopleLost).toBeLessThanOrEqual(PEOPLE_LOST)
  expect(test.peopleLostEver).toBeLessThanOrEqual(PEOPLE_LOST)
  expect(test.machinesFound).toBeGreaterThanOrEqual(MACHINES_FOUND)
  expect(held.peopleLostEver).toBe(0)
  expect(held.machinesFound).toBeGreaterThanOrEqual(HELD_FOUND)
}

/** One of Asterisk's speakers says many things; the others are named by their voice. */
const speaker = (voice: string) => (voice.startsWith('asterisk:') ? voice.split('/')[0]! : voice)

describe('with recorded STT', () => {
  let results: Result[]
  beforeAll(async () => {
    const recorded = readRecorded()
    results = await judgeAll(async clip => recordedStt(recorded[clip.id]!))
  })

  it('keeps people and detects machines in unseen voices', () => {
    expectWithin(results, '')
  })

  it('hangs up on no person without STT', async () => {
    const others = results.filter(result => result.clip.split !== 'tune' && !readable(result))
    expect(tell('test, other languages, by cadence alone', others).peopleLostEver).toBe(0)
    const recorded = readRecorded()
    const sttUnavailable = await judgeAll(async clip => recordedStt({ ...recorded[clip.id]!, texts: null }))
    expect(tell('all, recogniser away', sttUnavailable).peopleLostEver).toBe(0)
  })

  it('starts messages after the beep, never during the greeting', () => {
    const beeping = results.filter(({ clip }) => clip.label === 'voicemail' && clip.after)
    expect(beeping.length).toBeGreaterThanOrEqual(8)
    for (const { clip, judged } of beeping) {
      const sound = soundOf(clip, babbleOf(clips, clip.split))
      const endMs = sound.voiceMs + clip.voice_ms + beepEnd(clip)
      expect.soft(judged.speak, clip.id).toMatchObject({ rule: 'beep' })
      expect.soft(judged.speak?.atMs, clip.id).toBeGreaterThanOrEqual(endMs - 20)
      expect.soft(judged.speak?.atMs, clip.id).toBeLessThan(endMs + 200)
    }
  })

  it('needs few transcriptions per call', () => {
    const asked = results.map(({ judged }) => judged.asked)
    expect(Math.max(...asked)).toBeLessThanOrEqual(14)
  })
})

function beepEnd({ after = [] }: Clip): number {
  let ms = 0
  for (const part of after) {
    if ('tone' in part) return ms + part.tone[1]
    if ('silence_ms' in part) ms += part.silence_ms
  }
  return ms
}

describe.runIf(inject('full'))('with a real STT engine', () => {
  let close = async () => {}
  let results: Result[]
  beforeAll(async () => {
    const models = await loadModels(modelsFolder(readConfig().cache), 1)
    const server = await startSpeechServer({ host: '127.0.0.1', port: 0, models, log: quietLog })
    const client = createSpeechClient({ host: '127.0.0.1', port: server.port, clock: systemClock, log: quietLog })
    close = async () => {
      client.close()
      await server.close()
    }
    await client.ready
    results = await judgeAll((clip, sound) => liveStt(client, clip, sound))
  }, 900_000)
  afterAll(() => close())

  it('keeps people and detects machines in unseen voices', () => {
    expectWithin(results, 'live, ')
  })
})
