/** A visit with the product's extractor, which reads pages in a separate process. */
import { expect, it } from 'vitest'
import { createEnricher } from '../../../../control/outreach/leads/enrich/enricher.ts'
import { createExtractor } from '../../../../infra/adapters/extractor.ts'
import { startSiteServer } from '../../../support/site-server.ts'
import { briskClock, candidate, question, source } from './rig.ts'

it('a visit in the worker process reads the same', async () => {
  const server = await startSiteServer()
  server.add('worker.example', { '/': '<title>Фирма</title><p>Тел. 8 (843) 200-01-01</p><p>Парковки нет.</p>' })
  const extractor = createExtractor()
  try {
    const enricher = createEnricher({ fetch: server.fetch, clock: briskClock(), extractor })
    const of = candidate({ website: server.url('worker.example') })
    const lead = await enricher.enrich(of, question(['парковка']), source, new AbortController().signal)
    expect(lead).toMatchObject({ phones: ['+78432000101'], site_problem: null })
    expect(lead.signals[0]!.present).toBe(false)
  } finally {
    await extractor.close()
    await server.close()
  }
})
