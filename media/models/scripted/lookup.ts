/** Selects a spoken answer from passages: the sentence that contains the question's words, or none. Pure. */
import { contentStems } from './intents.ts'
import { stem } from './slots.ts'

interface Passage {
  heading: string
  text: string
}

/** Minimum share of the question's content words in the sentence or its heading; fewer match by chance. */
const LEAST_SHARE = 0.4
/** Weight of words in the heading, which concerns the whole section. */
const HEADING_WEIGHT = 0.6
/** A sentence shorter than this (characters) is rarely complete, so the next one is added. */
const SHORT = 60
const LONGEST = 300

/** Words that form a question without describing its subject. */
const ASKING = new Set(
  `tell know say there much many long soon often ever also just still could may might shall whether question information
  сколько во вас вам вами есть ли где когда куда какой какая какое какие кто чем чего мне меня скажите подскажите
  расскажите узнать вопрос бывает будет если`
    .split(/\s+/)
    .map(stem),
)
const wordsOf = (question: string) => [...new Set(contentStems(question))].filter(word => !ASKING.has(word))

/** True when the question contains something to search for. */
export const hasContent = (question: string): boolean => wordsOf(question).length > 0

/** Returns null when no passage answers the question. `result` is the tool's result, best passage first. */
export function answerFrom(question: string, result: string, language: string): string | null {
  const wanted = wordsOf(question)
  if (wanted.length === 0) return null
  let best: { score: number; share: number; sentences: string[]; index: number } | null = null
  for (const { heading, text } of passagesOf(result)) {
    const above = new Set(contentStems(heading))
    const sentences = sentencesOf(text, language)
    for (const [index, sentence] of sentences.entries()) {
      const inside = new Set(contentStems(sentence))
      const shared = wanted.filter(word => inside.has(word)).length
      const fromHeading = wanted.filter(word => !inside.has(word) && above.has(word)).length
      const score = shared + HEADING_WEIGHT * fromHeading
      if (score > (best?.score ?? 0)) {
        best = { score, share: (shared + fromHeading) / wanted.length, sentences, index }
      }
    }
  }
  if (!best || best.share < LEAST_SHARE) return null
  const [said = '', next = ''] = best.sentences.slice(best.index)
  const whole = said.length < SHORT && next !== '' && said.length + next.length < LONGEST ? `${said} ${next}` : said
  return shortened(whole)
}

function passagesOf(result: string): Passage[] {
  let data: unknown
  try {
    data = JSON.parse(result)
  } catch {
    return [] // text for a model: nothing was found
  }
  if (!Array.isArray(data)) return []
  return data
    .filter((one): one is { text: string; heading?: unknown } => typeof one?.text === 'string')
    .map(({ text, heading }) => ({ text, heading: typeof heading === 'string' ? heading : '' }))
}

function sentencesOf(text: string, language: string): string[] {
  const segmenter = new Intl.Segmenter(language, { granularity: 'sentence' })
  return text
    .split(/\n+/)
    .flatMap(line => [...segmenter.segment(line)].map(({ segment }) => spoken(segment)).filter(Boolean))
}

/** Removes markup and adds a full stop. */
function spoken(sentence: string): string {
  const bare = sentence
    .replace(/^[\s]*(?:[-*•>|]|#+|\d+[.)])\s+/, '')
    .replace(/[*_`|]{1,3}/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  if (!/[\p{L}\p{N}]/u.test(bare)) return ''
  return /[.!?…:]$/.test(bare) ? bare : `${bare}.`
}

function shortened(text: string): string {
  if (text.length <= LONGEST) return text
  const cut = text.slice(0, LONGEST)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), LONGEST / 2)).toWellFormed()}…`
}
