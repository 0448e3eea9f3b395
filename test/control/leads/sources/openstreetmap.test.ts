import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createGeocoder } from '../../../../control/outreach/leads/sources/nominatim.ts'
import { createOverpassSource } from '../../../../control/outreach/leads/sources/overpass.ts'
import {
  escapedRegex,
  overpassQuery,
  quoted,
  selectionsOf,
} from '../../../../control/outreach/leads/sources/overpass-ql.ts'
import { readPhone } from '../../../../control/platform/phone.ts'
import { createSafeFetch } from '../../../../infra/adapters/safe-fetch.ts'
import { type Place, places } from '../../../corpus/leads/places.ts'
import { parseOverpass } from '../../../support/overpass-ql.ts'
import { until } from '../../../support/world.ts'
import { hurriedClock } from '../../knowledge/crawl/site.ts'
import { all, never, openOsm, question } from './rig.ts'

const wanted = (city: Place['city'], kind: string) =>
  places.filter(place => place.city === city && place.kind === kind && !place.gone)
const keyOf = ({ type, id }: Place) => `${type}/${id}`

describe('companies of OpenStreetMap', () => {
  it('match niche and place, open and named', async () => {
    const { source } = await openOsm()
    for (const [niche, geo, city, kind] of [
      ['стоматологии', 'Казань', 'kazan', 'dentist'],
      ['dentists', 'Aberdeen', 'aberdeen', 'dentist'],
      ['автосервисы', 'Казань', 'kazan', 'car_repair'],
      ['hotels', 'Aberdeen', 'aberdeen', 'hotel'],
      ['цветочные магазины', 'Казань', 'kazan', 'florist'],
      ['furniture stores', 'Aberdeen', 'aberdeen', 'furniture'],
    ] as const) {
      const found = await all(source, { niche, geo })
      expect(found.map(({ key }) => key).sort(), niche).toEqual(wanted(city, kind).map(keyOf).sort())
    }
  })

  it('have phones of every tag, without fax', async () => {
    const { source } = await openOsm()
    const truth = new Map(places.map(place => [keyOf(place), place.phones]))
    let numbers = 0
    for (const [geo, region, niches] of [
      ['Казань', 'RU', ['аптеки', 'кафе', 'рестораны', 'юристы', 'пекарни', 'оптика', 'ветклиники', 'фитнес']],
      ['Aberdeen', 'GB', ['pharmacies', 'cafes', 'restaurants', 'lawyers', 'bakeries', 'opticians', 'vets', 'gyms']],
    ] as const) {
      for (const niche of niches) {
        const found = await all(source, { niche, geo })
        expect(found.length, niche).toBeGreaterThan(4)
        for (const { key, phones } of found) {
          expect(
            phones.map(phone => readPhone(phone, region)),
            key,
          ).toEqual(truth.get(key))
          numbers += phones.length
        }
      }
    }
    expect(numbers).toBeGreaterThan(90)
  })

  it('have all fields, the most complete first', async () => {
    const { source } = await openOsm({ sites: { 'kazan/dentist/1': 'http://dental-light.example/' } })
    const found = await all(source, { niche: 'стоматология', geo: 'Казань' })
    const light = found.find(({ company }) => company === 'Дент-А-Лайт')!
    expect(light).toMatchObject({
      website: 'http://dental-light.example/',
      country: 'RU',
      geo: { lat: expect.any(Number) },
    })
    expect(light.address).toBe('Казань, проспект Победителей, 2')
    expect(light.facts).toMatchObject({ amenity: 'dentist', opening_hours: expect.stringContaining('Mo-Fr') })
    expect(Object.keys(light.facts).filter(key => /phone|website|addr|^name/.test(key))).toEqual([])
    const withPhone = found.map(({ phones }) => phones.length > 0)
    expect(withPhone.toSorted((a, b) => Number(b) - Number(a))).toEqual(withPhone)
    const [practice] = (await all(source, { niche: 'dentist', geo: 'Aberdeen' })).filter(({ company }) =>
      /Union/.test(company),
    )
    expect(practice).toMatchObject({
      address: '64 Quayside Road, AB13 0QX',
      country: 'GB',
      website: 'https://p153.example/',
    })
  })

  it('are found by name when the niche is unknown', async () => {
    const { source, server } = await openOsm()
    const found = await all(source, { niche: 'чак-чак', geo: 'Казань' })
    expect(found.map(({ company }) => company)).toEqual(['Чак-Чак'])
    expect(server.requests.at(-1)!.query).toContain('["name"~"чак",i]')
    await expect(all(source, { niche: '!!', geo: 'Казань' })).rejects.toMatchObject({ code: 'unknown_niche' })
  })

  it('are in a stable order', async () => {
    const { source } = await openOsm()
    const ask = async () => (await all(source, { niche: 'кафе', geo: 'Татарстан' })).map(({ key }) => key)
    const first = await ask()
    expect(first.length).toBeGreaterThan(4)
    expect(await ask()).toEqual(first)
  })

  it('identifies itself by User-Agent', async () => {
    const { source, server } = await openOsm()
    await all(source, { niche: 'кафе', geo: 'Казань' })
    expect(server.requests.map(({ service }) => service)).toEqual(['nominatim', 'overpass'])
    for (const { headers } of server.requests) expect(headers['user-agent']).toMatch(/^Parley\/.*parley\.example/)
  })
})

