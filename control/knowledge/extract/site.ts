/**
 * Converts HTML to what lead search reads. Unlike `readHtml`, it keeps header, footer, buttons and image texts, because
 * they contain a company's phone number.
 */

import type { PageRegion, SiteLine, SitePage } from '../documents/site-page.ts'
import { cleanLine } from './blocks.ts'
import {
  type DomDocument,
  type DomElement,
  type DomNode,
  elementsOf,
  isElement,
  parseDocument,
  rawText,
  titleElement,
  walk,
} from './dom.ts'
import { plainText } from './layout.ts'
import { refreshOf } from './links.ts'
import { microdataOf } from './microdata.ts'

const words = (text: string) => new Set(text.split(' '))
const SILENT = words(
  'script style template noscript title svg math canvas object audio video map select input textarea',
)
/** Elements that do not end a line of text. */
const INLINE = words(
  'a abbr b bdi bdo big button cite code data del dfn em font i img ins kbd label mark nobr q s samp small span strike ' +
    'strong sub sup time tt u var wbr',
)
const APART = words('a button label')
const CELL = words('td th')
const HEADING = /^h[1-6]$/
const TOP = words('header nav')
const TOP_NAME = /(?:^|[\s_-])(?:header|topbar|top|shapka|hdr)(?:$|[\s_-])/i
const BOTTOM_NAME = /(?:^|[\s_-])(?:footer|foot|podval|bottom)(?:$|[\s_-])/i

const MOST_LINES = 5000
const MOST_CHARACTERS = 400_000
/**
 * Checking costs control about 1.5 µs per character. A longer page keeps its beginning and its end, which includes the
 * footer.
 */
const HEAD_CHARACTERS = 100_000
const TAIL_CHARACTERS = 50_000
const LONGEST_LINE = 2000
const LONGEST_HINT = 300
const MOST_LINKS = 2000
const LONGEST_ADDRESS = 2048
const MOST_EMBEDS = 200
const MOST_DATA_CHARACTERS = 300_000

export function readSite(html: string, url: string): SitePage {
  const document = parseDocument(html)
  const base = absolute(elementsOf(document, 'base')[0]?.getAttribute('href') ?? '', url) ?? url
  const reader = new Reader(base)
  reader.read(document)
  const scripts = elementsOf(document, 'script')
  const metas = elementsOf(document, 'meta')
  const meta = (name: string) => metas.find(one => (one.getAttribute('name') ?? '').toLowerCase() === name)
  const title = titleElement(document)
  const items = microdataOf(document)
  return {
    title: (title && cleanLine(rawText(title)).slice(0, LONGEST_HINT)) || null,
    language: document.documentElement?.getAttribute('lang')?.slice(0, 20) || null,
    viewport: meta('viewport') !== undefined,
    lines: shortened(reader.lines),
    links: reader.links,
    frames: framesOf(document, base),
    embeds: embedsOf(document, base),
    data: bounded([...scriptsOf(scripts, /^application\/ld\+json/i), ...items.map(item => JSON.stringify(item))]),
    json: bounded(scriptsOf(scripts, /^application\/json/i)),
  }
}

class Reader {
  readonly lines: SiteLine[] = []
  readonly links: SitePage['links'] = []
  readonly #base: string
  readonly #places: { node: DomElement; place: PageRegion }[] = []
  #line: string[] = []
  #heading = false
  #characters = 0

  constructor(base: string) {
    this.#base = base
  }

  read(root: DomNode): void {
    walk(
      root,
      node => this.#enter(node),
      node => this.#leave(node),
    )
    this.#end()
  }

