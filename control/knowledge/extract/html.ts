/**
 * Extracts HTML: the article that Readability finds, or the page without its header and footer if there is no article
 * or it omits much, as on price lists and contact pages. The only importer of @mozilla/readability.
 */
import { Readability } from '@mozilla/readability'
import type { Block } from '../documents/types.ts'
import { Blocks, cleanLine } from './blocks.ts'
import {
  type DomDocument,
  type DomNode,
  elementsOf,
  isElement,
  parseDocument,
  rawText,
  titleElement,
  walk,
} from './dom.ts'
import { addressesOf, dropFrame, layOut, plainText } from './layout.ts'
import { linksOf } from './links.ts'
import type { Parsed } from './parsed.ts'

/** Least share of the page's text. A shorter article omits what a caller may ask for. */
const ARTICLE_SHARE = 0.6
/** Readability takes 16 s for 180,000 elements. */
const MOST_ELEMENTS = 20_000

export interface PageOrigin {
  url: string
}

/** `origin`: address of a web page; its links are then collected. */
export function readHtml(html: string, origin: PageOrigin | null): Parsed {
  const document = parseDocument(html)
  const links = origin ? linksOf(document, origin.url) : null
  const title = titleOf(document)
  const whole = wholePage(document)
  const addresses = addressesOf(document)
  const article = countElements(document) <= MOST_ELEMENTS ? articleOf(document) : null
  if (!article || article.blocks.characters < whole.characters * ARTICLE_SHARE)
    return { title, blocks: whole.list, html: links }
  // Readability omits the footer, which has the postal address.
  const text = article.blocks.list.map(block => cleanLine(block.text)).join('\n')
  for (const address of addresses) if (!text.includes(cleanLine(address))) article.blocks.text(address)
  const named = article.title || title
  return { title: named, blocks: withHeadings(article.blocks.list, whole.list, named ?? ''), html: links }
}

/**
 * Restores headings that Readability drops because they are in separate boxes or contain anchors, as on wikis and in
 * DocBook manuals. A heading above a text in the page is put above it in the article.
 */
function withHeadings(article: readonly Block[], whole: readonly Block[], title: string): Block[] {
  const texts = new Set(article.filter(({ heading }) => heading === 0).map(({ text }) => text))
  const above = new Map<string, Block[][]>()
  let open: Block[] = []
  for (const block of whole) {
    if (block.heading > 0) open = [...open.filter(({ heading }) => heading < block.heading), block]
    else if (texts.has(block.text)) {
      above.set(block.text, [...(above.get(block.text) ?? []), open])
      open = []
    }
  }
  let kept: string[] = []
  return article.flatMap(block => {
    if (block.heading > 0) {
      kept.push(block.text)
      return [block]
    }
    const lost = (above.get(block.text)?.shift() ?? []).filter(
      ({ text }) => !kept.includes(text) && !title.includes(text),
    )
    kept = []
    return [...lost, block]
  })
}

function wholePage(document: DomDocument): Blocks {
  const whole = new Blocks()
  layOut(document, whole, 'page')
  if (whole.list.length > 0) return whole
  // The whole page is navigation, or in a head element that is not closed.
  for (const root of elementsOf(document, 'body', 'head')) layOut(root, whole, 'text')
  return whole
}

function titleOf(document: DomDocument): string | null {
  const title = titleElement(document)
  const named = title && cleanLine(rawText(title))
  if (named) return named
  const heading = elementsOf(document, 'h1')[0]
  return (heading && cleanLine(plainText(heading))) || null
}

function countElements(document: DomDocument): number {
  let count = 0
  walk(document, node => {
    if (isElement(node)) count++
    return true
  })
  return count
}

/** Modifies the document, so it must run last. */
function articleOf(document: DomDocument): { title: string | null; blocks: Blocks } | null {
  try {
    // Runs before Readability, which removes the attributes that mark navigation and hidden text.
    dropFrame(document)
    const reader = new Readability<DomNode>(document as never, { serializer: node => node as unknown as DomNode })
    const found = reader.parse()
    if (!found?.content) return null
    const blocks = new Blocks()
    layOut(found.content, blocks, 'page')
    return blocks.list.length > 0 ? { title: found.title ? cleanLine(found.title) : null, blocks } : null
  } catch {
    // Readability expects a browser's DOM and fails on some pages. The caller then uses the whole page.
    return null
  }
}
