/** Numbers in text: the formats that people use, and text that only resembles a number. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readSite } from '../../../../control/knowledge/extract/site.ts'
import { phonesIn } from '../../../../control/outreach/leads/enrich/phone-text.ts'
import { phonesOf, type ReadPage } from '../../../../control/outreach/leads/enrich/phones.ts'
import { organisationsOf } from '../../../../control/outreach/leads/enrich/schema-org.ts'
import { effortOf } from '../../../support/effort.ts'

const read = (text: string, region: string | null = 'RU') => phonesIn(text, '', region).found.map(one => one.phone)

function ofHtml(html: string, region: string | null = 'RU', role: ReadPage['role'] = 'start') {
  const page: ReadPage = { url: 'http://site.example/', role, page: readSite(html, 'http://site.example/') }
  return phonesOf([page], new Map([[page, organisationsOf(page.page)]]), region)
}
const offered = (html: string, region: string | null = 'RU') => ofHtml(html, region).offered.map(one => one.phone)

const RUSSIAN = ['+7', '8', '+ 7', '+7 ', '8 ', '8-', '8.', '+7-', ''].flatMap(prefix =>
  [
    '(843) 200-01-01',
    '(843)200-01-01',
    '843 200 01 01',
    '843-200-01-01',
    '(843) 200 01 01',
    '(843) 2000101',
    '843.200.01.01',
    '(843) 200–01–01',
  ].map(rest => `${prefix}${rest}`),
)

describe('a number behind that of a house', () => {
  it.each([
    'ул. Гвардейская, 14 (843) 200-01-01',
    'ул. Гвардейская, 14/2 (843) 200-01-01',
    'Казань, Баумана 7 8 843 200-01-01',
    'Казань, Баумана 88 8 (843) 200-01-01',
    '420111 Казань, Баумана 5 +7 843 200-01-01',
    'Баумана, 14 - (843) 200-01-01',
  ])('%s', text => expect(read(text)).toEqual(['+78432000101']))

  it('ignores counts, sums and account numbers', () => {
    for (const text of [
      '1 200 300 400 500 600',
      'р/с 40702 810 4 3800 0012345',
      '14 843 200 000 руб.',
      '12 345 678 901',
    ])
      expect(read(text), text).toEqual([])
  })

  it('takes bounded time', () => {
    const long = `${'14 '.repeat(2000)}(843) 200-01-01`
    expect(effortOf(() => read(long))).toBeLessThan(200)
  })
})

describe('numbers', () => {
  it.each(RUSSIAN)('%s', text => {
    expect(read(text)).toEqual(['+78432000101'])
    expect(read(`Звоните: ${text}, мы рядом`)).toEqual(['+78432000101'])
    expect(read(`тел.${text}`)).toEqual(['+78432000101'])
  })

  it.each([
    ['US', '(202) 555-0141', '+12025550141'],
    ['US', '202-555-0141', '+12025550141'],
    ['US', '202.555.0141', '+12025550141'],
    ['US', '1-202-555-0141', '+12025550141'],
    ['US', '+1 202 555 0141', '+12025550141'],
    ['GB', '01224 960101', '+441224960101'],
    ['GB', '(01224) 960 101', '+441224960101'],
    ['GB', '+44 (0)1224 960101', '+441224960101'],
    ['GB', '0044 1224 960101', '+441224960101'],
    ['US', '1-800-555-0142 toll free', '+18005550142'],
    ['US', '(202) 555–0141 ext. 2', '+12025550141'],
    ['UZ', '71 200 01 01', '+998712000101'],
    ['DE', '030 / 23 12 51 01', '+493023125101'],
    ['DE', '030/23125101', '+493023125101'],
    ['DE', '+49 (0) 30 23125-101', '+493023125101'],
    ['BY', '8 (029) 120-01-11', '+375291200111'],
    ['KZ', '8 (727) 200-01-01', '+77272000101'],
    ['FR', '01 42 34 56 78', '+33142345678'],
    [null, '+7 843 200-01-01', '+78432000101'],
  ])('%s: %s', (region, text, phone) => {
    expect(read(`Call ${text} now`, region)).toEqual([phone])
  })

  it.each([
    ['8 843 200-01-01 доб. 123', ['+78432000101']],
    ['8 843 200-01-01 8 843 200-01-02', ['+78432000101', '+78432000102']],
    ['+7 (843) 200-01-01, 02', ['+78432000101', '+78432000102']],
    ['+7 (843) 200-01-01, 200-01-02, 200-01-03', ['+78432000101', '+78432000102', '+78432000103']],
    ['(843) 200-01-01 / 200-01-02', ['+78432000101', '+78432000102']],
    ['(843) 200-01-01; (843) 200-01-02', ['+78432000101', '+78432000102']],
    ['тел. 8 843 200-01-01, офис 12, с 10 до 19', ['+78432000101']],
    ['тел. 8 843 200-01-01, 10:00-19:00', ['+78432000101']],
  ])('selects among several: %s', (text, phones) => {
    expect(read(text)).toEqual(phones)
  })

  it.each([
    'ИНН 1655123456',
    'ИНН/КПП 1655123456/165501001',
    'ОГРН 1121690012345',
    'ОГРНИП 304165512345678',
    'р/с 40702810900000012345',
    'IBAN DE89 3704 0044 0532 0130 00',
    'Заказ № 84320001012',
    'Артикул 89172000101',
    '12.05.2023 10:00',
    '2010-2024',
    'с 2010 по 2024',
    'от 18 500 до 23 000 рублей',
    '8 900 000 руб.',
    '1 250 000 ₽',
    'Лицензия 8432000101 от 01.02.2003',
    'шифр A89172000101',
    '4600123456789',
    'logo@89172000101',
  ])('finds no number: %s', text => {
    expect(read(text)).toEqual([])
  })

  it('returns E.164 numbers with their position, and never throws', () => {
    const bits = fc.constantFrom(
      '+',
      '7',
      '8',
      '(',
      ')',
      ' ',
      '-',
      '/',
      ',',
      '843',
      '200',
      '01',
      'тел. ',
      'факс ',
      '№',
      '.',
      'доб. ',
      '\u00a0',
    )
    fc.assert(
      fc.property(fc.array(bits, { maxLength: 60 }), fc.constantFrom('RU', 'US', 'GB', null, 'ZZ'), (parts, region) => {
        const text = parts.join('')
        for (const { phone, start, end } of phonesIn(text, '', region).found) {
          expect(phone).toMatch(/^\+[1-9]\d{6,14}$/)
          expect(start >= 0 && end > start && end <= text.length).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['digits', '1'.repeat(200_000)],
    ['digits and spaces', '1 '.repeat(100_000)],
    ['pluses', '+7 '.repeat(60_000)],
    ['brackets', '(8'.repeat(100_000)],
    ['labels', 'тел. факс 8 '.repeat(20_000)],
  ])('bounds the time for %s', (_, text) => {
    expect(effortOf(() => phonesIn(text, '', 'RU'))).toBeLessThan(1500)
  })
})

describe('of a page', () => {
  it('marks a fax, and offers tel./fax', () => {
    const { offered, faxes } = ofHtml(
      '<p>Тел.: 8 (843) 200-01-01</p><p>Факс: 8 (843) 200-01-02</p><p>Тел./факс: 8 (843) 200-01-03</p>',
    )
    expect(offered.map(one => one.phone)).toEqual(['+78432000101', '+78432000103'])
    expect(faxes).toEqual(['+78432000102'])
  })

  it('excludes numbers of authorities and web agencies', () => {
    expect(
      offered(
        '<p>Роспотребнадзор: 8 (843) 200-01-02</p><p>Разработка сайта: 8 (843) 200-01-03</p><p>8 (843) 200-01-01</p>',
      ),
    ).toEqual(['+78432000101'])
  })

  it('prefers numbers of the page frame to departments', () => {
    expect(
      offered('<p>Бухгалтерия: 8 (843) 200-01-02</p><header><a href="tel:+78432000101">позвонить</a></header>'),
    ).toEqual(['+78432000101', '+78432000102'])
  })

  it.each([
    ['a tel: link', '<a href="tel:+7%20843%20200-01-01"></a>'],
    ['WhatsApp', '<a href="https://wa.me/78432000101?text=x">WA</a>'],
    ['WhatsApp’s other address', '<a href="https://api.whatsapp.com/send/?phone=78432000101">WA</a>'],
    ['Viber', '<a href="viber://chat?number=%2B78432000101">V</a>'],
    ['the text of a picture', '<img src="p.png" alt="8 (843) 200-01-01">'],
    ['a label for readers', '<button aria-label="Позвонить +78432000101"></button>'],
    ['tags between digits', '<b>8</b> <i>(843)</i> <span>200</span>-<span>01</span>-<span>01</span>'],
    ['lines', '<p>Тел.<br>8 (843)<br>200-01-01</p>'],
    ['entities', '8&nbsp;&#40;843&#41;&nbsp;200&#8209;01&#8209;01'],
    ['a title', '<img src="call.gif" title="8 (843) 200-01-01" alt="">'],
    ['cells', '<table><tr><td>Телефоны:</td><td>8 (843) 200-01-01</td></tr></table>'],
    ['a term', '<dl><dt>Тел.</dt><dd>8(843)200-01-01 (многоканальный)</dd></dl>'],
    [
      'a page of JSON',
      '<script type="application/json">{"contacts":{"tel":"8 843 200-01-01","id":89172000101}}</script>',
    ],
    ['a description', '<meta name="description" content="Тел. 8 843 200-01-01">'],
    ['JSON-LD', '<script type="application/ld+json">{"@type":"Dentist","telephone":"8 843 200-01-01"}</script>'],
    [
      'broken JSON-LD',
      '<script type="application/ld+json">{"@type":"Dentist","telephone":"8 843 200-01-01","name":"x"y",}</script>',
    ],
    [
      'microdata',
      '<div itemscope itemtype="http://schema.org/Store"><meta itemprop="telephone" content="84320 0-01-01 "></div>'.replace(
        '84320 0-01-01',
        '8 843 200-01-01',
      ),
    ],
    ['a town’s code that others have', '<p>Приёмная: тел. 200-01-01</p><p>Тел. (843) 200-01-01</p>'],
  ])('%s', (_, html) => {
    expect(offered(html)).toEqual(['+78432000101'])
  })

  it('prefers reception and fixed lines', () => {
    const hotel =
      '<div itemscope itemtype="http://schema.org/Hotel"><p>Стойка администратора: <b itemprop="telephone">8 (843) 200-01-01</b></p><p>Отдел бронирования: <b itemprop="telephone">8 (843) 200-01-02</b></p></div>'
    expect(offered(hotel)).toEqual(['+78432000101', '+78432000102'])
    const picture = '<img title="8 (843) 200-01-01"><p>8.917.200.01.02 Ильнур, замеры</p>'
    expect(offered(picture)).toEqual(['+78432000101', '+79172000102'])
  })

  it('has no main number in a directory of two hundred', () => {
    const list = Array.from({ length: 200 }, (_, n) => `<li>Фирма ${n}: +7 (843) 215-0${n + 100}`).join('')
    expect(ofHtml(`<ul>${list}</ul>`)).toEqual({ offered: [], faxes: [], directory: true })
    expect(offered(`<header>8 (843) 200-01-01</header><ul>${list}</ul>`)).toEqual(['+78432000101'])
  })
})
