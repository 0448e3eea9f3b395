/**
 * The frequently asked questions of Debian in English and Russian, from the packages `debian-faq` and `debian-faq-ru`:
 * written independently of this project. The questions are the headings of the answers and are removed from them; only
 * their numbers stay.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Block, ExtractedPage } from '../../../control/knowledge/documents/types.ts'
import { readHtml } from '../../../control/knowledge/extract/html.ts'
import { type Corpus, type Question, splitOf } from './corpus.ts'
import { findPackages } from './debian-package.ts'

type Language = Question['language']

const PACKAGES = ['debian-faq', 'debian-faq-ru']
const TEXTS = 'usr/share/doc/debian/FAQ'
/** All questions again, without an answer. */
const CONTENTS = 'index.'
/** Least characters of an answer worth asking for; shorter ones only refer to another page. */
const LEAST_CHARACTERS = 120

/** The folder with the texts; null where Debian's packages cannot be had. */
export async function findDebianFaq(cache: string): Promise<string | null> {
  const russian = await findPackages(cache, PACKAGES, join(TEXTS, 'ru'))
  return russian && join(russian, '..')
}

export function readDebianFaq(texts: string, languages: readonly Language[]): Corpus {
  const corpus: Corpus = { pages: [], questions: [] }
  for (const language of languages) {
    const folder = language === 'en' ? texts : join(texts, language)
    const chapters = readdirSync(folder).filter(
      name => name.endsWith(`.${language}.html`) && !name.startsWith(CONTENTS),
    )
    for (const name of chapters.sort()) readChapter(join(folder, name), name, language, corpus)
  }
  return corpus
}

function readChapter(file: string, title: string, language: Language, into: Corpus): void {
  const page: ExtractedPage = { url: null, title, blocks: [] }
  let open: { heading: Block; passages: string[] } | null = null
  const close = () => {
    if (open) into.questions.push(...questionOf(open.heading.text, open.passages, title, language))
  }
  for (const block of readHtml(readFileSync(file, 'utf8'), null).blocks) {
    if (block.heading === 0) {
      open?.passages.push(block.text)
      page.blocks.push(block)
    } else {
      close()
      open = { heading: block, passages: [] }
      page.blocks.push({ ...block, text: /^[\d.]*\d/.exec(block.text)?.[0] ?? '§' })
    }
  }
  close()
  into.pages.push(page)
}

/** Those that are questions, in the language of the text: parts of the Russian one have not been translated. */
function questionOf(heading: string, passages: string[], document: string, language: Language): Question[] {
  const text = heading
    .replace(/^[\d.]+\s*/, '')
    .replace(/\s+/g, ' ')
    .trim()
  const isRussian = (some: string) => (some.match(/[а-яё]/gi)?.length ?? 0) > (some.match(/[a-z]/gi)?.length ?? 0)
  const whole = passages.join('\n')
  if (!text.includes('?') || whole.length < LEAST_CHARACTERS) return []
  if (isRussian(text) !== (language === 'ru') || isRussian(whole) !== (language === 'ru')) return []
  return [{ text, language, split: splitOf(text), document, passages }]
}
