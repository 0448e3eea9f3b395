/** Every rule alone, with invented voices: the audio of a call is given as times. */
import { describe, expect, it } from 'vitest'
import {
  type AnsweringEffect,
  type AnsweringInput,
  type AnsweringState,
  answeredBy,
  initialAnswering,
  stepAnswering,
} from '../../../media/answering/detector.ts'

interface Script {
  /** Utterances of voice, ms from the answer. */
  voice?: [number, number][]
  /** Tones: Hz, from, to. */
  tones?: [number, number, number][]
  /** Transcripts by time in ms; null without speech-to-text. */
  words?: [number, string][] | null
  untilMs: number
  sttMs?: number
}

const WINDOW_MS = 32
const within = (atMs: number, utterances: readonly (readonly [number, number])[]) =>
  utterances.some(([from, to]) => atMs > from && atMs <= to)

/** Plays the script window by window; a detector of voices says "voice" for 150 ms after its end. */
function play({ voice = [], tones = [], words = [], untilMs, sttMs = 100 }: Script) {
  let state: AnsweringState = initialAnswering(0)
  const effects: (AnsweringEffect & { nowMs: number })[] = []
  const answers: Extract<AnsweringInput, { type: 'transcript' }>[] = []
  let loudMs = 0
  const feed = (input: AnsweringInput) => {
    const step = stepAnswering(state, input)
    state = step.state
    for (const effect of step.effects) {
      effects.push({ ...effect, nowMs: input.atMs })
      if (effect.type !== 'transcribe') continue
      const said = words?.findLast(([byMs]) => byMs <= effect.toMs)?.[1] ?? ''
      answers.push({ ...effect, type: 'transcript', text: words === null ? null : said, atMs: input.atMs + sttMs })
    }
  }
  for (let atMs = 4; atMs <= untilMs; atMs += 4) {
    const tone = tones.find(([, from, to]) => atMs > from && atMs <= to)
    if (tone || within(atMs, voice)) loudMs = atMs
    if (atMs % 20 === 0) {
      const measure = tone ? { level: 4000, hz: tone[0], purity: 0.99 } : { level: 20, hz: 0, purity: 0 }
      feed({ type: 'sound', measure, atMs })
    }
    while (answers.length > 0 && answers[0]!.atMs <= atMs) feed(answers.shift()!)
    if (atMs % WINDOW_MS === 0) {
      const lagging = voice.map(([from, to]) => [from + 64, to + 150] as const)
      feed({ type: 'voice', voiced: within(atMs, lagging), atMs, windowMs: WINDOW_MS, loudMs })
    }
    if (atMs % 100 === 0) feed({ type: 'tick', atMs })
  }
  const results = effects.filter(effect => effect.type === 'result')
  return { effects, results, state, last: results.at(-1) }
}

