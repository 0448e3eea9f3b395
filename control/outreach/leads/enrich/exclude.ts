/** Applies the owner's exclusions: names, domains and kinds in their own words. Pure. */
import { registrableDomain } from '../vocabulary/domain.ts'
import { nichesIn } from '../vocabulary/niches.ts'
import type { Candidate } from '../vocabulary/types.ts'
import { stemsOf, wordsFinder } from '../vocabulary/words.ts'
import { normalName } from './dedupe.ts'

const CHAIN =
  /^(?:крупн\p{L}+ |федеральн\p{L}+ |big |large )?(?:сет(?:и|ь|евы\p{L}+.*)|chains?|франшиз\p{L}*|franchis\p{L}*)$/iu
/** Negative values in a column of the owner's directory. */
const NO = /^(?:no|n|none|false|0|-|нет|не закрыт[оа]?)$/i
const CLOSED = /^(?:disused|abandoned|was|demolished|closed)$/i
/** Facts that name the kind of a company. */
const KINDS = ['amenity', 'shop', 'office', 'craft', 'leisure', 'tourism', 'healthcare', 'cuisine', 'category', 'sport']
const DOMAIN = /^(?:https?:\/\/)?(?:www\.)?((?:[\p{L}\p{N}-]+\.)+[\p{L}]{2,24})(?:\/.*)?$/iu

/**
 * Returns the exclusion that applies, as a sentence; null when none does. `hasBranches`: the site names several
 * branches.
 */
export function excludedBy(
  { company, website, facts }: Pick<Candidate, 'company' | 'website' | 'facts'>,
  exclusions: readonly string[],
  hasBranches: boolean,
): string | null {
  for (const exclusion of exclusions) {
    const wish = exclusion.trim().replace(/^(?:кроме|без|не|except|no|not)\s+/iu, '')
    if (!wish) continue
    const why = chainReason(wish, facts, hasBranches) ?? domainReason(wish, website) ?? nameReason(wish, company, facts)
    if (why) return `${why} (“${exclusion}”).`
  }
  return null
}

/** Null when the company may be open. */
export function closedBy(facts: Candidate['facts']): string | null {
  const closedFact = Object.entries(facts).find(
    ([name, value]) =>
      (CLOSED.test(name.split(':')[0]!) && !NO.test(value.trim())) ||
      (name === 'opening_hours' && /^(?:closed|off)$/i.test(value.trim())),
  )
  return closedFact
    ? `The source says that the company is closed (${closedFact[0]}: ${closedFact[1].slice(0, 100)}).`
    : null
}

function chainReason(wish: string, facts: Candidate['facts'], hasBranches: boolean): string | null {
  if (!CHAIN.test(wish)) return null
  const brand = facts['brand'] ?? facts['brand:wikidata'] ?? facts['franchise']
  if (brand) return `The company belongs to the chain ${brand.slice(0, 100)}`
  return hasBranches ? 'The company belongs to a chain; its site lists branches' : null
}

function domainReason(wish: string, website: string | null): string | null {
  const wanted = DOMAIN.exec(wish)?.[1]
  if (!wanted || !website || !URL.canParse(website) || !URL.canParse(`http://${wanted}`)) return null
  const [ours, theirs] = [new URL(website).hostname, new URL(`http://${wanted}`).hostname]
  return ours === theirs || registrableDomain(ours) === theirs || ours.endsWith(`.${theirs}`)
    ? `The site of the company is ${theirs}`
    : null
}

/** `клиники «Улыбка»`: only the name identifies the company, because every company of the search is of that kind. */
function ownName(wish: string): string {
  const [kind] = nichesIn(wish)
  const rest = kind?.from === 0 ? wish.slice(kind.to).replace(/^[\s«“"„]+/, '') : ''
  return /^\p{Lu}/u.test(rest) ? rest : wish
}

/** True when all words of the exclusion are in the name, or in a word for the kind. */
function nameReason(wish: string, company: string, facts: Candidate['facts']): string | null {
  const wanted = normalName(ownName(wish))
  if (stemsOf(wanted).length === 0) return null
  const isNamed = wordsFinder(wanted)
  const has = (text: string) => isNamed(normalName(text))
  if (has(company)) return 'The name of the company is excluded'
  const kind = KINDS.flatMap(name => facts[name] ?? []).find(value => has(value.replace(/[_;]/g, ' ')))
  return kind ? `The kind of the company is excluded: ${kind}` : null
}
