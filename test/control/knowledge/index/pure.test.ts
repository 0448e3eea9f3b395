import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MOST_CANDIDATES, planCandidates } from '../../../../control/knowledge/index/candidates.ts'
import { fuse, withoutRepeats } from '../../../../control/knowledge/index/fuse.ts'
import { quoted } from '../../../../control/knowledge/index/sql.ts'
import { languageOf, meaningfulWords, searchable } from '../../../../control/knowledge/index/words.ts'

const place = (ordinal: number, score = 1) => ({ source_id: 'a', ordinal, score })
const worded = (ordinal: number, share = 1) => ({ ...place(ordinal), share })

describe('fusion', () => {
  it('ranks first what both lists contain, with score 1 when first in both', () => {
    const fused = fuse({ text: [worded(1), worded(2)], vectors: [place(1), place(3)], named: true })
    expect(fused[0]).toEqual(place(1, 1))
    expect(fused.map(({ ordinal }) => ordinal).sort()).toEqual([1, 2, 3])
  })

  it('weighs full text by the share of the question it matched', () => {
    const vectors = [place(1), place(2)]
    const firstOf = (text: ReturnType<typeof worded>[], named: boolean) => fuse({ text, vectors, named })[0]!.ordinal
    expect(firstOf([worded(9, 0.05)], true)).toBe(1)
    expect(firstOf([worded(2, 0.8)], true)).toBe(2)
    // All words, but such as others have too: it decides between what is near for vectors, and brings nothing up.
    expect(firstOf([worded(9)], false)).toBe(1)
    expect(firstOf([worded(2)], false)).toBe(2)
  })

  it('ranks an exact match of all terms first, such as a code', () => {
    const vectors = [place(1), place(2)]
    for (const name of ['0', 'z']) {
      const known = { ...worded(9), source_id: name }
      expect(fuse({ text: [known, worded(1, 0.5)], vectors, named: true })[0]).toMatchObject({
        source_id: name,
        ordinal: 9,
      })
    }
  })

  it('keeps the order of a single list', () => {
    const list = [worded(4, 0.2), worded(7, 0.1), worded(2, 0.9)]
    for (const lists of [
      { text: list, vectors: null, named: false },
      { text: null, vectors: list, named: false },
    ]) {
      expect(fuse(lists).map(({ ordinal }) => ordinal)).toEqual([4, 7, 2])
    }
    expect(fuse({ text: null, vectors: null, named: false })).toEqual([])
  })

  it('removes duplicate passages', () => {
    expect(withoutRepeats([{ text: 'A b' }, { text: 'a  B' }, { text: 'c' }])).toEqual([{ text: 'A b' }, { text: 'c' }])
  })
})

describe('candidates', () => {
  it('come from rare words, or pairs of common ones, within the ranking limit', () => {
    const words = [3, 40, 20_000, 30_000].map((chunks, i) => ({ lexeme: `w${i}`, chunks }))
    const plan = planCandidates(words, 0, 100_000)!
    expect(plan.candidates).toBe("'w0' | 'w1'")
    expect(plan.words.map(({ weight }) => weight)).toEqual(plan.words.map(({ weight }) => weight).sort((a, b) => b - a))
    expect(planCandidates(words.slice(2), 0, 100_000)!.candidates).toBe("'w2' & 'w3'")
    const meeting = [2000, 3000].map((chunks, i) => ({ lexeme: `w${i}`, chunks }))
    expect(planCandidates(meeting, 0, 100_000)!.candidates).toBe("('w0' & 'w1')")
    expect(planCandidates([], 3, 100_000)).toBeNull()
  })

  it('always exist, with non-negative weights', () => {
    const counts = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(counts, fc.integer({ min: 0, max: 100_000 }), (all, total) => {
        const words = all.sort((a, b) => a - b).map((chunks, i) => ({ lexeme: `w${i}`, chunks }))
        const plan = planCandidates(words, 1, total)!
        expect(plan.candidates).not.toBe('')
        expect(plan.most).toBe(MOST_CANDIDATES)
        expect(plan.full).toBeGreaterThan(0)
        expect(plan.words.every(({ weight }) => weight >= 0)).toBe(true)
      }),
    )
  })

  it('are quoted', () => {
    expect(quoted("o'b\\c")).toBe("'o''b\\\\c'")
  })
})

describe('query terms', () => {
  it.each([
    ['Возврат товара возможен в течение четырнадцати дней после покупки.', 'russian'],
    ['Цена iPhone 15 Pro Max 256 GB', 'russian'],
    ['You may return what you bought within fourteen days.', 'english'],
    ['Opening hours', 'english'],
    ['Sie können die Ware innerhalb von vierzehn Tagen zurückgeben, wenn sie nicht benutzt worden ist.', 'simple'],
    ['Повернення товару можливе протягом чотирнадцяти днів після купівлі.', 'simple'],
    ['返品は十四日以内に可能です。', 'simple'],
    ['12-345 / 77', 'simple'],
  ])('are of a language: %s', (text, language) => {
    expect(languageOf(text)).toBe(language)
  })

  it("exclude the question's function words", () => {
    expect(meaningfulWords('Здравствуйте, подскажите пожалуйста, а сколько стоит доставка?')).toEqual([
      'стоит',
      'доставка',
    ])
    expect(meaningfulWords('hello could you tell me how much is the delivery')).toEqual(['delivery'])
    expect(meaningfulWords('who are you')).toEqual(['who', 'are', 'you'])
    expect(meaningfulWords("Well, I’ve lost it. What's the neighbour's fee? I don't know, please.")).toEqual([
      'well',
      'lost',
      "neighbour's",
      'fee',
    ])
    expect(meaningfulWords('артикул «АБ-12».')).toEqual(['артикул', 'аб-12'])
    expect(meaningfulWords(' ?! ')).toEqual([])
  })

  it('are normalised', () => {
    expect(searchable('Ёлка и/или за\u00adмо\u0301к, и\u0306')).toBe('елка и или замок, й')
  })
})