describe('a person', () => {
  it('who says hello and waits is detected half a second later', () => {
    const { results } = play({ voice: [[500, 900]], words: [[900, 'Hello?']], untilMs: 6000 })
    expect(results).toMatchObject([{ result: 'human', rule: 'short_greeting', before: null, talking: false }])
    expect(results[0]!.atMs).toBeGreaterThan(1250)
    expect(results[0]!.atMs).toBeLessThan(1450)
  })

  it('is detected without words, later', () => {
    const { results } = play({ voice: [[500, 900]], words: null, untilMs: 6000 })
    expect(results).toMatchObject([{ result: 'human', rule: 'short_greeting' }])
    expect(results[0]!.atMs).toBeLessThan(1650)
  })

  it('is not delayed by a hanging STT', () => {
    const { results } = play({ voice: [[500, 900]], sttMs: 60_000, untilMs: 6000 })
    expect(results).toMatchObject([{ result: 'human' }])
    expect(results[0]!.atMs).toBeLessThan(2000)
  })

  it('with a company greeting is a person after the greeting ends', () => {
    const { results } = play({
      voice: [[300, 4000]],
      words: [
        [1000, 'Good afternoon, Smith and Sons,'],
        [2200, 'Good afternoon, Smith and Sons, Mary speaking'],
        [3900, 'Good afternoon, Smith and Sons, Mary speaking, how can I help you?'],
      ],
      untilMs: 8000,
    })
    expect(results.map(({ result }) => result)).toEqual(['unknown', 'human'])
    expect(results[1]!.atMs).toBeLessThan(4700)
  })

  it('who says "one moment" is no machine', () => {
    const words: [number, string][] = [[500, 'Thank you for calling Doctor Wilson, can you hold please?']]
    expect(play({ voice: [[300, 3000]], words, untilMs: 8000 }).last).toMatchObject({ result: 'human' })
  })

  it('with a television behind a hello is no recording', () => {
    const { results } = play({ voice: [[300, 9000]], words: [[600, 'Hello? Hello?']], untilMs: 9000 })
    expect(results).toMatchObject([{ result: 'human', rule: 'words' }])
  })

  it('with a late beep stays a person', () => {
    const { last } = play({
      voice: [
        [500, 900],
        [5000, 7000],
      ],
      words: [[900, 'Hello?']],
      tones: [[1400, 15_000, 15_400]],
      untilMs: 20_000,
    })
    expect(last).toMatchObject({ result: 'human' })
  })
})

describe('a voicemail', () => {
  it('with a barely voiced greeting is detected by the beep', () => {
    const { effects, last } = play({ voice: [[500, 520]], tones: [[1000, 600, 940]], words: null, untilMs: 60_000 })
    expect(last).toMatchObject({ result: 'voicemail', rule: 'beep' })
    expect(effects.filter(effect => effect.type === 'speak')).toHaveLength(1)
  })

  const greeting: Script = {
    voice: [[300, 6000]],
    words: [
      [1000, 'Hi,'],
      [1500, "Hi, you've reached Mark"],
    ],
    untilMs: 12_000,
  }

  it('is detected by its words before it ends', () => {
    const { results } = play(greeting)
    expect(results).toMatchObject([{ result: 'voicemail', rule: 'words', found: 'youve reached' }])
    expect(results[0]!.atMs).toBeLessThan(2300)
  })

  it('records after its beep', () => {
    const { effects } = play({ ...greeting, tones: [[1000, 6400, 6800]] })
    const speak = effects.filter(effect => effect.type === 'speak')
    expect(speak).toMatchObject([{ rule: 'beep' }])
    expect(speak[0]!.nowMs).toBeGreaterThanOrEqual(6800)
    expect(speak[0]!.nowMs).toBeLessThan(6900)
  })

  it('records after a silence without a beep', () => {
    const speak = play(greeting).effects.filter(effect => effect.type === 'speak')
    expect(speak).toMatchObject([{ rule: 'silence' }])
    expect(speak[0]!.nowMs).toBeGreaterThan(8400)
    expect(speak[0]!.nowMs).toBeLessThan(9000)
  })

  it('that never ends is abandoned', () => {
    const { effects } = play({ ...greeting, voice: [[300, 60_000]], untilMs: 60_000 })
    expect(effects.filter(effect => effect.type === 'speak')).toMatchObject([{ rule: 'timeout' }])
  })

  it('whose beep precedes the transcription records at once', () => {
    const { effects } = play({
      voice: [[300, 1100]],
      words: [[1100, 'Leave a message.']],
      tones: [[850, 1250, 1500]],
      sttMs: 700,
      untilMs: 8000,
    })
    expect(effects.find(effect => effect.type === 'result')).toMatchObject({ result: 'voicemail' })
    expect(effects.find(effect => effect.type === 'speak')).toMatchObject({ rule: 'beep' })
  })

  it('that sounded like a person is detected by the beep', () => {
    const { results, effects } = play({
      voice: [[300, 1200]],
      words: [[1200, 'You know what to do.']],
      tones: [[1200, 2000, 2450]],
      untilMs: 8000,
    })
    expect(results).toMatchObject([
      { result: 'human', before: null },
      { result: 'voicemail', rule: 'beep', before: 'human' },
    ])
    expect(effects.find(effect => effect.type === 'speak')).toMatchObject({ rule: 'beep' })
  })

  it('that pauses after its hello is detected by its next words', () => {
    const { results } = play({
      voice: [
        [300, 700],
        [1600, 5000],
      ],
      words: [
        [700, 'Hello.'],
        [2600, 'Hello. You have reached the Millers.'],
      ],
      untilMs: 6000,
    })
    expect(results.map(({ result }) => result)).toEqual(['human', 'voicemail'])
    expect(results[1]!.atMs).toBeLessThan(3600)
  })

  it('without transcription is detected by its length', () => {
    const { results } = play({ ...greeting, voice: [[300, 9000]], words: null })
    expect(results).toMatchObject([
      { result: 'unknown', rule: 'undecided' },
      { result: 'voicemail', rule: 'long_greeting' },
    ])
  })

  it('without transcription is detected by its beep', () => {
    const { results, effects } = play({
      voice: [
        [300, 3800],
        [4400, 9500],
      ],
      words: null,
      tones: [[1000, 10_000, 10_400]],
      untilMs: 14_000,
    })
    expect(results.map(({ result }) => result)).toEqual(['unknown', 'voicemail'])
    expect(results[1]).toMatchObject({ rule: 'beep' })
    expect(effects.find(effect => effect.type === 'speak')).toMatchObject({ rule: 'beep' })
  })

  it('that accepts no message is not awaited', () => {
    const full = play({ ...greeting, words: [[1500, 'The mailbox is full and cannot accept messages']] })
    expect(full.effects.filter(({ type }) => type === 'speak' || type === 'no_message')).toMatchObject([
      { type: 'no_message' },
    ])
    const later = play({
      ...greeting,
      words: [
        [1500, "You've reached Mark"],
        [4400, "You've reached Mark, this mailbox is full."],
      ],
    })
    expect(later.effects.filter(({ type }) => type === 'speak' || type === 'no_message')).toMatchObject([
      { type: 'no_message' },
    ])
  })
})

