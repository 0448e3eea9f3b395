/**
 * Reads a brief with a text model. Every part of the answer must have words in the text; parts without are dropped and
 * named as missing.
 */
import { z } from 'zod'
import { folded, formsOf } from '../vocabulary/forms.ts'
import { findNiche, nichesIn } from '../vocabulary/niches.ts'
import type { BriefReader, ParsedBrief } from '../vocabulary/types.ts'
import { stem, wordsOf } from '../vocabulary/words.ts'
import { clausesOf } from './clauses.ts'
import { compose } from './compose.ts'
import { readNumber } from './numbers.ts'
import { joinPlaces, placeAt, splitPlaces, translated } from './places.ts'

export interface BriefModelRequest {
  /** Instruction to the model. */
  task: string
  /** Text of the owner, which is not an instruction. */
  brief: string
  /** JSON Schema of the answer, an object. */
  schema: Record<string, unknown>
  /** Errors of the previous answer; null the first time. */
  repair: string | null
}
/** Returns an answer that may or may not fit the schema. Rejects when the model is unreachable or `signal` aborts. */
export type BriefModel = (request: BriefModelRequest, signal: AbortSignal) => Promise<unknown>

export interface ModelReaderOptions {
  model: BriefModel
  /** Milliseconds for both answers together; 10,000 by default. */
  deadlineMs?: number
}

const DEADLINE_MS = 10_000

const item = z.string().max(200)
const Answer = z.object({
  niche: item.describe(
    'The kind of company that is looked for, in the words of the brief; empty when it does not say.',
  ),
  places: z
    .array(item)
    .max(20)
    .describe(
      'Where: each city, district, region or country in the nominative, as `Austin, Texas`; none when not said.',
    ),
  target_leads: z.number().nullable().describe('How many are wanted; of a range the upper end; null when not said.'),
  signals: z.array(item).max(20).describe('What a company should have or do, each in a few words of the brief.'),
  exclusions: z.array(item).max(20).describe('What is not wanted: names, domains, kinds, in words of the brief.'),
})
type Answer = z.output<typeof Answer>

const TASK =
  'A brief describes companies that somebody wants to call. Fill in what it says, in its own language and words. ' +
  'Use only what stands in it: what is not said stays empty. Who writes, and what they sell, is not what they look for.'

/** Returns null when the answer does not fit the schema after one repair. Rejects as the model does. */
export function createModelReader({ model, deadlineMs = DEADLINE_MS }: ModelReaderOptions): BriefReader {
  const { $schema: _, ...schema } = z.toJSONSchema(Answer)
  return {
    async read(raw, signal) {
      const within = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
      let repair: string | null = null
      for (let left = 2; left > 0; left--) {
        const answer = Answer.safeParse(await model({ task: TASK, brief: raw, schema, repair }, within))
        if (answer.success) return checked(raw, answer.data)
        repair = answer.error.issues.map(issue => `${issue.path.join('.') || 'answer'}: ${issue.message}`).join('; ')
      }
      return null
    },
  }
}

/** Keeps only what the text says. */
export function checked(raw: string, answer: Answer): ParsedBrief {
  const said = wordsOf(raw).map(word => ({ word: folded(word), stem: stem(word) }))
  const isSaid = (text: string) => wordsOf(text).some(word => isWord(word) && said.some(meets(word)))
  const kinds = new Set(nichesIn(raw).map(match => match.niche.id))
  const kind = findNiche(answer.niche)
  const named = placesIn(raw)
  const places = answer.places.flatMap(splitPlaces).filter(place => {
    const other = translated(place)
    // A place in the table must be named itself: Казань does not imply Казахстан.
    return other === null ? isSaid(place) : named.has(place) || named.has(other)
  })
  const { target_leads: target } = answer
  return compose({
    niche: isSaid(answer.niche) || (kind && kinds.has(kind.id)) ? answer.niche : '',
    geo: joinPlaces(places.map(name => ({ name, kind: 'unknown', within: false }))),
    target: target !== null && target >= 1 && numbersIn(raw).has(target) ? target : null,
    signals: answer.signals.filter(isSaid),
    exclusions: answer.exclusions.filter(isSaid),
  })
}

const isWord = (word: string) => word.length > 2 || /\d/.test(word)

/** Matches the same word in another form: a known form, the same stem, or equal except for the last two letters. */
function meets(text: string): (said: { word: string; stem: string }) => boolean {
  const word = folded(text)
  const own = stem(word)
  const forms = formsOf(word)
  return said => {
    if (said.stem === own || forms.has(said.word)) return true
    const shared = Math.max(4, Math.min(word.length, said.word.length) - 2)
    return Math.abs(word.length - said.word.length) < 3 && word.slice(0, shared) === said.word.slice(0, shared)
  }
}

/** Returns the places of the text by their names in the table. */
function placesIn(raw: string): ReadonlySet<string> {
  const names = clausesOf(raw).flatMap(({ tokens }) => tokens.map((_, at) => placeAt(tokens, at, true)?.name))
  return new Set(names.filter(name => name !== undefined))
}

/** Returns all numbers of a text, in digits or words, and both ends of ranges. */
function numbersIn(raw: string): ReadonlySet<number> {
  const found = new Set<number>()
  for (const { tokens } of clausesOf(raw)) {
    const words = tokens.flatMap(token => token.word.split(/(?<=\d)[-–—](?=\d)/))
    for (let at = 0; at < words.length; at++) {
      const read = readNumber(words, at)
      if (read) found.add(read.value)
    }
  }
  return found
}
