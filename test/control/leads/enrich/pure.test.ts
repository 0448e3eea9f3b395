/** Hours, signals, scores, exclusions and identities as tables; and properties that hold for any page. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readSite } from '../../../../control/knowledge/extract/site.ts'
import { identityOf } from '../../../../control/outreach/leads/enrich/dedupe.ts'
import { emailsOf } from '../../../../control/outreach/leads/enrich/emails.ts'
import { weigh } from '../../../../control/outreach/leads/enrich/enricher.ts'
import { closedBy, excludedBy } from '../../../../control/outreach/leads/enrich/exclude.ts'
import { isOpenAfter, isRoundTheClock, readHours } from '../../../../control/outreach/leads/enrich/hours.ts'
import type { ReadPage } from '../../../../control/outreach/leads/enrich/phones.ts'
import { organisationsOf } from '../../../../control/outreach/leads/enrich/schema-org.ts'
import { readSignal } from '../../../../control/outreach/leads/vocabulary/signals.ts'
import { effortOf } from '../../../support/effort.ts'
import { candidate, question } from './rig.ts'

const pageOf = (html: string): ReadPage => ({
  url: 'http://site.example/',
  role: 'start',
  page: readSite(html, 'http://site.example/'),
})
const weighed = (html: string, signals: string[] = [], of: Parameters<typeof candidate>[0] = {}) =>
  weigh(
    candidate({ website: 'http://site.example/', ...of }),
    question(signals),
    { id: 'openstreetmap' },
    { pages: [pageOf(html)], problem: null },
    2025,
  )

/** Days as 9-18; `x`: closed; `?`: unknown. */
const shown = (text: string) =>
  readHours(text)
    ?.map(day =>
      day === null ? '?' : day.length === 0 ? 'x' : day.map(range => range.map(at => at / 60).join('-')).join('+'),
    )
    .join(' ') ?? null

describe('opening hours', () => {
  it.each([
    ['Пн-Пт 9:00-19:00, Сб 10:00-16:00, Вс - выходной', '9-19 9-19 9-19 9-19 9-19 10-16 x'],
    ['Mo-Fr 09:00-18:00; Sa 10:00-15:00; Su off', '9-18 9-18 9-18 9-18 9-18 10-15 x'],
    ['Mo-Fr 09:00-12:00,13:00-18:00', '9-12+13-18 9-12+13-18 9-12+13-18 9-12+13-18 9-12+13-18 ? ?'],
    ['Ежедневно, кроме воскресенья, с 9 до 20', '9-20 9-20 9-20 9-20 9-20 9-20 x'],
    ['будни 12:00-21:00, выходные 9:00-21:00', '12-21 12-21 12-21 12-21 12-21 9-21 9-21'],
    ['вторник–суббота, 10:00–17:00. Воскресенье, понедельник — выходные дни.', 'x 10-17 10-17 10-17 10-17 10-17 x'],
    ['Mon–Thu 8–6, Sat 9–3, closed Fri & Sun', '8-18 8-18 8-18 8-18 x 9-15 x'],
    ['Mon-Fri 8 AM - 6 PM. Closed weekends', '8-18 8-18 8-18 8-18 8-18 x x'],
    ['Fr, Sa 20:00-02:00', '? ? ? ? 20-26 20-26 ?'],
    ['Mo–Fr 10–19 Uhr, Sa 10–16 Uhr', '10-19 10-19 10-19 10-19 10-19 10-16 ?'],
    ['Работаем 24/7', '0-24 0-24 0-24 0-24 0-24 0-24 0-24'],
    ['Open daily 7am – 11pm', '7-23 7-23 7-23 7-23 7-23 7-23 7-23'],
    ['Заезд 14:00, выезд 12:00', null],
    ['+7 (843) 200-01-01', null],
    ['Do you need help? We do it.', null],
    ['', null],
  ])('%s', (text, week) => {
    expect(shown(text)).toBe(week)
  })

  it('after midnight and round the clock', () => {
    expect(isOpenAfter(readHours('Fr 20:00-02:00')!, 24 * 60 + 60)).toBe(true)
    expect(isOpenAfter(readHours('Fr 20:00-23:00')!, 23 * 60)).toBe(false)
    expect(isRoundTheClock(readHours('Mo-Su 00:00-24:00')!)).toBe(true)
  })

  it('of anything: never throws, and is cheap', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), text => void readHours(text)),
      { numRuns: 300 },
    )
    expect(effortOf(() => readHours('пн-пт 9-'.repeat(50_000)))).toBeLessThan(300)
  })
})

