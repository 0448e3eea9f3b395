/** Recall of enrichment against labels made by people, and a server for the sites of the corpus. */
import type { CorpusSite } from '../../../corpus/leads/sites/corpus.ts'
import type { SiteAnswer } from '../../../support/site-server.ts'

export interface Tally {
  right: number
  wrong: number
  missed: number
}

export function tally(found: readonly string[], truth: readonly string[]): Tally {
  const right = found.filter(one => truth.includes(one)).length
  return { right, wrong: found.length - right, missed: truth.length - right }
}

export const precision = ({ right, wrong }: Tally) => right / Math.max(1, right + wrong)
export const recall = ({ right, missed }: Tally) => right / Math.max(1, right + missed)

export const sum = (tallies: readonly Tally[]): Tally => ({
  right: tallies.reduce((total, one) => total + one.right, 0),
  wrong: tallies.reduce((total, one) => total + one.wrong, 0),
  missed: tallies.reduce((total, one) => total + one.missed, 0),
})

export const told = (of: Tally) =>
  `precision ${precision(of).toFixed(3)} recall ${recall(of).toFixed(3)} (${of.right} right, ${of.wrong} wrong, ${of.missed} missed)`

const WINDOWS_1251 = new Map(
  Array.from({ length: 128 }, (_, at) => [new TextDecoder('windows-1251').decode(Uint8Array.of(at + 128)), at + 128]),
)
const encoded = (html: string, charset: string): Buffer =>
  charset === 'utf-8'
    ? Buffer.from(html)
    : Buffer.from([...html].map(letter => WINDOWS_1251.get(letter) ?? letter.charCodeAt(0)))

export const answersOf = ({ pages, charset }: CorpusSite): Record<string, SiteAnswer> =>
  Object.fromEntries(
    [...pages].map(([path, page]) => [
      path,
      'location' in page
        ? { status: page.status, headers: { location: page.location } }
        : { headers: { 'content-type': 'text/html' }, body: encoded(page.html, charset) },
    ]),
  )
