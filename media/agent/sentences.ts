/** Splits a model's text stream into pieces to speak: the first as early as possible, each at a natural pause. */

const SENTENCE_END = /[.!?…]+["')\]»”]*\s+|\n+/g
const MIN_LETTERS = 2
/** Length in characters from which a sentence is split at a clause, so that the listener does not wait for its end. */
const LONG = 160
const TOO_LONG = 400
const CLAUSE_END = /[,;:—]\s+/g
const ABBREVIATION = /(?:^|\s)(?:[A-ZА-Я]|Mr|Mrs|Ms|Dr|St|No|vs|etc|e\.g|i\.e|г|ул|д|кв|тел|им)\.\s*$/

export interface SentenceSplitter {
  push(delta: string): string[]
  /** Returns the rest at the end of the stream, or null. */
  flush(): string | null
}

export function createSplitter(): SentenceSplitter {
  let pending = ''
  return {
    push(delta) {
      pending += delta
      const ready: string[] = []
      for (let cut = findCut(head(pending)); cut > 0; cut = findCut(head(pending))) {
        const sentence = clean(pending.slice(0, cut))
        pending = pending.slice(cut)
        if (sentence) ready.push(sentence)
      }
      return ready
    },
    flush() {
      const rest = clean(pending)
      pending = ''
      return rest || null
    },
  }
}

/** Limits the search to the longest piece: searching on would block the loop for seconds on thousands of dots. */
const head = (text: string) => text.slice(0, TOO_LONG)

function findCut(text: string): number {
  for (const match of text.matchAll(SENTENCE_END)) {
    const end = match.index + match[0].length
    const before = text.slice(0, end)
    const letters = before.match(/[\p{L}\p{N}]/gu)?.length ?? 0
    if (letters >= MIN_LETTERS && !ABBREVIATION.test(before)) return end
  }
  if (text.length < LONG) return 0
  let last = 0
  for (const match of text.matchAll(CLAUSE_END)) if (match.index < LONG) last = match.index + match[0].length
  // Without a pause, split between two words; a piece must not grow with the text.
  return last > 0 || text.length < TOO_LONG ? last : text.lastIndexOf(' ', TOO_LONG - 1) + 1 || TOO_LONG
}

/** Removes markup that must not be spoken: Markdown emphasis, list bullets, headings. */
function clean(text: string): string {
  return text
    .replace(/^[\s]*[-*•#]+\s+/gm, '')
    .replace(/[*_`]{1,3}/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}
