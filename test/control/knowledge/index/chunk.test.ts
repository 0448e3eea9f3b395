import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Block, ExtractedPage } from '../../../../control/knowledge/documents/types.ts'
import { chunkPages, estimateTokens } from '../../../../control/knowledge/index/chunk.ts'
import { chunkAside } from '../../../../control/knowledge/index/chunk-aside.ts'
import { splitSentences } from '../../../../control/knowledge/index/sentences.ts'

const page = (blocks: Block[], title: string | null = null): ExtractedPage => ({
  url: 'https://a.example/',
  title,
  blocks,
})
const text = (value: string): Block => ({ heading: 0, text: value })
const heading = (level: number, value: string): Block => ({ heading: level, text: value })
/** Some tokens above the limit is what a whole sentence of overlap may cost. */
const MOST = 270

describe('sentences', () => {
  it.each([
    ['Mr. Smith came at 5 p.m. yesterday. He left.', ['Mr. Smith came at 5 p.m. yesterday.', 'He left.']],
    ['It is 3.5 km, e.g. by bus. Really? Yes!', ['It is 3.5 km, e.g. by bus.', 'Really?', 'Yes!']],
    ['Живу на ул. Ленина, д. 5, г. Тула. Звоните.', ['Живу на ул. Ленина, д. 5, г. Тула.', 'Звоните.']],
    [
      'Стоит 5 тыс. руб. в месяц, т.е. дорого. А. С. Пушкин знал.',
      ['Стоит 5 тыс. руб. в месяц, т.е. дорого.', 'А. С. Пушкин знал.'],
    ],
    ['Он сказал: «Нет!» И ушёл… Потом вернулся.', ['Он сказал: «Нет!»', 'И ушёл…', 'Потом вернулся.']],
    ['one\ntwo\n\nthree', ['one', 'two', 'three']],
    ['', []],
  ])('of %j', (whole, parts) => {
    expect(splitSentences(whole)).toEqual(parts)
  })
})

describe('chunks', () => {
  it('carry their headings and never mix sections', () => {
    const long = (word: string) =>
      Array.from({ length: 40 }, (_, i) => `${word} sentence number ${i} of this part.`).join(' ')
    const chunks = chunkPages([
      page(
        [heading(1, 'Prices'), heading(2, 'Rent'), text(long('Rent')), heading(2, 'Sale'), text(long('Sale'))],
        'Shop',
      ),
    ])
    expect(chunks.length).toBeGreaterThan(3)
    expect(chunks.map(({ ordinal }) => ordinal)).toEqual(chunks.map((_, i) => i))
    for (const chunk of chunks) {
      const [inRent, inSale] = [/Rent sentence/.test(chunk.text), /Sale sentence/.test(chunk.text)]
      expect(inRent !== inSale).toBe(true)
      expect(chunk.heading).toBe(inRent ? 'Shop › Prices › Rent' : 'Shop › Prices › Sale')
      expect(estimateTokens(chunk.text)).toBeLessThanOrEqual(MOST)
      expect(chunk.url).toBe('https://a.example/')
    }
  })

  it('overlap by one sentence', () => {
    const sentences = Array.from({ length: 60 }, (_, i) => `This is the sentence number ${i} of a long story.`)
    const chunks = chunkPages([page([text(sentences.join(' '))])])
    for (const [i, { text }] of chunks.entries()) {
      const before = chunks[i - 1]
      if (before) expect(text.startsWith(splitSentences(before.text).at(-1)!)).toBe(true)
    }
    for (const sentence of sentences) expect(chunks.some(({ text }) => text.includes(sentence))).toBe(true)
  })

  it('join small sections under the same parent', () => {
    const blocks = ['Mon', 'Tue', 'Wed'].flatMap(day => [heading(2, day), text(`Open on ${day} from 9.`)])
    const chunks = chunkPages([page([heading(1, 'Hours'), ...blocks])])
    expect(chunks).toHaveLength(1)
    expect(chunks[0]).toMatchObject({ heading: 'Hours' })
    expect(chunks[0]!.text).toContain('Tue\nOpen on Tue from 9.')
  })

  it('keep table rows whole and unrepeated', () => {
    const rows = Array.from(
      { length: 90 },
      (_, i) => `Article: chair ${i}; Colour: red; Price: ${i * 10} roubles; In stock: yes`,
    )
    const chunks = chunkPages([page(rows.map(text))])
    expect(chunks.length).toBeGreaterThan(5)
    expect(chunks.flatMap(({ text }) => text.split('\n'))).toEqual(rows)
  })

  it('split 5 MB without spaces, in any script, without loss', () => {
    for (const letter of ['x', 'я', '語', '😀']) {
      const whole = letter.repeat(Math.floor(5_000_000 / Buffer.byteLength(letter)))
      const chunks = chunkPages([page([text(whole)])])
      expect(chunks.map(({ text }) => text).join('') === whole, letter).toBe(true)
      expect(chunks.every(({ text }) => text.isWellFormed() && estimateTokens(text) <= 2 * MOST)).toBe(true)
    }
  })

  it('contain headings-only pages, and are empty for empty ones', () => {
    expect(chunkPages([page([heading(1, 'Contacts'), heading(2, '+1 415 555 0100')])])[0]?.text).toContain('+1 415')
    expect(chunkPages([page([]), page([text(' \n\t ')])])).toEqual([])
  })

  it('contain every word, respect the limit and are deterministic', () => {
    const word = fc.stringMatching(/^[a-zа-я0-9.,!?«»-]{1,14}$/)
    const block = fc.record({
      heading: fc.constantFrom(0, 0, 0, 1, 2, 3),
      text: fc.array(word, { maxLength: 120 }).map(words => words.join(' ')),
    })
    fc.assert(
      fc.property(fc.array(block, { maxLength: 25 }), blocks => {
        const chunks = chunkPages([page(blocks, 'Title')])
        expect(chunkPages([page(blocks, 'Title')])).toEqual(chunks)
        const said = new Set(chunks.flatMap(({ heading, text }) => `${heading} ${text}`.split(/\s+/)))
        for (const one of blocks) {
          if (one.heading === 0) for (const each of one.text.split(/\s+/)) if (each) expect(said.has(each)).toBe(true)
        }
        for (const { text } of chunks) expect(estimateTokens(text)).toBeLessThanOrEqual(MOST + 60)
      }),
      { numRuns: 150 },
    )
  })

  it('yield to other work while splitting a long text, and stop at an abort', async () => {
    const long = [
      page(Array.from({ length: 3000 }, (_, i) => text(`Sentence number ${i} says where the key is. `.repeat(6)))),
    ]
    let turns = 0
    const others = setInterval(() => turns++, 1)
    try {
      const chunks = await chunkAside(long, new AbortController().signal)
      expect(chunks).toEqual(chunkPages(long))
    } finally {
      clearInterval(others)
    }
    expect(turns).toBeGreaterThan(0)
    const gone = new AbortController()
    const cut = chunkAside(long, gone.signal)
    gone.abort(new Error('deleted'))
    await expect(cut).rejects.toThrow('deleted')
  })
})
