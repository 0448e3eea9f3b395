import { describe, expect, it } from 'vitest'
import { companyOf } from '../../../../control/outreach/leads/sources/company-name.ts'
import { isList, isNoCompany } from '../../../../control/outreach/leads/sources/not-companies.ts'
import { effortOf } from '../../../support/effort.ts'
import { until } from '../../../support/world.ts'
import { all, openSearxng } from './rig.ts'

const brief = { niche: 'стоматология', geo: 'Казань', queries: ['стоматология Казань', 'dentist Kazan'] }
const result = (url: string, title: string, content = '') => ({ url, title, content })

describe('companies from web search', () => {
  it('are unique sites by registered domain, ranked by all queries', async () => {
    const { source, server } = await openSearxng({
      'стоматология Казань': [
        [
          result(
            'https://www.beliy-klyk.ru/uslugi/implant?utm=1',
            'Имплантация зубов | Стоматология «Белый клык» | Казань',
            'Звоните!',
          ),
          result('https://zoon.ru/kazan/dent', 'Стоматологии Казани'),
          result('http://smile.com.ru/', 'Улыбка - стоматология в Казани'),
        ],
        [result('https://late.example/', 'Late Dental')],
      ],
      'dentist Kazan': [
        [result('https://m.beliy-klyk.ru/', 'Beliy Klyk'), result('https://dent-kzn.tilda.ws/', 'Дент | Казань')],
      ],
    })
    const found = await all(source, brief)
    expect(found.map(({ key, website }) => [key, website])).toEqual([
      ['beliy-klyk.ru', 'https://www.beliy-klyk.ru/'],
      ['smile.com.ru', 'http://smile.com.ru/'],
      ['dent-kzn.tilda.ws', 'https://dent-kzn.tilda.ws/'],
      ['late.example', 'https://late.example/'],
    ])
    expect(found.map(({ company }) => company)).toEqual(['Стоматология «Белый клык»', 'Улыбка', 'Дент', 'Late Dental'])
    expect(found[0]).toMatchObject({ facts: { snippet: 'Звоните!' }, phones: [], address: null })
    expect(server.requests.map(({ query, page }) => `${query} ${page}`)).toEqual([
      'стоматология Казань 1',
      'dentist Kazan 1',
      'стоматология Казань 2',
      'dentist Kazan 2',
      'стоматология Казань 3',
    ])
  })

  it('are searched by niche and place without queries', async () => {
    const { source, server } = await openSearxng({})
    expect(await all(source, { ...brief, queries: [] })).toEqual([])
    expect(server.requests.map(({ query }) => query)).toEqual(['стоматология Казань'])
  })

  it('exclude directories, maps, networks, markets, authorities and articles', async () => {
    const urls =
      `https://2gis.ru/kazan/x https://www.yelp.com/biz/x https://uk.trustpilot.com/review/x https://vk.com/dent
      https://ru.wikipedia.org/wiki/x https://maps.google.de/x https://www.tripadvisor.co.nz/x https://avito.ru/x
      https://minzdrav.gov.ru/x https://yandex.ru/maps/x https://prodoctorov.ru/kazan/ https://t.me/dent javascript:alert(1)
      https://user@evil.example/ ftp://files.example/ nonsense http://localhost/`.split(/\s+/)
    const articles = [
      '10 best dentists in Kazan',
      'Топ-20 стоматологий',
      'Рейтинг стоматологий Казани',
      'Лучшие клиники города',
    ]
    const { source } = await openSearxng({
      '*': [
        [
          ...urls.map(url => result(url, 'Clinic')),
          ...articles.map((title, i) => result(`https://blog${i}.example/`, title)),
        ],
      ],
    })
    expect(await all(source, brief)).toEqual([])
    for (const host of [
      'gov-dental.example',
      'yelping-dogs.example',
      'mosaic.ru',
      'xn----7sbbagpcl3agbmlr4ad5g.xn--p1ai',
    ]) {
      expect(isNoCompany(host), host).toBe(false)
    }
    for (const title of ['Best Smile Dental', 'Стоматология Топ Дент', 'The Dentist'])
      expect(isList(title), title).toBe(false)
  })
})

describe('a failing server', () => {
  it.each([
    ['429', 'overloaded'],
    ['500', 'overloaded'],
    ['forbidden', 'bad_answer'],
    ['html', 'bad_answer'],
    ['other_json', 'bad_answer'],
    ['endless', 'bad_answer'],
    ['no_engine', 'overloaded'],
  ] as const)('%s is %s', async (fault, code) => {
    const { source, server } = await openSearxng({})
    server.fail(fault, 100)
    await expect(all(source, brief)).rejects.toMatchObject({ code })
    expect(server.requests.length).toBeLessThan(7)
  })

  it('stops on abort', async () => {
    const { source, server } = await openSearxng({})
    const gone = new AbortController()
    server.fail('silent')
    const given = expect(all(source, brief, gone.signal)).rejects.toThrow('canceled')
    await until(() => server.requests.length === 1)
    gone.abort(new Error('canceled'))
    await given
  })

  it('tolerates any answer', async () => {
    const hostile = [
      result(`https://a.example/${'x'.repeat(10_000)}`, 'too long an address'),
      result('https://b.example/', `\u0000\u202eЗло ${'ы'.repeat(100_000)}`, 'y'.repeat(100_000)),
      { url: 5, title: [] } as unknown as { url: string; title: string },
      result('https://c.example/', ''),
    ]
    const { source } = await openSearxng({ '*': [hostile] })
    const found = await all(source, brief)
    expect(found.map(({ website }) => website)).toEqual(['https://b.example/', 'https://c.example/'])
    expect(found[1]!.company).toBe('C')
    expect(JSON.stringify(found).length).toBeLessThan(1500)
  })
})

describe('the name of a company', () => {
  it.each([
    ['Clinic Bright | Kazan | Book now', 'bright.example', 'Clinic Bright'],
    ['Лечение зубов в Казани недорого — Дентал Форте', 'dental-forte.ru', 'Дентал Форте'],
    ['Стоматология в Казани', 'zhemchuzhina.ru', 'Zhemchuzhina'],
    ['Главная - Жемчужина', 'zhemchuzhina.ru', 'Жемчужина'],
    ['Добро пожаловать в Ак Барс Дент. Официальный сайт', 'akbars-dent.ru', 'Ак Барс Дент'],
    ['Home', 'granite-smile.co.uk', 'Granite smile'],
    ['Dentist Kazan: Harbour Dental', 'harbourdental.example', 'Harbour Dental'],
    ['Контакты', 'xn--80aacl7asl.xn--p1ai', 'Казань'],
  ])('of “%s” at %s is %s', (title, host, expected) => {
    const name = companyOf({ title, host, niche: 'стоматология dentist', geo: 'Казань Kazan' })
    if (host.startsWith('xn--')) expect(name).toMatch(/^\p{Script=Cyrillic}+$/u)
    else expect(name).toBe(expected)
  })

  it('is extracted in bounded time', () => {
    const title = 'а | б - в . Г '.repeat(10_000)
    expect(effortOf(() => companyOf({ title, host: `${'a'.repeat(60)}.example`, niche: 'x', geo: 'y' }))).toBeLessThan(
      50,
    )
  })
})
