import { describe, expect, it } from 'vitest'
import { findNiche, niches, nichesIn } from '../../../control/outreach/leads/vocabulary/niches.ts'

describe('the taxonomy', () => {
  it('covers both languages with searchable tags', () => {
    expect(niches.length).toBeGreaterThanOrEqual(120)
    expect(new Set(niches.map(niche => niche.id)).size).toBe(niches.length)
    for (const { id, tags, names } of niches) {
      expect(names.en.every(Boolean) && names.ru.every(Boolean), id).toBe(true)
      expect(tags.length, id).toBeGreaterThan(0)
      for (const { key, value } of tags) {
        expect(key, id).toMatch(/^[a-z_:]+$/)
        expect(value ?? '*', id).toMatch(/^(?:[a-z_-]+|\*)$/)
      }
    }
  })

  it('has unique names, and finds each niche by every name', () => {
    const names = niches.flatMap(({ names }) => [...names.en, ...names.ru])
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
    for (const niche of niches) {
      for (const name of [...niche.names.en, ...niche.names.ru]) expect(findNiche(name)?.id, name).toBe(niche.id)
    }
  })
})

describe('findNiche', () => {
  it.each([
    ['50 стоматологий', 'dentist'],
    ['ресторанов', 'restaurant'],
    ['по ресторанам', 'restaurant'],
    ['пекарен', 'bakery'],
    ['автомоек', 'car_wash'],
    ['кофеен', 'coffee'],
    ['химчисток', 'dry_cleaning'],
    ['детских садов', 'kindergarten'],
    ['бань', 'sauna'],
    ['туристических агентств', 'travel_agency'],
    ['школ английского языка', 'language_school'],
    ['в СТО', 'car_repair'],
    ['law firms', 'lawyer'],
    ['bakeries', 'bakery'],
    ['gyms', 'gym'],
    ["the dentist's", 'dentist'],
    ['repair of shoes', 'shoe_repair'],
    ['кафе и рестораны', 'cafe'],
    ['coffee roasters with a cafe', 'coffee_roaster'],
  ])('%s', (text, id) => {
    expect(findNiche(text)?.id).toBe(id)
  })

  it.each(['', 'сто', 'falconry centres', 'сетей', 'Казань', '1234', 'constructor'])('finds no niche in %j', text => {
    expect(findNiche(text)).toBeNull()
  })

  it('returns the position of the words', () => {
    const text = 'рестораны, кафе и бары'
    expect(nichesIn(text).map(({ from, to }) => text.slice(from, to))).toEqual(['рестораны', 'кафе', 'бары'])
  })
})