describe('a large area', () => {
  it('is split into tiles without duplicates or loss', async () => {
    const { source, server } = await openOsm()
    const found = await all(source, { niche: 'рестораны', geo: 'Татарстан' })
    const asked = server.requests.filter(({ service }) => service === 'overpass').length
    expect(asked).toBeGreaterThan(10)
    expect(found.map(({ key }) => key).sort()).toEqual(wanted('kazan', 'restaurant').map(keyOf).sort())
  })

  it('returns each company once for overlapping areas', async () => {
    const { source, server } = await openOsm()
    const found = await all(source, { niche: 'рестораны', geo: 'Казань и Татарстан' })
    expect(found.map(({ key }) => key).sort()).toEqual(wanted('kazan', 'restaurant').map(keyOf).sort())
    expect(server.requests.filter(({ service }) => service === 'nominatim')).toHaveLength(3)
  })

  it('is split into quarters when there are too many', async () => {
    const { server } = await openOsm()
    const fetch = createSafeFetch({ allow: [new URL(server.overpassUrl).host] })
    const ports = { fetch, clock: hurriedClock(), userAgent: 'test' }
    const geocoder = createGeocoder({ ...ports, url: server.nominatimUrl })
    const source = createOverpassSource({ ...ports, url: server.overpassUrl, geocoder, mostElements: 3 })
    const found = await all(source, { niche: 'стоматологии', geo: 'Казань' })
    expect(found.map(({ key }) => key).sort()).toEqual(wanted('kazan', 'dentist').map(keyOf).sort())
    expect(server.requests.length).toBeGreaterThan(5)
  })

  it('is split into quarters on timeout', async () => {
    const { source, server } = await openOsm()
    server.fail('timed_out')
    expect(await all(source, { niche: 'стоматологии', geo: 'Казань' })).toHaveLength(wanted('kazan', 'dentist').length)
    expect(server.requests.filter(({ service }) => service === 'overpass')).toHaveLength(5)
  })

  it('stops on abort', async () => {
    const { source, server } = await openOsm()
    for await (const _ of source.find(question({ niche: 'кафе', geo: 'Татарстан' }), never)) break
    expect(server.requests.filter(({ service }) => service === 'overpass').length).toBeLessThan(10)
  })
})

