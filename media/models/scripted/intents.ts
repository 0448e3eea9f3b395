/** Finds the project tool that an utterance is about, by the words of the tools themselves. Pure. */
import type { LlmTool } from '../../ports/llm.ts'
import { tokenize } from './numbers.ts'
import { fillSlots, inWords, type Slot, slotsOf, stem } from './slots.ts'

export interface Intent {
  tool: LlmTool
  slots: Slot[]
  /** Weights by stem. */
  words: Map<string, number>
}

const STOP = new Set(
  `a an the of to for and or in on at by with from is are be it its this that i you we they he she me my your our what which
  when who how can could would will do does did have has get please like want need tool use used using call calls given
  return returns if about some any number name date time id
  и в на с по для к о от из у я мы вы он она это что как мне нам мой ваш пожалуйста хочу нужно можно`
    .split(/\s+/)
    .map(stem),
)
/** Stems of the content words. */
export const contentStems = (text: string) =>
  tokenize(text)
    .map(stem)
    .filter(word => word.length > 1 && !STOP.has(word))

/** Includes only tools whose parameters can be filled by voice. A word that several tools share weighs less. */
export function compileIntents(tools: readonly LlmTool[]): Intent[] {
  const drafts = tools.flatMap(tool => {
    const slots = slotsOf(tool.parameters)
    if (!slots) return []
    const name = contentStems(inWords(tool.name))
    const rest = contentStems(
      `${tool.description} ${slots.map(slot => `${inWords(slot.name)} ${slot.options.join(' ')}`).join(' ')}`,
    )
    return [{ tool, slots, name: new Set(name), rest: new Set(rest) }]
  })
  const spread = new Map<string, number>()
  for (const { name, rest } of drafts)
    for (const word of new Set([...name, ...rest])) spread.set(word, (spread.get(word) ?? 0) + 1)
  return drafts.map(({ tool, slots, name, rest }) => {
    const words = new Map<string, number>()
    for (const word of [...rest, ...name]) words.set(word, (name.has(word) ? 2 : 1) / spread.get(word)!)
    return { tool, slots, words }
  })
}

/** Returns the intended tool; null when the words match none, or two equally well. */
export function matchIntent(text: string, intents: readonly Intent[], today: Date): Intent | null {
  const words = new Set(contentStems(text))
  const scored = intents
    .map(intent => {
      let score = 0
      for (const word of words) score += intent.words.get(word) ?? 0
      // Values of the tool's kinds support it, but do not suffice alone.
      if (score > 0) score += 0.3 * Object.keys(fillSlots(text, intent.slots, null, today)).length
      return { intent, score }
    })
    .sort((a, b) => b.score - a.score)
  const [best, second] = scored
  if (!best || best.score < 0.5 || (second && best.score - second.score < 0.15)) return null
  return best.intent
}
