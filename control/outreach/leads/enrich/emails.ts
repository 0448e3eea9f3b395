/** Finds e-mail addresses on a company's pages, including obfuscated ones. Pure. */
import { registrableDomain } from '../vocabulary/domain.ts'
import { decoded, type ReadPage } from './phones.ts'
import { type Organisation, pathsOf } from './schema-org.ts'

const ADDRESS = /(?<![\w.+-])[a-z0-9](?:[\w.+-]{0,62}[a-z0-9_])?@(?:[a-z0-9-]{1,63}\.){1,5}[a-z]{2,24}(?![\w@-])/gi
/** `info [at] x [dot] ru`, in brackets of any kind. */
const AT = /\s?[([{<]\s?(?:at|@|собака|собачка|dog|эт)\s?[)\]}>]\s?/giu
const DOT = /\s?[([{<]\s?(?:dot|точка|\.)\s?[)\]}>]\s?/giu
const SPACED = /(?<=[a-z0-9])\s?@\s?(?=[a-z0-9-]+\.[a-z])/gi
/** File names of images, example addresses of forms, and addresses of website builders. */
const NOBODY =
  /\.(?:png|jpe?g|gif|svg|webp|css|js)$|@(?:example|domain|email|site|mysite|yourdomain|sentry|wixpress)\.(?:com|ru|org|io)$|@sentry|^(?:your|you|name|user|email|example|test|ivan|ivanov|primer|no-?reply)@/i
const MOST = 10
const LONGEST = 254

/** Best first: addresses of the company's own domain, then the most frequent. */
export function emailsOf(
  pages: readonly ReadPage[],
  organisations: ReadonlyMap<ReadPage, readonly Organisation[]>,
): string[] {
  const found = new Map<string, number>()
  const add = (text: string, points: number) => {
    for (const [address] of text.matchAll(ADDRESS)) {
      const email = address.toLowerCase()
      if (email.length <= LONGEST && !NOBODY.test(email)) found.set(email, (found.get(email) ?? 0) + points)
    }
  }
  for (const page of pages) {
    for (const { href } of page.page.links) add(linked(href), 2)
    for (const { text } of page.page.lines) if (/@|at|собак|эт/i.test(text)) add(plain(text), 1)
    for (const organisation of organisations.get(page) ?? []) for (const email of organisation.emails) add(email, 3)
    for (const text of page.page.json) for (const email of pathsOf(text, /^e?-?mail$|email/i)) add(email, 1)
  }
  const own = new Set(pages.map(({ url }) => registrableDomain(new URL(url).hostname)))
  const isOwn = (email: string) => own.has(registrableDomain(email.slice(email.indexOf('@') + 1)))
  return [...found]
    .sort(([a, times], [b, others]) => Number(isOwn(b)) - Number(isOwn(a)) || others - times)
    .slice(0, MOST)
    .map(([email]) => email)
}

const plain = (text: string): string => text.replace(AT, '@').replace(DOT, '.').replace(SPACED, '@')

function linked(href: string): string {
  if (/^mailto:/i.test(href)) return decoded(href.slice(7).split('?')[0]!)
  const hidden =
    /^cfemail:([0-9a-f]{4,500})$/i.exec(href)?.[1] ??
    /\/cdn-cgi\/l\/email-protection#([0-9a-f]{4,500})$/i.exec(href)?.[1]
  return hidden ? uncovered(hidden) : ''
}

/** Decodes Cloudflare's obfuscation: each byte is XORed with the first. */
function uncovered(hex: string): string {
  const bytes = Buffer.from(hex, 'hex')
  return Buffer.from(bytes.subarray(1).map(byte => byte ^ bytes[0]!)).toString('utf8')
}