describe('a place', () => {
  it('is the city rather than a namesake, with its outline', async () => {
    const { source, server } = await openOsm()
    for (const [geo, relation] of [
      ['Казань', 3_609_001_116],
      ['Aberdeen', 3_609_001_224],
    ] as const) {
      await all(source, { niche: 'кафе', geo })
      expect(server.requests.at(-1)!.query).toContain(`area(${relation})->.where;`)
    }
  })

  it('falls back to the bounding box', async () => {
    const { source, server } = await openOsm({ withoutAreas: true })
    const found = await all(source, { niche: 'кафе', geo: 'Казань' })
    expect(found.map(({ key }) => key).sort()).toEqual(wanted('kazan', 'cafe').map(keyOf).sort())
    expect(server.requests.filter(({ service }) => service === 'overpass')).toHaveLength(2)
  })

  it('may be several, or have no outline', async () => {
    const { source, server } = await openOsm()
    const both = await all(source, { niche: 'кафе', geo: 'Казань и Aberdeen' })
    expect(both).toHaveLength(wanted('kazan', 'cafe').length + wanted('aberdeen', 'cafe').length)
    await all(source, { niche: 'кафе', geo: 'Заречье' })
    expect(server.requests.at(-1)!.query).not.toContain('area')
  })

  it('is unknown to the geocoder, or has no area', async () => {
    const { source } = await openOsm()
    for (const geo of ['Тридевятое царство', 'Одинокий киоск', '']) {
      await expect(all(source, { niche: 'кафе', geo }), geo).rejects.toMatchObject({ code: 'unknown_area' })
    }
  })

  it('is geocoded once a day, one request per second', async () => {
    const { source, server, clock } = await openOsm()
    const names = () => server.requests.filter(({ service }) => service === 'nominatim').map(({ query }) => query)
    await all(source, { niche: 'кафе', geo: 'Казань' })
    await all(source, { niche: 'пекарни', geo: 'казань' })
    expect(names()).toEqual(['Казань'])
    const before = clock.now()
    await all(source, { niche: 'кафе', geo: 'Казань и Aberdeen' })
    expect(names()).toEqual(['Казань', 'Казань и Aberdeen', 'Aberdeen'])
    expect(clock.now() - before).toBeGreaterThan(900)
    await new Promise<void>(resolve => clock.after(86_400_000, resolve))
    await all(source, { niche: 'кафе', geo: 'Казань' })
    expect(names()).toHaveLength(4)
  })
})

describe('a failing server', () => {
  it('is retried after Retry-After', async () => {
    const { source, server, clock } = await openOsm()
    server.fail('429', { retryAfter: '17' })
    server.fail('504', { times: 2 })
    expect(await all(source, { niche: 'кафе', geo: 'Казань' })).toHaveLength(wanted('kazan', 'cafe').length)
    expect(clock.pauses).toContain(17_000)
  })

  it.each([
    ['429', 'overloaded'],
    ['504', 'overloaded'],
    ['reset', 'unreachable'],
  ] as const)('fails after some attempts: %s', async (fault, code) => {
    const { source, server } = await openOsm()
    server.fail(fault, { times: 100 })
    await expect(all(source, { niche: 'кафе', geo: 'Казань' })).rejects.toMatchObject({ code })
    expect(server.requests.filter(({ service }) => service === 'overpass')).toHaveLength(4)
  })

  it.each(['html', 'not_json', 'other_json', 'runtime_error'] as const)('is rejected: %s', async fault => {
    const { source, server } = await openOsm()
    server.fail(fault, { times: 100 })
    await expect(all(source, { niche: 'кафе', geo: 'Казань' })).rejects.toMatchObject({ code: 'bad_answer' })
  })

  it.each(['429', 'html', 'other_json', 'endless'] as const)('may be the geocoder: %s', async fault => {
    const { source, server } = await openOsm()
    server.fail(fault, { on: 'nominatim', times: 100 })
    const code = fault === '429' ? 'overloaded' : 'bad_answer'
    await expect(all(source, { niche: 'кафе', geo: 'Казань' })).rejects.toMatchObject({ code })
  })

  it.each(['huge', 'endless'] as const)('respects its limits: %s', async fault => {
    const { server } = await openOsm()
    const fetch = createSafeFetch({ allow: [new URL(server.overpassUrl).host] })
    const ports = { fetch, clock: hurriedClock(), userAgent: 'test' }
    const geocoder = createGeocoder({ ...ports, url: server.nominatimUrl })
    const source = createOverpassSource({ ...ports, url: server.overpassUrl, geocoder, mostBytes: 256 * 1024 })
    server.fail(fault)
    // Too much at once: the quarters are answered.
    expect(await all(source, { niche: 'кафе', geo: 'Казань' })).toHaveLength(wanted('kazan', 'cafe').length)
    server.fail(fault, { times: 100 })
    await expect(all(source, { niche: 'кафе', geo: 'Казань' })).rejects.toMatchObject({ code: 'bad_answer' })
    expect(server.requests.length).toBeLessThan(25)
  })

  it('stops on abort', async () => {
    const { source, server } = await openOsm()
    const gone = new AbortController()
    server.fail('silent')
    const waits = all(source, { niche: 'кафе', geo: 'Казань' }, gone.signal)
    const given = expect(waits).rejects.toThrow('canceled')
    await until(() => server.requests.some(({ service }) => service === 'overpass'))
    gone.abort(new Error('canceled'))
    await given
  })
})

