/** Text in the encodings that customers' files have. */
import { describe, expect, it } from 'vitest'
import { decodeText } from '../../../../control/knowledge/extract/charset.ts'

const RUSSIAN =
  'Доставка по городу стоит триста рублей, самовывоз бесплатный. Мы работаем каждый день с девяти утра до восьми вечера.\n'
const FRENCH =
  "La livraison coûte trois euros et le retrait est gratuit. Nous sommes ouverts tous les jours, même l'été, à côté du marché.\n"

/** The inverse of a TextDecoder for an encoding of one byte a character. */
function encode(text: string, label: string): Buffer {
  const decoder = new TextDecoder(label)
  const codes = new Map(Array.from({ length: 256 }, (_, code) => [decoder.decode(Uint8Array.of(code)), code]))
  return Buffer.from([...text].map(character => codes.get(character) ?? 0x3f))
}

describe('single-byte text', () => {
  it.each(['windows-1251', 'koi8-r', 'ibm866', 'iso-8859-5'])('detects Russian in %s', label => {
    expect(decodeText(encode(RUSSIAN, label))).toBe(RUSSIAN)
  })

  it.each(['Цена: 500 рублей', 'Мойка;Полировка;Химчистка\n500;3000;2500', 'АВТОМОЙКА «ВОЛНА». Часы работы'])(
    'detects short text: %s',
    text => {
      expect(decodeText(encode(text, 'windows-1251'))).toBe(text)
      if (!/[«»]/.test(text)) expect(decodeText(encode(text, 'koi8-r'))).toBe(text)
    },
  )

  it('detects French in Latin-1 and euro signs in Windows-1252', () => {
    expect(decodeText(encode(FRENCH, 'iso-8859-1'))).toBe(FRENCH)
    expect(decodeText(encode('Café crème – 3 €, thé à la menthe', 'windows-1252'))).toBe(
      'Café crème – 3 €, thé à la menthe',
    )
  })

  it('detects German and Czech', () => {
    const german = 'Größe und Preis: für Übernachtungen zahlen Gäste zwölf Euro.'
    expect(decodeText(encode(german, 'windows-1252'))).toBe(german)
    const czech = 'Otevírací doba: pondělí až pátek, dveře zůstávají zavřené. Příliš žluťoučký kůň úpěl ďábelské ódy. '
    expect(decodeText(encode(czech.repeat(5), 'windows-1250'))).toBe(czech.repeat(5))
  })
})

describe('UTF', () => {
  it('reads UTF with and without a byte order mark', () => {
    const wide = Buffer.from(RUSSIAN, 'utf16le')
    expect(decodeText(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(RUSSIAN)]))).toBe(RUSSIAN)
    expect(decodeText(Buffer.concat([Buffer.from([0xff, 0xfe]), wide]))).toBe(RUSSIAN)
    expect(decodeText(Buffer.from(wide).swap16().subarray(0))).toBe(RUSSIAN)
    expect(decodeText(wide)).toBe(RUSSIAN)
    expect(decodeText(Buffer.from('plain English, 16 bits', 'utf16le'))).toBe('plain English, 16 bits')
    expect(decodeText(Buffer.from(RUSSIAN))).toBe(RUSSIAN)
  })

  it('reads an undeclared page as UTF-8, whatever its first bytes are', () => {
    const page = `<html><body>${'x'.repeat(70_000)}${RUSSIAN}</body></html>`
    expect(decodeText(Buffer.from(page), { html: true })).toBe(page)
  })
})

describe('declared encodings', () => {
  const page = (head: string) => `<html><head>${head}<title>Цена</title></head></html>`

  it('precede detection: header first, then the page', () => {
    const inHeader = page('')
    expect(decodeText(encode(inHeader, 'koi8-r'), { charset: 'KOI8-R', html: true })).toBe(inHeader)
    const inMeta = page('<meta charset=windows-1251>')
    expect(decodeText(encode(inMeta, 'windows-1251'), { html: true })).toBe(inMeta)
    const old = page('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">')
    expect(decodeText(encode(old, 'koi8-r'), { html: true })).toBe(old)
  })

  it('rejects a declared single-byte encoding for UTF-8 text', () => {
    const text = '<meta charset="windows-1251"><p>Добрый день, друзья</p>'
    expect(decodeText(Buffer.from(text), { html: true })).toBe(text)
    expect(decodeText(Buffer.from('Café, 12 €'), { charset: 'iso-8859-1' })).toBe('Café, 12 €')
    // Plain ASCII says nothing, and two bytes of Chinese may look like UTF-8.
    expect(decodeText(Buffer.from([0x1b, 0x24, 0x42, 0x24, 0x22]), { charset: 'iso-2022-jp' })).toBe('あ')
    expect(decodeText(Buffer.from([0xc1, 0xaa, 0xcd, 0xa8]), { charset: 'gbk' })).toBe('联通')
  })

  it('are ignored when impossible or unknown', () => {
    const lying = page('<meta charset="utf-8">') + RUSSIAN
    expect(decodeText(encode(lying, 'windows-1251'), { charset: 'utf-8', html: true })).toBe(lying)
    const wide = page('<meta charset="utf-16">')
    expect(decodeText(Buffer.from(wide), { html: true })).toBe(wide)
    expect(decodeText(Buffer.from(RUSSIAN), { charset: 'x-nonsense' })).toBe(RUSSIAN)
  })
})

it('replaces invalid bytes and never throws', () => {
  const bytes = Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 167 + 13) & 255))
  for (let length = 0; length < 64; length++) expect(typeof decodeText(bytes.subarray(length, 64))).toBe('string')
  expect(decodeText(Buffer.alloc(0))).toBe('')
})
