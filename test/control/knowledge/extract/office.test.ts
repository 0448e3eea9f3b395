/** DOCX and PDF files: valid, damaged and hostile. */
import { describe, expect, it } from 'vitest'
import { documentXml, heading, makeDocx, paragraph, table } from './make-docx.ts'
import { makePdf } from './make-pdf.ts'
import { makeZip } from './make-zip.ts'
import { code, outline, read } from './outline.ts'

describe('DOCX', () => {
  const body = [
    heading(1, 'Цены'),
    paragraph('Мойка & сушка.'),
    table([
      ['Услуга', 'Цена', 'Время'],
      ['Мойка', '500 ₽', '20 мин'],
      ['Воск', '700 ₽', '10 мин'],
    ]),
    heading(2, 'Оплата'),
    paragraph('Картой.'),
  ].join('')

  it('keeps headings and tables', async () => {
    const docx = makeDocx(documentXml(body))
    expect((await read('docx', docx)).title).toBe('Цены')
    expect(await outline('docx', docx)).toEqual([
      '# Цены',
      'Мойка & сушка.',
      'Услуга: Мойка; Цена: 500 ₽; Время: 20 мин',
      'Услуга: Воск; Цена: 700 ₽; Время: 10 мин',
      '## Оплата',
      'Картой.',
    ])
  })

  it('rejects external and recursive entities', async () => {
    const external = '<!DOCTYPE w:document [<!ENTITY file SYSTEM "file:///etc/hostname">]>'
    expect(await code('docx', makeDocx(documentXml('<w:p><w:r><w:t>&file;</w:t></w:r></w:p>', external)))).toBe(
      'damaged',
    )
    const laughs = `<!DOCTYPE lolz [<!ENTITY a "lol">${'<!ENTITY b "&a;&a;">'.repeat(10)}]>`
    expect(await code('docx', makeDocx(documentXml(body, laughs)))).toBe('damaged')
    const part = { name: 'word/footnotes.xml', data: `${external}<x/>` }
    expect(await code('docx', makeDocx(documentXml(body), [part]))).toBe('damaged')
  })

  it('rejects a zip bomb before decompression, whatever size it declares', async () => {
    const zeros = Buffer.alloc(40 * 1024 * 1024)
    expect(await code('docx', makeDocx(documentXml(body), [{ name: 'word/big.xml', data: zeros }]))).toBe('too_complex')
    const lie = { name: 'word/big.xml', data: zeros, declared: 1000 }
    expect(await code('docx', makeDocx(documentXml(body), [lie]))).toBe('damaged')
    const claims = { name: 'media/x.png', data: 'x', declared: 600 * 1024 * 1024 }
    expect(await code('docx', makeDocx(documentXml(body), [claims]))).toBe('too_complex')
    const many = Array.from({ length: 10_001 }, (_, i) => ({ name: `x${i}`, data: '' }))
    expect(await code('docx', makeDocx(documentXml(body), many))).toBe('too_complex')
  })

  it('ignores embedded archives', async () => {
    const inner = makeZip([{ name: 'bomb', data: Buffer.alloc(1_000_000) }])
    const docx = makeDocx(documentXml(body), [{ name: 'word/embeddings/inner.zip', data: inner }])
    expect(await code('docx', docx)).toBe('read')
  })

  it('reports damaged, encrypted and foreign files', async () => {
    const docx = makeDocx(documentXml(body))
    expect(await code('docx', docx.subarray(0, docx.length - 30))).toBe('damaged')
    expect(await code('docx', 'no zip at all')).toBe('damaged')
    expect(await code('docx', makeZip([{ name: 'a.txt', data: 'x' }]))).toBe('damaged')
    expect(await code('docx', makeDocx('<w:document>'))).toMatch(/damaged|no_text/)
    expect(await code('docx', makeDocx(documentXml(body), [{ name: 'x.xml', data: 'x', encrypted: true }]))).toBe(
      'encrypted',
    )
    expect(await code('docx', makeDocx(documentXml('')))).toBe('no_text')
  })
})

