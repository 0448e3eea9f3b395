/**
 * Converts an HTML tree to headings and texts as a person would read it aloud, without markup, scripts and hidden text.
 */
import type { Blocks } from './blocks.ts'
import { type DomElement, type DomNode, elementsOf, isElement, walk } from './dom.ts'
import { describeRow, headersOf } from './table.ts'

const words = (text: string) => new Set(text.split(' '))
const SILENT = words(
  'script style template noscript head title svg math canvas iframe object embed audio video picture map ' +
    'button select input textarea datalist dialog',
)
/** Elements that repeat on every page of a site. An address in them is kept, because it is often nowhere else. */
const FRAME = words('nav aside footer')
const FRAME_ROLES = words('navigation contentinfo complementary search banner menu menubar dialog alertdialog')
const PARAGRAPH = words(
  'p div section article main header address blockquote figure figcaption pre form fieldset details summary ul ol dl ' +
    'table caption body html hgroup center',
)
const LINE = words('li dt tr br hr option legend label')
const HEADING = /^h([1-6])$/
const COOKIES = /\b(?:cookie|consent|gdpr)[-_]?(?:banner|bar|notice|popup|consent|modal|dialog)?\b/i
/** Characters of id and class names to check. */
const NAMES_LOOKED_AT = 200

/** `page`: a web page, whose navigation is left out; `text`: everything. */
export function layOut(root: DomNode, blocks: Blocks, what: 'page' | 'text'): void {
  const flow = new Flow(blocks)
  walk(
    root,
    node => {
      if (!isElement(node)) {
        if (node.nodeType === 3) flow.words(node.data ?? '')
        return false
      }
      if (isHidden(node)) return false
      if (what === 'page' && isFrame(node)) {
        for (const address of addressesOf(node)) flow.aside(address)
        return false
      }
      return enter(node, flow)
    },
    node => leave(node, flow),
  )
  flow.flush()
}

function enter(node: DomElement, flow: Flow): boolean {
  const name = node.localName
  const heading = HEADING.exec(name)
  if (heading) {
    flow.heading(Number(heading[1]), plainText(node))
    return false
  }
  if (name === 'table' && isData(node)) {
    for (const row of rowsOf(node)) flow.aside(row)
    return false
  }
  if (name === 'pre') flow.setInLines++
  if (name === 'li') flow.line('- ')
  else if (PARAGRAPH.has(name)) flow.paragraph()
  else if (LINE.has(name)) flow.line()
  else if (name === 'td' || name === 'th') flow.words(' ')
  return true
}

function leave(node: DomElement, flow: Flow): void {
  const name = node.localName
  if (name === 'pre') flow.setInLines--
  if (name === 'dt') flow.words(': ')
  else if (PARAGRAPH.has(name)) flow.paragraph()
  else if (name === 'dd' || (LINE.has(name) && name !== 'br')) flow.line()
}

/** Same rule as Readability, and elements that have no text for a reader. */
export function isHidden(node: DomElement): boolean {
  if (SILENT.has(node.localName)) return true
  if (node.getAttribute('hidden') !== null || node.getAttribute('aria-hidden') === 'true') return true
  const style = node.getAttribute('style')
  return style !== null && /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(style)
}

function isFrame(node: DomElement): boolean {
  if (FRAME.has(node.localName) || FRAME_ROLES.has(node.getAttribute('role') ?? '')) return true
  if (node.localName !== 'div' && node.localName !== 'section') return false
  const named = `${node.getAttribute('id') ?? ''} ${node.getAttribute('class') ?? ''}`.slice(0, NAMES_LOOKED_AT)
  return COOKIES.test(named)
}

/** Removes from the tree what `layOut` would leave out. */
export function dropFrame(root: DomNode): void {
  const dropped: DomElement[] = []
  walk(root, node => {
    if (!isElement(node)) return false
    // Title and metadata are invisible but needed.
    const drop = node.localName !== 'head' && (isHidden(node) || isFrame(node))
    if (drop) dropped.push(node)
    return !drop && node.localName !== 'head'
  })
  for (const node of dropped) node.remove()
}

export const addressesOf = (root: DomNode): string[] =>
  elementsOf(root, 'address')
    .filter(address => !isHidden(address))
    .map(plainText)

/** Returns the text inside as one line. */
export function plainText(root: DomNode): string {
  const parts: string[] = []
  walk(root, node => {
    if (node.nodeType === 3) parts.push(node.data ?? '')
    if (!isElement(node) || isHidden(node)) return false
    if (PARAGRAPH.has(node.localName) || LINE.has(node.localName)) parts.push(' ')
    return true
  })
  return parts.join('').replace(/\s+/g, ' ').trim()
}

/** True for a table with data; a layout table contains tables, headings or lists. */
const isData = (table: DomElement) => elementsOf(table, 'table', 'h1', 'h2', 'h3', 'h4', 'ul', 'ol').length === 0

function rowsOf(table: DomElement): string[] {
  const rows = elementsOf(table, 'tr').map(row => {
    const cells = elementsOf(row, 'td', 'th')
    return { named: cells.length > 0 && cells.every(cell => cell.localName === 'th'), cells: cells.map(plainText) }
  })
  const first = rows[0]
  const wide = first !== undefined && first.cells.length > 2 && rows.length > 2
  // Word and many sites do not write th: treat the first row of a wide table of words as its header.
  const headers = first && (first.named || wide) ? headersOf(first.cells) : null
  const caption = elementsOf(table, 'caption')[0]
  return [
    ...(caption ? [plainText(caption)] : []),
    ...(headers ? rows.slice(1) : rows).map(({ cells }) =>
      // A name and its value.
      !headers && cells.length === 2 ? describeRow([cells[0]!], [cells[1]!]) || cells[0]! : describeRow(headers, cells),
    ),
  ]
}

/** Collects words until a line or a paragraph ends. */
class Flow {
  readonly #blocks: Blocks
  #parts: string[] = []
  #fresh = true
  /** Number of enclosing elements that preserve line breaks. */
  setInLines = 0

  constructor(blocks: Blocks) {
    this.#blocks = blocks
  }

  words(text: string): void {
    for (const [i, line] of (this.setInLines > 0 ? text.split(/\r\n?|\n/) : [text]).entries()) {
      if (i > 0) this.line()
      this.#flow(line)
    }
  }

  #flow(text: string): void {
    const flat = text.replace(/\s+/g, ' ')
    if (flat === '' || (this.#fresh && flat === ' ')) return
    this.#parts.push(flat)
    this.#fresh = false
  }

  line(mark = ''): void {
    if (this.#parts.length > 0 && !this.#fresh) this.#parts.push('\n')
    if (mark) this.#parts.push(mark)
    this.#fresh = true
  }

  paragraph(): void {
    // The paragraph of a list item stays on the line of its marker.
    if (this.#fresh && this.#parts.at(-1) === '- ') return
    this.flush()
  }

  heading(level: number, text: string): void {
    this.flush()
    this.#blocks.heading(level, text)
  }

  aside(text: string): void {
    this.flush()
    this.#blocks.text(text)
  }

  flush(): void {
    const text = this.#parts.join('')
    if (text !== '- ') this.#blocks.text(text)
    this.#parts = []
    this.#fresh = true
  }
}