  get #place(): PageRegion {
    return this.#places.at(-1)?.place ?? 'main'
  }

  #enter(node: DomNode): boolean {
    if (!isElement(node)) {
      if (node.nodeType === 3) this.#line.push(node.data ?? '')
      return false
    }
    const name = node.localName
    if (name === 'meta') this.#meta(node)
    if (SILENT.has(name) || isUnseen(node)) return false
    if (!INLINE.has(name)) this.#break(name)
    // Entries of a menu are often separated by nothing but their styling.
    else if (APART.has(name)) this.#line.push(' ')
    const place = placeOf(node)
    if (place) this.#places.push({ node, place })
    if (HEADING.test(name)) this.#heading = true
    this.#link(node)
    // Added as a line of its own: on the line of its element, a hint could be taken for a label.
    for (const hint of ['alt', 'title', 'aria-label']) this.#hint(node.getAttribute(hint))
    return true
  }

  #leave(node: DomElement): void {
    const name = node.localName
    if (name === 'dt') this.#line.push(': ')
    else if (APART.has(name)) this.#line.push(' ')
    else if (!INLINE.has(name) && !CELL.has(name)) this.#end()
    if (this.#places.at(-1)?.node === node) this.#places.pop()
  }

  /** Cells of a row share a line, and so do a term and its description. */
  #break(name: string): void {
    if (CELL.has(name)) this.#line.push(' | ')
    else if (name !== 'dd') this.#end()
  }

  #end(): void {
    const text = cleanLine(this.#line.join('')).replace(/^(?:\| ?)+/, '')
    const as = this.#heading ? 'heading' : 'text'
    this.#line = []
    this.#heading = false
    for (let from = 0; from < text.length; from += LONGEST_LINE)
      this.#add({ text: text.slice(from, from + LONGEST_LINE).toWellFormed(), as, place: this.#place })
  }

  #hint(text: string | null): void {
    if (text && text.length <= LONGEST_HINT) this.#add({ text: cleanLine(text), as: 'hint', place: this.#place })
  }

  #add(line: SiteLine): void {
    this.#characters += line.text.length
    if (line.text && this.lines.length < MOST_LINES && this.#characters <= MOST_CHARACTERS) this.lines.push(line)
  }

  #meta(node: DomElement): void {
    const name = (node.getAttribute('name') ?? node.getAttribute('property') ?? '').toLowerCase()
    if (name === 'description' || name === 'og:description') this.#hint(node.getAttribute('content'))
  }

  #link(node: DomElement): void {
    if (this.links.length >= MOST_LINKS) return
    const hidden = node.getAttribute('data-cfemail')
    const href = hidden ? `cfemail:${hidden}` : hrefOf(node, this.#base)
    if (href === null || href.length > LONGEST_ADDRESS) return
    this.links.push({
      href,
      text: cleanLine(plainText(node)).slice(0, LONGEST_HINT),
      line: this.lines.length,
      place: this.#place,
    })
  }
}

/** Keeps the line indexes, because links refer to them. */
function shortened(lines: readonly SiteLine[]): SiteLine[] {
  const total = lines.reduce((sum, { text }) => sum + text.length, 0)
  let before = 0
  return lines.map(line => {
    before += line.text.length
    const kept = before <= HEAD_CHARACTERS || before > total - TAIL_CHARACTERS
    return kept ? line : { ...line, text: '' }
  })
}

/** Invisible elements: their text is a trap for address harvesters, or is not published yet. */
function isUnseen(node: DomElement): boolean {
  if (node.getAttribute('hidden') !== null) return true
  const style = node.getAttribute('style')
  return style !== null && /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(style)
}

function placeOf(node: DomElement): PageRegion | null {
  if (TOP.has(node.localName)) return 'top'
  if (node.localName === 'footer') return 'bottom'
  if (node.localName !== 'div' && node.localName !== 'section') return null
  const named = `${node.getAttribute('id') ?? ''} ${node.getAttribute('class') ?? ''}`.slice(0, LONGEST_HINT)
  if (TOP_NAME.test(named)) return 'top'
  return BOTTOM_NAME.test(named) ? 'bottom' : null
}

function hrefOf(node: DomElement, base: string): string | null {
  if (node.localName !== 'a' && node.localName !== 'area') return null
  const href = node.getAttribute('href')?.trim()
  if (!href) return null
  return /^(?:tel|mailto|callto|sms|whatsapp|tg|viber):/i.test(href) ? href : absolute(href, base)
}

function framesOf(document: DomDocument, base: string): string[] {
  const frames = elementsOf(document, 'frame').map(frame => frame.getAttribute('src'))
  return [refreshOf(document)?.target, ...frames].slice(0, 10).flatMap(src => absolute(src ?? null, base) ?? [])
}

const embedsOf = (root: DomNode, base: string): string[] =>
  elementsOf(root, 'script', 'iframe')
    .slice(0, MOST_EMBEDS)
    .flatMap(node => absolute(node.getAttribute('src'), base) ?? [])

const scriptsOf = (scripts: readonly DomElement[], type: RegExp): string[] =>
  scripts.filter(script => type.test(script.getAttribute('type')?.trim() ?? '')).map(rawText)

/** A truncated JSON could not be parsed, so a text that does not fit is dropped completely. */
function bounded(texts: readonly string[]): string[] {
  let left = MOST_DATA_CHARACTERS
  return texts.filter(text => {
    if (text.length > left) return false
    left -= text.length
    return true
  })
}

function absolute(href: string | null, base: string): string | null {
  if (!href || href.length > LONGEST_ADDRESS || !URL.canParse(href, base)) return null
  const url = new URL(href, base)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null
}
