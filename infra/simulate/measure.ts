/** Measures a call from the caller's side: packet times and the words in the record. Pure. */
import type { Said } from './caller.ts'

/** Milliseconds of silence that separate two utterances of the agent. */
const GAP_MS = 250
/** Milliseconds at either end of the caller's speech in which an overlap is no cut-off: people overlap that much. */
const EDGE_MS = 150
/** Milliseconds after the caller's words in which an interruption is still attributed to them. */
const AFTER_MS = 1500

/** The engine counts from when it sent its answer, we from when it arrived. */
const SKEW_MS = 50

export interface Measured {
  /** Milliseconds from the caller's last loud packet to the agent's first, for each answered turn. */
  answers: number[]
  /** Turns without any answer before the caller spoke again. */
  unanswered: number
  /** Times the agent started to speak during the caller's speech. */
  cutOffs: number
  bargeIns: { wanted: number; missed: number; false: number; stoppedMs: number[] }
  words: { said: number; wrong: number }
}

export interface Timeline {
  said: readonly Said[]
  /** When each loud packet of the agent arrived. */
  heard: readonly number[]
  /** When the agent's speech was interrupted, according to the record. */
  interruptedMs: readonly number[]
  understood: string
  /** True when the agent ended the call: no answer is expected after the caller's goodbye. */
  ended: boolean
}

interface Utterance {
  fromMs: number
  toMs: number
}

export function measure({ said, heard, interruptedMs, understood, ended }: Timeline): Measured {
  const utterances = utterancesOf(heard)
  const spoken = said.filter(({ kind }) => kind !== 'keys')
  const answers: number[] = []
  let unanswered = 0
  let cutOffs = 0
  for (const [i, one] of spoken.entries()) {
    if (one.kind === 'aside') continue
    const untilMs = spoken[i + 1]?.fromMs ?? Number.POSITIVE_INFINITY
    const begins = (fromMs: number, toMs: number) =>
      utterances.find(utterance => utterance.fromMs > fromMs && utterance.fromMs < toMs)
    const into = begins(one.fromMs + EDGE_MS, one.toMs - EDGE_MS)
    if (into) cutOffs++
    const over = utterances.some(utterance => utterance.fromMs < one.toMs && utterance.toMs > one.toMs - GAP_MS)
    if (over) continue
    const answer = begins(one.toMs, untilMs)
    if (answer) answers.push(Math.round(answer.fromMs - one.toMs))
    else if (spoken[i + 1] || !ended) unanswered++
  }
  return {
    answers,
    unanswered,
    cutOffs,
    bargeIns: bargeIns(spoken, utterances, interruptedMs),
    words: wordErrors(
      said
        .filter(({ kind }) => kind !== 'aside')
        .map(({ words }) => words)
        .join(' '),
      understood,
    ),
  }
}

function bargeIns(said: readonly Said[], utterances: readonly Utterance[], interruptedMs: readonly number[]) {
  const wanted = said.filter(({ kind }) => kind === 'over')
  const during = (one: Said) => (atMs: number) => atMs >= one.fromMs - SKEW_MS && atMs <= one.toMs + AFTER_MS
  const theirs = said.filter(({ kind }) => kind !== 'aside')
  return {
    wanted: wanted.length,
    missed: wanted.filter(one => !interruptedMs.some(during(one))).length,
    false: interruptedMs.filter(atMs => !theirs.some(one => during(one)(atMs))).length,
    stoppedMs: wanted.flatMap(one => {
      const utterance = utterances.find(({ fromMs, toMs }) => fromMs <= one.fromMs && toMs >= one.fromMs)
      return utterance ? [Math.round(utterance.toMs - one.fromMs)] : []
    }),
  }
}

export function utterancesOf(heard: readonly number[]): Utterance[] {
  const utterances: Utterance[] = []
  for (const atMs of heard) {
    const last = utterances.at(-1)
    if (last && atMs - last.toMs < GAP_MS) last.toMs = atMs
    else utterances.push({ fromMs: atMs, toMs: atMs })
  }
  return utterances
}

// Words.

const UNDER_20 =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const TENS = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']

/** Spells out digits and addresses as spoken; ignores punctuation and case. */
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

/** Edit distance (Levenshtein) in words between the spoken and the understood text. */
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
