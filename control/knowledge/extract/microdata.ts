/** Converts microdata (HTML, §5) to the objects that JSON-LD would have, without recursion. */
import { cleanLine } from './blocks.ts'
import { type DomElement, type DomNode, isElement, walk } from './dom.ts'
import { plainText } from './layout.ts'

const MOST_ITEMS = 200
const MOST_VALUES = 2000
const LONGEST_VALUE = 1000

type Item = Record<string, unknown>

/** Returns the items that are not part of another item. */
export function microdataOf(root: DomNode): Item[] {
  const top: Item[] = []
  const open: { node: DomElement; item: Item }[] = []
  let items = 0
  let values = 0
  walk(
    root,
    node => {
      if (!isElement(node)) return false
      const names = (node.getAttribute('itemprop') ?? '').split(/\s+/).filter(Boolean)
      const around = open.at(-1)?.item
      if (node.getAttribute('itemscope') !== null) {
        if (++items > MOST_ITEMS) return false
        const item: Item = { '@type': typeOf(node) }
        if (!around) top.push(item)
        else for (const name of names) add(around, name, item)
        open.push({ node, item })
      } else if (around && names.length > 0 && ++values <= MOST_VALUES) {
        for (const name of names) add(around, name, valueIn(node))
      }
      return true
    },
    node => {
      if (open.at(-1)?.node === node) open.pop()
    },
  )
  return top
}

const typeOf = (node: DomElement): string =>
  (node.getAttribute('itemtype') ?? '').trim().split(/\s+/)[0]!.slice(0, LONGEST_VALUE)

function add(item: Item, name: string, value: unknown): void {
  // Protects the prototype.
  if (name === '__proto__') return
  const known = item[name]
  item[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value]
}

function valueIn(node: DomElement): string {
  const value =
    node.getAttribute('content') ??
    (node.localName === 'a' || node.localName === 'link' ? node.getAttribute('href') : null) ??
    node.getAttribute('datetime') ??
    plainText(node)
  return cleanLine(value.slice(0, LONGEST_VALUE))
}