describe('other machines', () => {
  it('that screen a call may become voicemail, never the reverse', () => {
    const { results } = play({
      voice: [
        [300, 3000],
        [6000, 9000],
      ],
      words: [
        [1500, 'Please state your name'],
        [7500, 'is not available. Please leave a message after the tone'],
      ],
      untilMs: 10_000,
    })
    expect(results.map(({ result }) => result)).toEqual(['screening', 'voicemail'])
  })

  it('that answer as a fax are detected within 600 ms, those that send one by half a second of 1100 Hz', () => {
    expect(play({ tones: [[2100, 500, 3500]], untilMs: 4000 }).results).toMatchObject([{ result: 'fax', atMs: 1000 }])
    expect(play({ tones: [[1100, 500, 1000]], untilMs: 4000 }).results).toMatchObject([{ result: 'fax' }])
  })

  it('of a carrier are detected by special information tones', () => {
    const tones: [number, number, number][] = [
      [950, 500, 820],
      [1400, 820, 1160],
      [1800, 1160, 1480],
    ]
    expect(play({ tones, voice: [[1700, 5000]], words: null, untilMs: 6000 }).results).toMatchObject([
      { result: 'ivr', rule: 'sit' },
    ])
  })

  it('with ambiguous words is detected when it does not stop', () => {
    const words: [number, string][] = [[800, 'Welcome to the public library']]
    expect(play({ voice: [[300, 8000]], words, untilMs: 8000 }).results).toMatchObject([
      { result: 'unknown', rule: 'undecided', talking: true },
      { result: 'ivr', rule: 'likely_words' },
    ])
    expect(play({ voice: [[300, 2200]], words, untilMs: 8000 }).last).toMatchObject({ result: 'human' })
  })
})

