/** From the passages that were found to a spoken answer: the sentence that has the question's words, or none. Pure. */
import { contentStems } from './intents.ts'
import { stem } from './slots.ts'

interface Passage {
  heading: string
  text: string
}

/** Of the question's words that carry meaning, so many must be in a sentence or above it; less is chance. */
const LEAST_SHARE = 0.4
/** What is in the heading is about the whole section. */
const HEADING_WEIGHT = 0.6
/** A sentence that is shorter seldom says all. */
const SHORT = 60
const LONGEST = 300

/** Words that make a question and say nothing of what is asked. */
const ASKING = new Set(
  `tell know say there much many long soon often ever also just still could may might shall whether question information
  сколько во вас вам вами есть ли где когда куда какой какая какое какие кто чем чего мне меня скажите подскажите
  расскажите узнать вопрос бывает будет если`
    .split(/\s+/)
    .map(stem),
)
const wordsOf = (question: string) => [...new Set(contentStems(question))].filter(word => !ASKING.has(word))

/** Whether there is anything in it to look up. */
export const hasContent = (question: string): boolean => wordsOf(question).length > 0

/** Null: nothing of it answers the question. `result` is what the tool told, best first. */
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
    return [] // words for a model: nothing was found
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

/** Without marks that are not for speaking, and with an end. */
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
