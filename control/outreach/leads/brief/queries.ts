/** Builds queries for text sources: each niche at each place, in both languages where both are known. Pure. */
import { nichesIn } from '../vocabulary/niches.ts'
import { splitPlaces, translated } from './places.ts'

const MOST = 20
const LONGEST = 200
const CYRILLIC = /\p{Script=Cyrillic}/u

export function queriesFor(niche: string, geo: string): string[] {
  if (niche === '') return []
  const places = splitPlaces(geo)
  const kinds = kindsOf(niche)
  const queries = (places.length > 0 ? places : ['']).flatMap(place =>
    kinds.flatMap(kind => [`${kind.said} ${place}`, ...kind.names.map(name => `${name} ${inLanguageOf(name, place)}`)]),
  )
  const seen = new Set<string>()
  return queries
    .map(query => query.trim().slice(0, LONGEST).trim())
    .filter(query => !seen.has(query.toLowerCase()) && seen.add(query.toLowerCase()))
    .slice(0, MOST)
}

interface Kind {
  said: string
  /** Names of the niche, if it is a known one and has no further words. */
  names: string[]
}

function kindsOf(niche: string): Kind[] {
  const parts = niche.split(/,\s+|\s+(?:и|или|and|or|&)\s+/).filter(part => /\p{L}/u.test(part))
  // A part that is not a known niche belongs to a name: research and development.
  const known = parts.every(part => nichesIn(part).length > 0)
  return (known ? parts : [niche]).map(said => {
    const [match] = nichesIn(said)
    const whole = match && match.from === 0 && match.to === said.length
    return { said, names: whole ? [match.niche.names.ru[0]!, match.niche.names.en[0]!] : [] }
  })
}

/** Translates each part of a place into the language of the name, where known. */
function inLanguageOf(name: string, place: string): string {
  const russian = CYRILLIC.test(name)
  return place
    .split(', ')
    .map(part => (CYRILLIC.test(part) === russian ? part : (translated(part) ?? part)))
    .join(', ')
}
