import { describe, expect, it } from 'vitest'
import { collapseLoops } from '../../../media/models/speech/decoder-loop.ts'

describe('loops of a decoder', () => {
  it.each([
    ['and the house, and the house, and the house, and the house, and the', 'and the house,'],
    ['we waited in a shop in a shop in a shop in a shop in a shop', 'we waited in a shop'],
    [`one ${'two '.repeat(30)}three`, 'one two three'],
    ['Да, не дебеса, не дебеса, не дебеса, не дебеса, не дебеса,', 'Да, не дебеса,'],
  ])('are written once: %j', (text, kept) => expect(collapseLoops(text)).toBe(kept))

  it.each([
    'no, no, no, no, no',
    'my number is five five five five zero zero zero zero',
    'пять пять пять пять',
    'yes it is, yes it is, yes it is',
    '',
  ])('are not what people repeat: %j', text => expect(collapseLoops(text)).toBe(text))

  it('are found in a long text without much work', () => {
    const text = Array.from({ length: 5000 }, (_, i) => `word${i % 7}`).join(' ')
    expect(collapseLoops(text).split(' ')).toHaveLength(5000)
  })
})