describe('signals', () => {
  it.each([
    ['онлайн-запись', { type: 'known', known: 'online_booking' }],
    ['has a website', { type: 'known', known: 'website' }],
    ['работает в воскресенье', { type: 'days', days: [6], all: true }],
    ['open on weekends', { type: 'days', days: [5, 6], all: false }],
    ['open 24/7', { type: 'round_the_clock' }],
    ['работает после 22:00', { type: 'open_after', minute: 1320 }],
    ['open until 2am', { type: 'open_after', minute: 1559 }],
    ['более 5 филиалов', { type: 'branches', over: 5 }],
    ['English-speaking', { type: 'languages', languages: ['en'] }],
    ['ships nationwide', { type: 'known', known: 'nationwide' }],
    ['принимает карты', { type: 'known', known: 'cards' }],
    ['бассейн', { type: 'words', stems: ['бассейн'], least: null }],
  ])('%s', (text, matter) => {
    expect(readSignal(text)).toEqual({ signal: text, inverted: false, matter })
  })

  it.each([
    ['парковка', '<p>Есть своя парковка.</p>', true],
    ['парковка', '<p>Парковки нет.</p>', false],
    ['парковка', '<p>К сожалению, без парковки.</p>', false],
    ['online booking', '<button>Book online</button>', true],
    ['online booking', '<p>We have no online booking.</p>', false],
    ['online booking', '<script src="https://w.yclients.com/widget.js"></script><p>Hi</p>', true],
    ['без онлайн-записи', '<p>Приходите без звонка.</p>', true],
    ['без онлайн-записи', '<p>Онлайн-запись на сайте.</p>', false],
    ['детский бассейн', '<p>Бассейн.</p><p>Детская комната.</p>', false],
    ['детский бассейн', '<h2>Бассейны для детей и детские горки</h2>', true],
    ['опыт более 10 лет', '<p>Наш опыт — 15 лет</p>', true],
    ['опыт более 10 лет', '<p>Опыт 3 года и 5 лет</p>', false],
    ['более 2 филиалов', '<p>12 филиалов в городе</p>', true],
    ['более 20 филиалов', '<p>12 филиалов в городе</p>', false],
    ['парковка', '<p>Не только парковка, но и мойка.</p>', true],
  ])('%s: %s', (signal, html, present) => {
    const found = weighed(html, [signal]).signals[0]!
    expect(found.present).toBe(present)
    expect(found.evidence === null).toBe(!present)
  })

  it('of the source’s facts, and the site absent', () => {
    const of = { website: null, facts: { wheelchair: 'yes', opening_hours: 'Mo-Sa 09:00-18:00' } }
    const asked = question(['wheelchair access', 'no website', 'open on Sundays', 'open on Saturdays'])
    const lead = weigh(candidate(of), asked, { id: 'openstreetmap' }, { pages: [], problem: null }, 2025)
    expect(lead.signals.map(one => one.present)).toEqual([true, true, false, true])
    expect(lead.signals[0]).toMatchObject({ evidence: 'wheelchair: yes', where: 'openstreetmap node/1' })
  })
})

describe('e-mail', () => {
  const emails = (html: string) => {
    const page = pageOf(html)
    return emailsOf([page], new Map([[page, organisationsOf(page.page)]]))
  }

  it.each([
    ['info@site.example', ['info@site.example']],
    ['info [at] site [dot] example', ['info@site.example']],
    ['info (собака) site.example', ['info@site.example']],
    ['inf&#111;&#64;site.example', ['info@site.example']],
    ['info @ site.example', ['info@site.example']],
    ['<a href="mailto:info%40site.example?subject=x">пишите</a>', ['info@site.example']],
    ['<span data-cfemail="422b2c242d02312b362767263a233a"></span>', []],
    ['logo@2x.png, name@example.com, a@b', []],
    ['some@gmail.example и info@site.example', ['info@site.example', 'some@gmail.example']],
  ])('%s', (html, found) => {
    expect(emails(`<p>${html}</p>`)).toEqual(found)
  })
})

describe('one company', () => {
  const of = (company: string, address: string | null, phones: string[] = [], website: string | null = null) =>
    identityOf({ company, address, phones, website })

  it('by name and address, however they are written', () => {
    expect(of('ООО «Ромашка»', 'г. Казань, ул. Баумана, д. 5')).toEqual(of('Ромашка', 'Баумана 5, Казань, 420111'))
    expect(of('The Granite Ltd.', '12 Union Street, Aberdeen')).toEqual(of('Granite', 'Aberdeen, 12 Union St'))
    expect(of('Ромашка', 'Казань, Баумана, 5')).not.toEqual(of('Ромашка', 'Казань, Баумана, 7'))
    expect(of('Ромашка', null)).toEqual([])
    expect(of('ООО', 'Казань, Баумана, 5')).toEqual(['n:ооо|5 баумана казань'])
  })

  it('by domain, unless many share it', () => {
    expect(of('', null, [], 'https://www.shop.romashka.ru/kazan')).toEqual(['d:romashka.ru'])
    expect(of('', null, [], 'https://vk.com/romashka')).toEqual(['d:vk.com/romashka'])
    expect(of('', null, [], 'https://vk.com/')).toEqual([])
    expect(of('', null, [], 'https://romashka.taplink.ws/')).toEqual(['d:romashka.taplink.ws'])
  })
})

