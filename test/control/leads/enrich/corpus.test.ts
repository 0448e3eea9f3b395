/** Sites of varied quality, read over HTTP, compared with labels made by people. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Enriched } from '../../../../control/outreach/leads/vocabulary/types.ts'
import { type CorpusSite, readSites, SPLITS, type Split } from '../../../corpus/leads/sites/corpus.ts'
import { type SiteServer, startSiteServer } from '../../../support/site-server.ts'
import { enrichOn, question } from './rig.ts'
import { answersOf, precision, recall, sum, type Tally, tally, told } from './tally.ts'

const read: { split: Split; site: CorpusSite; lead: Enriched }[] = []
let server: SiteServer

beforeAll(async () => {
  server = await startSiteServer()
  for (const split of SPLITS) {
    for (const site of readSites(split)) {
      server.add(site.host, answersOf(site))
      const asked = question(site.signals.map(one => one.signal))
      const of = { company: site.name, website: server.url(site.host), country: site.country }
      read.push({ split, site, lead: await enrichOn(server, of, asked) })
    }
  }
})
afterAll(() => server.close())

const summed = (of: (one: (typeof read)[number]) => Tally, split: Split | null): Tally =>
  sum(read.filter(one => split === null || one.split === split).map(of))

const phones = ({ site, lead }: (typeof read)[number]) => tally(lead.phones, site.phones)
const emails = ({ site, lead }: (typeof read)[number]) => tally(lead.emails, site.emails)
const signals = ({ site, lead }: (typeof read)[number]) =>
  tally(
    lead.signals.filter(one => one.present).map(one => one.signal),
    site.signals.filter(one => one.present).map(one => one.signal),
  )
const mains = ({ site, lead }: (typeof read)[number]) => tally(lead.phones.slice(0, 1), site.phones.slice(0, 1))

describe('sites of companies', () => {
  it.each([
    ['phones', phones],
    ['main phones', mains],
    ['emails', emails],
    ['signals', signals],
  ] as const)('%s are told', (name, of) => {
    for (const split of SPLITS) console.log(`${name}, ${split}: ${told(summed(of, split))}`)
    const mistakes = read
      .filter(one => one.split === 'train')
      .flatMap(one => {
        const { wrong, missed } = of(one)
        return wrong + missed > 0 ? [one] : []
      })
    for (const { site, lead } of mistakes) console.log(`  ${name} of ${site.host}:`, explained(name, site, lead))
    expect(recall(summed(of, null))).toBeGreaterThanOrEqual(FLOORS[name].recall)
    expect(precision(summed(of, null))).toBeGreaterThanOrEqual(FLOORS[name].precision)
  })

  it('all are read, and quote what they found', () => {
    expect(read.length).toBeGreaterThanOrEqual(44)
    for (const { lead } of read) {
      for (const { present, evidence, where } of lead.signals) {
        expect(present ? evidence!.length > 0 && evidence!.length <= 300 && where !== null : evidence === null).toBe(
          true,
        )
      }
    }
  })
})

const FLOORS = {
  phones: { precision: 0.95, recall: 0.95 },
  'main phones': { precision: 0.9, recall: 0.9 },
  emails: { precision: 0.95, recall: 0.95 },
  signals: { precision: 0.9, recall: 0.85 },
}

const explained = (name: string, site: CorpusSite, lead: Enriched): string =>
  name === 'signals'
    ? lead.signals
        .filter((one, at) => one.present !== site.signals[at]!.present)
        .map(one => `${one.present ? 'wrongly' : 'missed'} ${one.signal} (${one.evidence})`)
        .join('; ')
    : name === 'emails'
      ? `${lead.emails} for ${site.emails}`
      : `${lead.phones} for ${site.phones}`
