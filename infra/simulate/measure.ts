/** What a call was like for its caller, from the times of packets and the words of the record. Pure. */
import type { Said } from './caller.ts'

/** A longer silence of the agent parts two stretches of its sound. */
const GAP_MS = 250
/** Nearer to either end of the caller's words it is no cut-off: people overlap by so much. */
const EDGE_MS = 150
/** An interruption that follows the caller's words so late was still theirs. */
const AFTER_MS = 1500

/** The engine counts from its answer, we from when it reached us. */
const SKEW_MS = 50

export interface Measured {
  /** Last loud packet of the caller to the first of the agent, for each turn that was answered. */
  answers: number[]
  /** Turns after which nothing was heard until the caller spoke again. */
  unanswered: number
  /** The agent began in the middle of the caller's words. */
  cutOffs: number
  bargeIns: { wanted: number; missed: number; false: number; stoppedMs: number[] }
  words: { said: number; wrong: number }
}

export interface Timeline {
  said: readonly Said[]
  /** When each loud packet of the agent came. */
  heard: readonly number[]
  /** When the agent's sound was cut, by the record. */
  interruptedMs: readonly number[]
  understood: string
  /** By the agent: after the caller's goodbye nothing need come. */
  ended: boolean
}

interface Utterance {
  fromMs: number
  toMs: number
}

export function measure({ said, heard, interruptedMs, understood, ended }: Timeline): Measured {
  const stretches = utterancesOf(heard)
  const spoken = said.filter(({ kind }) => kind !== 'keys')
  const answers: number[] = []
  let unanswered = 0
  let cutOffs = 0
  for (const [i, one] of spoken.entries()) {
    if (one.kind === 'aside') continue
    const untilMs = spoken[i + 1]?.fromMs ?? Number.POSITIVE_INFINITY
    const begins = (fromMs: number, toMs: number) =>
      stretches.find(stretch => stretch.fromMs > fromMs && stretch.fromMs < toMs)
    const into = begins(one.fromMs + EDGE_MS, one.toMs - EDGE_MS)
    if (into) cutOffs++
    const over = stretches.some(stretch => stretch.fromMs < one.toMs && stretch.toMs > one.toMs - GAP_MS)
    if (over) continue
    const answer = begins(one.toMs, untilMs)
    if (answer) answers.push(Math.round(answer.fromMs - one.toMs))
    else if (spoken[i + 1] || !ended) unanswered++
  }
  return {
    answers,
    unanswered,
    cutOffs,
    bargeIns: bargeIns(spoken, stretches, interruptedMs),
    words: wordErrors(
      said
        .filter(({ kind }) => kind !== 'aside')
        .map(({ words }) => words)
        .join(' '),
      understood,
    ),
  }
}

function bargeIns(said: readonly Said[], stretches: readonly Utterance[], interruptedMs: readonly number[]) {
  const wanted = said.filter(({ kind }) => kind === 'over')
  const during = (one: Said) => (atMs: number) => atMs >= one.fromMs - SKEW_MS && atMs <= one.toMs + AFTER_MS
  const theirs = said.filter(({ kind }) => kind !== 'aside')
  return {
    wanted: wanted.length,
    missed: wanted.filter(one => !interruptedMs.some(during(one))).length,
    false: interruptedMs.filter(atMs => !theirs.some(one => during(one)(atMs))).length,
    stoppedMs: wanted.flatMap(one => {
      const stretch = stretches.find(({ fromMs, toMs }) => fromMs <= one.fromMs && toMs >= one.fromMs)
      return stretch ? [Math.round(stretch.toMs - one.fromMs)] : []
    }),
  }
}

export function utterancesOf(heard: readonly number[]): Utterance[] {
  const stretches: Utterance[] = []
  for (const atMs of heard) {
    const last = stretches.at(-1)
    if (last && atMs - last.toMs < GAP_MS) last.toMs = atMs
    else stretches.push({ fromMs: atMs, toMs: atMs })
  }
  return stretches
}

// ---- words ----

const UNDER_20 =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const TENS = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']

/** Figures and addresses are written as they are said; punctuation and case do not count. */
export function plainWords(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/ё/g, 'е')
    .replace(/[’']/g, '')
    .replace(/\bgood[- ]bye\b/g, 'goodbye')
    .replace(/(?<=\w)@(?=\w)/g, ' at ')
    .replace(/(?<=\w)\.(?=[a-z])/g, ' dot ')
    .replace(/(?<=\d)[,-](?=\d)/g, ' ')
    .replace(/\d+/g, figures => ` ${spokenFigures(figures)} `)
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .split(' ')
    .filter(word => word !== '' && !/^(?:um+|uh+|er+)$/.test(word))
}

function spokenFigures(figures: string): string {
  const value = Number(figures)
  if (figures.length > 2 || (figures.length > 1 && figures.startsWith('0')))
    return [...figures].map(figure => UNDER_20[Number(figure)]).join(' ')
  if (value < 20) return UNDER_20[value]!
  const unit = value % 10
  return `${TENS[Math.floor(value / 10)]}${unit === 0 ? '' : ` ${UNDER_20[unit]}`}`
}

/** Edits (Levenshtein) from what was said to what was understood. */
export function wordErrors(said: string, understood: string): Measured['words'] {
  const [a, b] = [plainWords(said), plainWords(understood)]
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, word] of a.entries()) {
    const next = [i + 1]
    for (const [j, other] of b.entries())
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (word === other ? 0 : 1)))
    row = next
  }
  return { said: a.length, wrong: row.at(-1)! }
}

export function percentile(values: readonly number[], percent: number): number | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)]!
}
