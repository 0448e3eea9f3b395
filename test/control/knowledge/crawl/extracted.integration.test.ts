/** Crawls with the product's extractor, one process per page. */
import { afterAll, expect, it } from 'vitest'
import { createExtractor } from '../../../../infra/adapters/extractor.ts'
import { makePdf } from '../extract/make-pdf.ts'
import { crawl, serveSite } from './site.ts'

const extractor = createExtractor()
afterAll(() => extractor.close())

/** Russian in a one-byte encoding; the rest of a page is ASCII. */
const cp1251 = (text: string) =>
  Buffer.from(
    [...text].map(letter => {
      const code = letter.codePointAt(0)!
      return code >= 0x410 && code <= 0x44f ? code - 0x410 + 0xc0 : code
    }),
  )

it('a site of several encodings and a PDF becomes pages', async () => {
  const site = await serveSite({
    '/': {
      headers: { 'content-type': 'text/html; charset=windows-1251' },
      body: cp1251(`<html><head><title>Клиника</title><base href="/about/"></head><body>
        <h1>Клиника на Садовой</h1><p>Мы открыты с девяти до шести.</p>
        <a href="team">Врачи</a> <a href="/prices.pdf">Цены</a> <a href="javascript:void(0)">Меню</a>
        <a href="/hidden">Скрыто</a></body></html>`),
    },
    '/about/team': `<html><head><meta charset="utf-8"><link rel="canonical" href="/team"></head>
      <body><h1>Врачи</h1><p>Анна Петрова принимает по вторникам.</p><a href="../">Назад</a></body></html>`,
    '/hidden': '<html><head><meta name="robots" content="noindex"></head><body><p>Secret</p></body></html>',
    '/prices.pdf': {
      headers: { 'content-type': 'application/pdf' },
      body: makePdf([[{ text: 'A filling costs 90 euros.', y: 700 }]]),
    },
  })
  const { read, skipped } = await crawl(site, { extractor })
  const texts = read.map(({ url, blocks }) => [new URL(url!).pathname, blocks.map(({ text }) => text).join(' ')])
  expect(texts).toEqual([
    ['/', expect.stringContaining('Мы открыты с девяти до шести.')],
    ['/team', expect.stringContaining('Анна Петрова принимает по вторникам.')],
    ['/prices.pdf', expect.stringContaining('A filling costs 90 euros')],
  ])
  expect(read[0]!.title).toBe('Клиника')
  expect(skipped).toEqual({ noindex: 1 })
})