describe('hostile tags', () => {
  it('are cleaned and truncated', async () => {
    const phones = Array.from({ length: 100 }, (_, i) => `+7 843 200-${String(1000 + i)}`).join(';')
    const tags = {
      amenity: 'cafe',
      name: `Кафе\u0000\u202e«Тень»\n\u200b${'ы'.repeat(5000)}`,
      phone: phones,
      website: 'javascript:alert(1)',
      email: 'not an address; a@b.example, "x"@<y>',
      'addr:street': 'улица\tТени',
      'addr:country': 'ZZZ',
      ...Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`fact${i}`, 'v'.repeat(2000)])),
    }
    const [base] = wanted('kazan', 'cafe')
    const { source } = await openOsm({ places: [{ ...base!, tags }] })
    const [found] = await all(source, { niche: 'кафе', geo: 'Казань' })
    expect(found!.company).toMatch(/^Кафе «Тень» ы+$/)
    expect(found!.company.length).toBeLessThanOrEqual(300)
    expect(found!).toMatchObject({ website: null, emails: ['a@b.example'], country: 'RU', address: 'улица Тени' })
    expect(found!.phones).toHaveLength(10)
    expect(JSON.stringify(found).length).toBeLessThan(20_000)
  })

  it('ignores tags that are not text', async () => {
    const [base] = wanted('kazan', 'cafe')
    const odd = { ...base!, tags: { ...base!.tags, layer: 5 as unknown as string } }
    const { source } = await openOsm({ places: [odd, wanted('kazan', 'cafe')[1]!] })
    expect(await all(source, { niche: 'кафе', geo: 'Казань' })).toHaveLength(1)
  })

  it('excludes closed companies', async () => {
    const [base] = wanted('kazan', 'cafe')
    const as = (id: number, tags: Record<string, string>) => ({
      ...base!,
      id,
      tags: { amenity: 'cafe', name: 'Кафе', ...tags },
    })
    const closed = [
      { disused: 'yes' },
      { opening_hours: 'closed' },
      { abandoned: 'yes' },
      { operational_status: 'closed' },
    ]
    const open = [{ 'disused:shop': 'bakery' }, { opening_hours: 'Mo off' }, { was: 'a bank' }]
    const { source } = await openOsm({
      places: [...closed, ...open].map((tags, i) => as(i + 1, tags as Record<string, string>)),
    })
    const found = await all(source, { niche: 'кафе', geo: 'Казань' })
    expect(found.map(({ key }) => key.split('/')[1]).sort()).toEqual(['5', '6', '7'])
  })
})

describe('the query', () => {
  const area = {
    name: 'x',
    box: { south: 55.7, west: -0.1, north: 55.9, east: 0.0000001 },
    lat: 55.8,
    lon: 0,
    osm: null,
    country: null,
  }

  it('quotes all input of the owner', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), niche => {
        const selections = selectionsOf(niche)
        if (!selections) return
        const parsed = parseOverpass(overpassQuery({ selections, area, box: area.box, most: 10 }))
        expect(parsed).toMatchObject({ most: 10, selections: selections.map(() => ({ area: null })) })
      }),
    )
  })

  it('escapes string and regular expression characters', () => {
    expect(quoted('a"];out;\\\n')).toBe('"a\\"];out;\\\\ "')
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), text => {
        expect(new RegExp(`^${escapedRegex(text)}$`, 'u').test(text)).toBe(true)
      }),
    )
  })

  it('escapes a niche that injects a query', () => {
    const selections = selectionsOf('x"];node(1);out;/*квестовая')!
    expect(selections[0]).toEqual(['["shop"]', '["name"~"node",i]', '["name"~"out",i]', '["name"~"квестов",i]'])
  })
})
