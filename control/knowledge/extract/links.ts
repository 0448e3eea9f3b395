/** Reads what a crawler needs from a page besides its text. */
import type { ExtractedLinks } from '../documents/types.ts'
import { type DomDocument, elementsOf } from './dom.ts'

const MOST_LINKS = 10_000
/** Common servers reject longer addresses. */
const LONGEST = 2048
/** Seconds. A page with a later refresh can be read before, so it counts as a page. */
const AT_ONCE = 1

export function linksOf(document: DomDocument, url: string): ExtractedLinks {
  const base = absolute(elementsOf(document, 'base')[0]?.getAttribute('href') ?? '', url) ?? url
  const links = new Set<string>()
  for (const anchor of elementsOf(document, 'a', 'area')) {
    const link = absolute(anchor.getAttribute('href'), base)
    if (link && links.size < MOST_LINKS) links.add(link)
  }
  const refresh = refreshOf(document)
  const canonical = elementsOf(document, 'link').find(link => tokens(link.getAttribute('rel')).includes('canonical'))
  const robots = elementsOf(document, 'meta')
    .filter(meta => meta.getAttribute('name')?.trim().toLowerCase() === 'robots')
    .flatMap(meta => tokens(meta.getAttribute('content')))
  return {
    links: [...links],
    canonical: absolute(canonical?.getAttribute('href') ?? null, base),
    refresh: absolute(refresh && refresh.seconds <= AT_ONCE ? refresh.target : null, base),
    noindex: robots.some(token => token === 'noindex' || token === 'none'),
    nofollow: robots.some(token => token === 'nofollow' || token === 'none'),
  }
}

/** Parses `meta refresh`: HTML, §4.2.5.3. */
export function refreshOf(document: DomDocument): { seconds: number; target: string } | null {
  const meta = elementsOf(document, 'meta').find(
    one => one.getAttribute('http-equiv')?.trim().toLowerCase() === 'refresh',
  )
  const content = (meta?.getAttribute('content') ?? '').slice(0, LONGEST)
  const [, seconds, target] = /^\s*(\d+)(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?(.+)$/is.exec(content) ?? []
  if (target === undefined) return null
  return { seconds: Number(seconds), target: target.trim().replace(/^(["'])(.*?)(?:\1.*)?$/s, '$2') }
}

const tokens = (text: string | null) => (text ?? '').toLowerCase().split(/[\s,]+/)

function absolute(href: string | null, base: string): string | null {
  if (href === null || href.length > LONGEST || !URL.canParse(href, base)) return null
  const url = new URL(href, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  url.hash = ''
  return url.href
}