describe('PDF', () => {
  const body = [
    { text: 'Delivery', size: 18, y: 780 },
    { text: 'We bring it on week-', y: 750 },
    { text: 'days, from nine to six.', y: 736 },
    { text: 'Доставка стоит 300 рублей.', y: 700 },
  ]

  it('detects headings by font size, paragraphs by position, and joins hyphenated words', async () => {
    const pdf = makePdf([body], { title: 'Наши правила' })
    expect((await read('pdf', pdf)).title).toBe('Наши правила')
    expect(await outline('pdf', pdf)).toEqual([
      '# Delivery',
      'We bring it on weekdays, from nine to six.',
      'Доставка стоит 300 рублей.',
    ])
  })

  it('detects paragraphs by indentation, and keeps list items together', async () => {
    const lines = [
      { text: 'The first paragraph begins', x: 70, y: 700 },
      { text: 'and goes on.', y: 686 },
      { text: 'The second one begins', x: 70, y: 672 },
      { text: 'and ends:', y: 658 },
      { text: '1) an item that is', y: 644 },
      { text: 'long,', x: 62, y: 630 },
      { text: '2) another.', y: 616 },
    ]
    expect(await outline('pdf', makePdf([lines]))).toEqual([
      'The first paragraph begins and goes on.',
      'The second one begins and ends:\n1) an item that is long,\n2) another.',
    ])
  })

  it('joins words at soft hyphens, in headings too', async () => {
    const pdf = makePdf([
      [
        { text: 'Terms of deliv\u00ad', size: 18, y: 800 },
        { text: 'ery', size: 18, y: 780 },
        { text: 'We bring it on week\u00ad', y: 750 },
        { text: 'days, also самым быст\u00ad', y: 736 },
        { text: 'рым.', y: 722 },
      ],
    ])
    expect(await outline('pdf', pdf)).toEqual(['# Terms of delivery', 'We bring it on weekdays, also самым быстрым.'])
  })

  it('joins text across pages, and drops headers and footers', async () => {
    const framed = (page: number, lines: { text: string; y: number }[]) => [
      { text: 'The Wave Ltd', y: 810 },
      ...lines,
      { text: `Page ${page} of 3`, y: 30 },
    ]
    const pages = [
      framed(1, [
        { text: 'First point.', y: 700 },
        { text: 'A sentence that goes', y: 60 },
      ]),
      framed(2, [
        { text: 'on here.', y: 780 },
        { text: 'Second point.', y: 700 },
        { text: 'Third point.', y: 600 },
      ]),
      framed(3, [
        { text: 'Fourth point.', y: 700 },
        { text: 'Fifth point.', y: 600 },
      ]),
    ]
    expect(await outline('pdf', makePdf(pages))).toEqual([
      'First point.',
      'A sentence that goes on here.',
      'Second point.',
      'Third point.',
      'Fourth point.',
      'Fifth point.',
    ])
  })

  it('reports a required password, and reads files with an empty one', async () => {
    expect(await code('pdf', makePdf([body], { password: 'secret' }))).toBe('encrypted')
    expect((await outline('pdf', makePdf([body], { password: '' })))[0]).toBe('# Delivery')
  })

  it('reports files without text, truncated files and bare headers', async () => {
    expect(await code('pdf', makePdf([[]]))).toBe('no_text')
    const long = makePdf(Array(30).fill(body))
    expect(await code('pdf', long.subarray(0, long.length / 2))).toBe('damaged')
    expect(await code('pdf', '%PDF-1.7\n')).toBe('damaged')
    expect(await code('pdf', 'hello')).toBe('damaged')
  })

  it('recovers a file without its object table', async () => {
    const pdf = makePdf([body])
    const broken = Buffer.from(pdf.toString('latin1').replace(/startxref\n\d+/, 'startxref\n999999'), 'latin1')
    expect((await outline('pdf', broken))[0]).toBe('# Delivery')
  })
})
