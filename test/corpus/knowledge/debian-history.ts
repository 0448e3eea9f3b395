/**
 * The history of Debian in English and Russian, from the package `debian-history`, and questions of fact that it
 * answers: see README.md.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readHtml } from '../../../control/knowledge/extract/html.ts'
import { type Corpus, type Question, splitOf } from './corpus.ts'
import { findPackages } from './debian-package.ts'

type Language = Question['language']

/** The folder with the texts; null where Debian's packages cannot be had. */
export const findDebianHistory = (cache: string): Promise<string | null> =>
  findPackages(cache, ['debian-history'], 'usr/share/doc/debian-history/docs')

export function readDebianHistory(texts: string, languages: readonly Language[]): Corpus {
  const corpus: Corpus = { pages: [], questions: [] }
  for (const language of languages) {
    const names = readdirSync(texts).filter(name => name.endsWith(`.${language}.html`))
    for (const name of names.sort()) {
      const { title, blocks } = readHtml(readFileSync(join(texts, name), 'utf8'), null)
      corpus.pages.push({ url: null, title, blocks })
    }
    corpus.questions.push(...questionsOf(language))
  }
  return corpus
}

/** Under each heading stand questions; it is what their answers say in the text, in one way or in several. */
function questionsOf(language: Language): Question[] {
  const text = readFileSync(join(import.meta.dirname, 'history', `${language}.md`), 'utf8')
  return text.split(/^#+ /m).flatMap(section => {
    const [answer, ...lines] = section.split('\n')
    return lines
      .filter(line => line.startsWith('? '))
      .map(line => ({
        text: line.slice(2),
        language,
        split: splitOf(line),
        document: null,
        passages: answer!.split(' | '),
      }))
  })
}