describe('exclusions', () => {
  it.each([
    ['Улыбка', { company: 'ООО «Улыбка»' }, true],
    ['клиники «Улыбка»', { company: 'Улыбка' }, true],
    ['клиники Улыбка', { company: 'ООО «Улыбка»' }, true],
    ['стоматологические клиники', { company: 'Клиника Улыбка' }, false],
    ['кроме Улыбки', { company: 'Стоматология Улыбка' }, true],
    ['Улыбка', { company: 'Ромашка' }, false],
    ['рестораны', { company: 'Ресторан Волга' }, true],
    ['romashka.ru', { website: 'https://www.romashka.ru/a' }, true],
    ['romashka.ru', { website: 'https://not-romashka.ru/' }, false],
    ['сети', { facts: { brand: 'Инвитро' } }, true],
    ['без франшиз', { facts: {} }, false],
    ['pharmacy', { facts: { amenity: 'pharmacy' } }, true],
    ['', {}, false],
  ])('%s', (exclusion, of, isOut) => {
    expect(excludedBy(candidate(of), [exclusion], false) !== null).toBe(isOut)
  })

  it('a chain by its branches; what is closed', () => {
    expect(excludedBy(candidate(), ['chains'], true)).toMatch(/branches/)
    expect(closedBy({ 'disused:shop': 'yes' })).toMatch(/closed/)
    expect(closedBy({ opening_hours: 'Mo-Fr 09:00-18:00; Su off' })).toBeNull()
  })
})

describe('any page', () => {
  it('of any length keeps its beginning and its foot', () => {
    const lead = weighed(
      `<p>8 (843) 200-01-01</p>${'<p>текст</p>'.repeat(3000)}${`<p>${'слово '.repeat(200)}</p>`.repeat(200)}<footer>8 (843) 200-01-02</footer>`,
    )
    expect(lead.phones.toSorted()).toEqual(['+78432000101', '+78432000102'])
  })

  it('gives a lead: a score within bounds, whose reasons add up, E.164 alone, evidence that is quoted', () => {
    const bits = fc.constantFrom(
      '<p>',
      '</div>',
      '<a href="tel:',
      '">',
      '8 (843) 200-01-01',
      ' факс ',
      '<script type="application/ld+json">',
      '{"@type":"Store","telephone":',
      '</script>',
      'парковка',
      ' нет ',
      '<img alt="',
      '@',
      'info',
      '.example',
      '<table><tr><td>',
      'Пн-Пт 9-18',
      '\u0000',
      '&#x110000;',
      '<div itemscope itemprop="a">',
      '©2024',
    )
    fc.assert(
      fc.property(fc.array(bits, { maxLength: 40 }), parts => {
        const lead = weighed(parts.join(''), ['парковка', 'работает в среду', 'no website'])
        expect(lead.score >= 0 && lead.score <= 100 && Number.isInteger(lead.score)).toBe(true)
        expect(lead.score).toBe(
          Math.min(
            100,
            Math.max(
              0,
              lead.reasons.reduce((sum, one) => sum + one.points, 0),
            ),
          ),
        )
        for (const phone of lead.phones) expect(phone).toMatch(/^\+[1-9]\d{6,14}$/)
        for (const { evidence } of lead.signals) expect(evidence === null || evidence.length <= 300).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('of any kind costs bounded work', () => {
    const asked = [
      'онлайн-запись',
      'парковка',
      'работает в воскресенье',
      'English-speaking',
      'детский бассейн',
      'более 5 филиалов',
    ]
    for (const html of [
      `<p>${'8 (843) 200-01-01 '.repeat(20_000)}</p>`,
      '<p>Пн-Пт 9:00-18:00, ул. Баумана, 5, парковки нет</p>'.repeat(5000),
      `<p>${'слово '.repeat(60_000)}</p>`,
      `<p>${'a@'.repeat(150_000)}</p>`,
      `<p>${'a.'.repeat(150_000)}</p>`,
      `<p>${'Ул. А'.repeat(60_000)}</p>`,
      `<script type="application/ld+json">${'{"@type":"Store","a":'.repeat(10_000)}</script>`,
      `<script type="application/ld+json">${'[{"telephone":"1"},'.repeat(15_000)}</script>`,
    ]) {
      const page = pageOf(html)
      const visit = { pages: [page], problem: null }
      const run = () => weigh(candidate(), question(asked), { id: 'openstreetmap' }, visit, 2025)
      const effort = effortOf(run)
      console.log(`${html.slice(0, 30)}… ${Math.round(effort)} ms`)
      expect(effort).toBeLessThan(3000)
    }
  })
})
