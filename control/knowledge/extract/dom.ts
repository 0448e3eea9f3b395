/**
 * HTML as a tree, with the few DOM functions that we use; no traversal is recursive. The only importer of linkedom.
 * Uses its bundle, which loads in 30 ms, while its modules take 250 ms.
 */
import { parseHTML } from 'linkedom/worker'
import { KnowledgeError } from '../documents/types.ts'

export interface DomNode {
  /** 1: element, 3: text. */
  nodeType: number
  /** Content of a text node. */
  data?: string
  localName?: string
  firstChild: DomNode | null
  nextSibling: DomNode | null
  parentNode: DomNode | null
  getAttribute?(name: string): string | null
}

export interface DomElement extends DomNode {
  localName: string
  attributes: Iterable<{ name: string; value: string }>
  setAttribute(name: string, value: string): void
  getAttribute(name: string): string | null
  remove(): void
}

export interface DomDocument extends DomNode {
  documentElement: DomElement
}

/**
 * Levels of nesting. Chromium builds 512 and places deeper elements beside; linkedom takes quadratic time (100,000
 * levels: 37 s).
 */
const DEEPEST = 1000
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))
/** Elements whose end tag is optional, so that many of them are not nested. Their content is counted. */
const IMPLIED = new Set('p li dt dd td th tr tbody thead tfoot option optgroup rt rp html head body'.split(' '))
const RAW = new Set('script style textarea title noscript template'.split(' '))

export function parseDocument(html: string): DomDocument {
  refuseDepth(html)
  // linkedom takes the first element of a fragment for the whole document, and gives a doctype no next sibling.
  const content = html.replace(/<!doctype[^>]{0,1000}>/i, '')
  const whole = /<html[\s>]/i.test(content) ? content : `<html><head></head><body>${content}</body></html>`
  const document = parseHTML(whole).document as unknown as DomDocument
  smallAttributes(document)
  return document
}

/** HTML, §13.2.5.33: attribute names are lower case; linkedom keeps the case of the source. */
function smallAttributes(document: DomDocument): void {
  walk(document, node => {
    if (!isElement(node)) return false
    for (const { name, value } of [...node.attributes]) {
      const small = name.toLowerCase()
      if (small !== name && node.getAttribute(small) === null) node.setAttribute(small, value)
    }
    return true
  })
}

function refuseDepth(html: string): void {
  const open: string[] = []
  const tags = /<!--|<(\/?)([a-z][^\s/>]*)/gi
  for (let tag = tags.exec(html); tag; tag = tags.exec(html)) {
    const name = tag[2]?.toLowerCase()
    if (name === undefined) tags.lastIndex = after(html, '-->', tags.lastIndex)
    else if (tag[1]) {
      const at = open.lastIndexOf(name)
      if (at >= 0) open.length = at
    } else if (RAW.has(name)) tags.lastIndex = after(html, `</${name}`, tags.lastIndex)
    else if (!VOID.has(name) && !IMPLIED.has(name)) {
      if (open.push(name) > DEEPEST)
        throw new KnowledgeError('too_complex', `The page is nested more than ${DEEPEST} levels deep.`)
    }
  }
}

function after(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from)
  return at < 0 ? text.length : at
}

export const isElement = (node: DomNode): node is DomElement => node.nodeType === 1

/**
 * Visits every node below `root` in document order. When `enter` returns false, the children are skipped and `leave` is
 * not called.
 */
export function walk(
  root: DomNode,
  enter: (node: DomNode) => boolean,
  leave: (node: DomElement) => void = () => {},
): void {
  let node = root.firstChild
  while (node) {
    const inside: boolean = enter(node)
    if (inside && node.firstChild) {
      node = node.firstChild
      continue
    }
    if (inside && isElement(node)) leave(node)
    while (node && !node.nextSibling) {
      node = node.parentNode === root ? null : node.parentNode
      if (node && isElement(node)) leave(node)
    }
    node = node?.nextSibling ?? null
  }
}

/** Returns the elements with one of these names, in document order. */
export function elementsOf(root: DomNode, ...names: string[]): DomElement[] {
  const found: DomElement[] = []
  walk(root, node => {
    if (isElement(node) && names.includes(node.localName)) found.push(node)
    return true
  })
  return found
}

/** Returns the title of the document; an SVG image has a title of its own. */
export function titleElement(root: DomNode): DomElement | null {
  let found: DomElement | null = null
  walk(root, node => {
    if (found === null && isElement(node) && node.localName === 'title') found = node
    return found === null && isElement(node) && node.localName !== 'svg'
  })
  return found
}

/** Returns all text inside, visible or not. */
export function rawText(root: DomNode): string {
  const parts: string[] = []
  walk(root, node => {
    if (node.nodeType === 3) parts.push(node.data ?? '')
    return true
  })
  return parts.join('')
}