describe('no answer', () => {
  it('who says nothing is unknown after 2.5 s, and a person once speaking', () => {
    const { results } = play({ voice: [[5000, 5600]], words: [[5600, 'Hello?']], untilMs: 8000 })
    expect(results).toMatchObject([
      { result: 'unknown', rule: 'silence' },
      { result: 'human', before: 'unknown' },
    ])
    expect(results[0]!.atMs).toBeLessThan(2600)
  })

  it('ignores a click that the VAD takes for voice', () => {
    // The detector of this script says "voice" for 86 ms more than there is.
    const { results } = play({ voice: [[300, 310]], words: [[300, 'You']], untilMs: 3000 })
    expect(results).toMatchObject([{ result: 'unknown', rule: 'silence' }])
  })

  it('ignores a ringing tone that the VAD takes for voice', () => {
    const { results } = play({ voice: [[300, 1000]], tones: [[425, 200, 1200]], untilMs: 3000 })
    expect(results).toMatchObject([{ result: 'unknown', rule: 'silence' }])
  })
})

describe('transcription requests', () => {
  it('are few, start at the first voice, and never repeat', () => {
    const { effects } = play({ voice: [[300, 5000]], words: [], untilMs: 5000 })
    const asks = effects.filter(effect => effect.type === 'transcribe')
    expect(asks.length).toBeLessThanOrEqual(9)
    expect(new Set(asks.map(({ toMs }) => toMs)).size).toBe(asks.length)
    expect(asks.every(({ fromMs }) => fromMs < 400)).toBe(true)
    expect(asks.filter(({ toMs }) => toMs < 3200).length).toBeGreaterThanOrEqual(5)
  })

  it('ends some time after a person was detected', () => {
    const { effects } = play({
      voice: [
        [300, 700],
        [20_000, 25_000],
      ],
      words: [[700, 'Hello?']],
      untilMs: 26_000,
    })
    expect(effects.filter(({ type, nowMs }) => type === 'transcribe' && nowMs > 15_000)).toEqual([])
  })
})

describe('random inputs', () => {
  /** Park and Miller. */
  function randomFrom(seed: number): () => number {
    let last = seed
    return () => {
      last = (last * 48_271) % 2_147_483_647
      return last / 2_147_483_647
    }
  }

  it('starts at most one message, only for voicemail; a machine never becomes a person', () => {
    const sayings = [
      '',
      'Hello?',
      "You've reached",
      'press one',
      'state your name',
      'how can I help you',
      'mailbox is full',
    ]
    for (let seed = 1; seed <= 150; seed++) {
      const random = randomFrom(seed * 7919)
      const utterance = (most: number): [number, number] => {
        const from = random() * 9000
        return [from, from + random() * most]
      }
      const { effects, results } = play({
        voice: Array.from({ length: 1 + Math.floor(random() * 4) }, () => utterance(4000)),
        tones: Array.from({ length: Math.floor(random() * 3) }, () => [400 + random() * 1800, ...utterance(900)]),
        words: random() < 0.2 ? null : [[0, sayings[Math.floor(random() * sayings.length)]!]],
        sttMs: random() * 1500,
        untilMs: 15_000,
      })
      const ends = effects.filter(({ type }) => type === 'speak' || type === 'no_message')
      expect(ends.length, `seed ${seed}`).toBeLessThanOrEqual(1)
      if (ends.length > 0) expect(results.at(-1)!.result, `seed ${seed}`).toBe('voicemail')
      const machine = results.findIndex(({ result }) => result !== 'human' && result !== 'unknown')
      if (machine >= 0) {
        const after = results.slice(machine).map(({ result }) => result)
        expect(after, `seed ${seed}`).not.toContain('human')
        expect(after, `seed ${seed}`).not.toContain('unknown')
      }
    }
  })
})

it('maps results to the record', () => {
  expect((['human', 'voicemail', 'ivr', 'fax', 'screening', 'unknown', null] as const).map(answeredBy)).toEqual([
    'human',
    'machine',
    'machine',
    'machine',
    'screening',
    'unknown',
    'unknown',
  ])
})
