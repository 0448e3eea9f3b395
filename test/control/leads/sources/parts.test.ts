import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { retryAfterMs } from '../../../../control/outreach/leads/sources/ask.ts'
import { cleanLine, emailsOf, phonesOf, websiteOf } from '../../../../control/outreach/leads/sources/clean.ts'
import { areaOf } from '../../../../control/outreach/leads/sources/nominatim.ts'
import { quarters, tilesOf } from '../../../../control/outreach/leads/sources/tiles.ts'
import { registrableDomain } from '../../../../control/outreach/leads/vocabulary/domain.ts'
import { stem } from '../../../../control/outreach/leads/vocabulary/words.ts'
import { effortOf } from '../../../support/effort.ts'

describe('tiles', () => {
  const box = fc
    .record({
      south: fc.double({ min: -85, max: 84, noNaN: true }),
      west: fc.double({ min: -180, max: 179, noNaN: true }),
      height: fc.double({ min: 0.0001, max: 80, noNaN: true }),
      breadth: fc.double({ min: 0.0001, max: 360, noNaN: true }),
    })
    .map(({ south, west, height, breadth }) => ({
      south,
      west,
      north: Math.min(90, south + height),
      east: Math.min(180, west + breadth),
    }))
  const size = ({ south, west, north, east }: { south: number; west: number; north: number; east: number }) =>
    (north - south) * (east - west)

  it('cover the box, and no more than it, in a bounded number', () => {
    fc.assert(
      fc.property(box, whole => {
        const tiles = tilesOf({ box: whole, lat: whole.south, lon: whole.west })
        expect(tiles.length).toBeLessThan(900)
        expect(tiles.reduce((sum, tile) => sum + size(tile), 0)).toBeCloseTo(size(whole), 4)
        for (const tile of tiles) {
          expect(tile.south >= whole.south && tile.north <= whole.north && tile.west >= whole.west).toBe(true)
        }
      }),
    )
  })

  it('begin in the middle of what was named', () => {
    const russia = { box: { south: 41, north: 82, west: -180, east: 180 }, lat: 64, lon: 97 }
    const [first] = tilesOf(russia)
    expect(first!.south <= 64 && first!.north >= 64 && first!.west <= 97 && first!.east >= 97).toBe(true)
  })

  it('are cut in quarters until there is no room', () => {
    let box = { south: 55, west: 49, north: 56, east: 50 }
    let cuts = 0
    for (let next = quarters(box); next; next = quarters(box), cuts++) box = next[0]!
    expect(cuts).toBe(9)
  })
})

describe('what strangers wrote', () => {
  it.each([
    ['+7 843 212-34-56; 8 (843) 212-34-57', ['+7 843 212-34-56', '8 (843) 212-34-57']],
    ['тел./факс: 212-34-56', ['212-34-56']],
    ['факс 212-34-57', []],
    ['212-34-56, доб. 12, +7 843 212-34-57', ['212-34-56, доб. 12', '+7 843 212-34-57']],
    ['https://wa.me/78432123456', ['78432123456']],
    ['https://t.me/user123456', []],
    ['с 9 до 18', []],
    ['администратор +7 843 212-34-56', ['+7 843 212-34-56']],
  ])('%s has the numbers %j', (text, expected) => {
    expect(phonesOf([text])).toEqual(expected)
  })

  it.each([
    ['klyk.ru', 'http://klyk.ru/'],
    ['//klyk.ru/a', 'http://klyk.ru/a'],
    ['HTTPS://Клык.РФ', 'https://xn--j1aac8d.xn--p1ai/'],
    ['klyk.ru; dent.ru', 'http://klyk.ru/'],
    ['javascript:alert(1)', null],
    ['mailto:a@b.ru', null],
    ['нет', null],
    ['http://user:pass@klyk.ru', null],
  ])('%s is the website %s', (text, expected) => {
    expect(websiteOf(text)).toBe(expected)
  })

  it('has e-mails in small letters, each once', () => {
    expect(emailsOf(['mailto:Info@Klyk.ru, info@klyk.ru; нет@', 'a@b'])).toEqual(['info@klyk.ru'])
  })

  it('is read without much work, however long it is', () => {
    for (const piece of ['+7', '1 ', '(', 'тел/факс ', 'a@', 'факс;', '\u0000', 'стоматологический']) {
      const text = piece.repeat(200_000)
      const work = effortOf(() => [phonesOf([text]), emailsOf([text]), websiteOf(text), cleanLine(text), stem(text)])
      expect(work, piece).toBeLessThan(400)
    }
  })
})

describe('a domain', () => {
  it.each([
    ['www.klyk.ru', 'klyk.ru'],
    ['a.b.co.uk', 'b.co.uk'],
    ['shop.klyk.com.ru.', 'klyk.com.ru'],
    ['one.tilda.ws', 'one.tilda.ws'],
    ['klyk.ru', 'klyk.ru'],
    ['127.0.0.1', '127.0.0.1'],
    ['localhost', 'localhost'],
    ['[::1]', '[::1]'],
  ])('%s was registered as %s', (host, expected) => {
    expect(registrableDomain(host)).toBe(expected)
  })
})

describe('a stem', () => {
  it.each([
    'Казань Казани Казанью',
    'Набережные Набережных',
    'Пермь Перми',
    'стоматология стоматологий стоматологии',
    'автосервис автосервисы автосервисов',
    'кофейня кофейни кофеен',
    'пекарня пекарен пекарнях',
    'химчистка химчисток',
    'bakery bakeries',
    'clinic clinics clinic’s',
  ])('is one: %s', forms => {
    expect(new Set(forms.split(' ').map(stem)).size).toBe(1)
  })

  it('is not one where the words are others', () => {
    expect(new Set(['Казань', 'Казахстан', 'казино', 'клиника', 'клинок', 'bar', 'barber'].map(stem)).size).toBe(7)
  })
})

describe('what the geocoder knows', () => {
  const found = (more: object) => ({
    osm_type: 'relation',
    osm_id: 1,
    lat: 55,
    lon: 49,
    category: 'boundary',
    type: 'administrative',
    name: 'x',
    display_name: 'x',
    address: { country_code: 'ru' },
    boundingbox: [54, 56, 48, 50] as [number, number, number, number],
    ...more,
  })

  it('is taken in its order, a settlement before anything else', () => {
    expect(areaOf([found({ category: 'shop', osm_id: 5 }), found({ osm_id: 7 }), found({ osm_id: 8 })])?.osm?.id).toBe(
      7,
    )
    expect(areaOf([found({ category: 'highway', osm_id: 5 })])).toMatchObject({ osm: null, country: 'RU' })
    expect(areaOf([])).toBeNull()
  })
})

describe('Retry-After', () => {
  it.each([
    ['5', 5000],
    ['100000', 60_000],
    ['Thu, 01 Jan 1970 00:00:30 GMT', 20_000],
    ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
    ['soon', null],
  ])('of %s', (header, expected) => {
    const answer = { status: 429, headers: { 'retry-after': header }, body: Buffer.alloc(0), url: '' }
    expect(retryAfterMs(answer, 10_000)).toBe(expected)
  })
})
