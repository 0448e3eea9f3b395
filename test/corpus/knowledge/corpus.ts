/** Documents in markdown with their questions in lines that begin with `? `, see README.md. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Block, ExtractedPage } from '../../../control/knowledge/documents/types.ts'

export interface Question {
  text: string
  language: 'en' | 'ru'
  split: 'train' | 'test'
  /** Its title; null: any of them may hold the answer. */
  document: string | null
  /** Each passage of the answer: whoever finds one of them has found it. */
  passages: string[]
}

export interface Corpus {
  pages: ExtractedPage[]
  questions: Question[]
}

export function readCorpus(): Corpus {
  const corpus: Corpus = { pages: [], questions: [] }
  for (const language of ['en', 'ru'] as const) {
    const text = readFileSync(join(import.meta.dirname, `${language}.md`), 'utf8')
    for (const document of text.split(/^# /m).slice(1)) readDocument(document, language, corpus)
  }
  return corpus
}

function readDocument(document: string, language: Question['language'], into: Corpus): void {
  const [head, ...sections] = document.split(/^## /m)
  const title = head!.trim()
  const blocks: Block[] = [{ heading: 1, text: title }]
  for (const section of sections) {
    const [heading, ...lines] = section.split('\n')
    const passage = lines.filter(line => line !== '' && !line.startsWith('? ')).join('\n')
    blocks.push({ heading: 2, text: heading! }, { heading: 0, text: passage })
    for (const line of lines.filter(line => line.startsWith('? '))) {
      into.questions.push({ text: line.slice(2), language, split: splitOf(line), document: title, passages: [passage] })
    }
  }
  into.pages.push({ url: null, title, blocks })
}

/** Half of all, for ever the same. */
export const splitOf = (line: string) => (createHash('md5').update(line).digest()[0]! % 2 ? 'train' : 'test')
