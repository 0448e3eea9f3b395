import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mapColumns } from '../../../../control/outreach/leads/sources/columns.ts'
import {
  createDirectorySource,
  type DirectoryRow,
  MOST_ROWS,
  readDirectory,
} from '../../../../control/outreach/leads/sources/directory.ts'
import { longestWork } from '../../../support/effort.ts'
import { all, rowsOf } from './rig.ts'

const bytes = (text: string) => Buffer.from(text, 'utf8')
/** As Excel in Russia saves it. */
const windows1251 = (text: string) =>
  Buffer.from(
    [...text].map(letter => {
      const code = letter.codePointAt(0)!
      if (code >= 0x410 && code <= 0x44f) return code - 0x350
      return { Ё: 0xa8, ё: 0xb8, '№': 0xb9, '«': 0xab, '»': 0xbb }[letter] ?? code
    }),
  )

describe('a directory', () => {
  it("reads Excel's windows-1251 with semicolons", async () => {
    const reading = await readDirectory(
      windows1251(
        'Название компании;Телефон №1;Моб. телефон;E-mail;Сайт;Адрес;Город;Рубрика;Сотрудников\r\n' +
          'ООО «Белый клык»;8 (843) 212-34-56;+7 917 111-22-33;INFO@klyk.ru;klyk.ru;ул. Баумана, 5;Казань;Стоматология;12\r\n' +
          '"Дент; и сыновья";;;;https://dent.ru/;;Казань;;\r\n',
      ),
    )
    expect(reading.entries).toEqual([
      {
        index: 0,
        company: 'ООО «Белый клык»',
        phones: ['8 (843) 212-34-56', '+7 917 111-22-33'],
        emails: ['info@klyk.ru'],
        website: 'http://klyk.ru/',
        address: 'ул. Баумана, 5',
        city: 'Казань',
        category: 'Стоматология',
        geo: null,
        extra: { Сотрудников: '12' },
      },
      expect.objectContaining({ index: 1, company: 'Дент; и сыновья', website: 'https://dent.ru/', phones: [] }),
    ])
    expect(reading.invalid).toEqual([])
    expect(reading.columns.at(-1)).toEqual({ header: 'Сотрудников', column: null })
  })

  it('reads English headers, tabs, BOM, coordinates and several numbers in a cell', async () => {
    const { entries } = await readDirectory(
      bytes(
        '\uFEFFCompany\tPhone number\tLatitude\tLongitude\nGranite Dental\t01224 620 000 / 01224 620 001\t57,15\t-2.1\n',
      ),
    )
    expect(entries).toEqual([
      expect.objectContaining({ phones: ['01224 620 000', '01224 620 001'], geo: { lat: 57.15, lon: -2.1 } }),
    ])
  })

  it('reports invalid rows with position and reason', async () => {
    const { entries, invalid } = await readDirectory(
      bytes('company,phone\nA,+7 843 212-34-56\n,+7 843 212-34-57\n\nB,call us\n,,\nC,"+7 843 212-34-58"\n'),
    )
    expect(entries.map(({ index, company }) => [index, company])).toEqual([
      [0, 'A'],
      [3, 'C'],
    ])
    expect(invalid).toEqual([
      { index: 1, code: 'no_company' },
      { index: 2, code: 'no_contact' },
    ])
  })

  it.each([
    ['', 'empty'],
    ['\n\n', 'empty'],
    ['+7 843 212-34-56,Ромашка\n+7 843 212-34-57,Лютик\n', 'no_header'],
    ['company,employees\nA,5\n', 'no_header'],
    ['phone,email\n+7 843 212-34-56,a@b.example\n', 'no_header'],
    ['PK\u0003\u0004\u0000\u0000\u0000\u0000sheet', 'not_text'],
    [`company,phone\nA,${','.repeat(300_000)}`, 'damaged'],
    [`company,phone\n${'A,+78432123456\n'.repeat(MOST_ROWS + 1)}`, 'too_many_rows'],
  ])('is rejected as a whole, with a reason (%#)', async (text, code) => {
    await expect(readDirectory(bytes(text))).rejects.toMatchObject({ name: 'DirectoryError', code })
  })

  it('rejects an oversized file', async () => {
    await expect(readDirectory(Buffer.alloc(20 * 1024 * 1024 + 1, 'a'))).rejects.toMatchObject({ code: 'too_large' })
  })

  it('reads the maximum of rows without blocking', async () => {
    const rows = Array.from(
      { length: MOST_ROWS },
      (_, i) => `Фирма "Ромашка" ${i};+7 843 2${String(i).padStart(6, '0')};Казань, Баумана ${i};заметка ${i}`,
    )
    const file = bytes(`Название;Телефон;Адрес;Заметки\n${rows.join('\n')}`)
    const reading = readDirectory(file)
    const longest = await longestWork(reading)
    const { entries, invalid } = await reading
    expect([entries.length, invalid.length]).toEqual([MOST_ROWS, 0])
    console.log(`  the longest work while ${MOST_ROWS} rows of ${file.length} bytes are read: ${longest.toFixed(0)} ms`)
    expect(longest).toBeLessThan(250)
  })

  it('tolerates an unclosed quote', async () => {
    const { entries } = await readDirectory(
      bytes(`company;phone\nTV 5" Shop;84321234567\n"Open;84321234568\nNext;84321234569\n`),
    )
    expect(entries.map(({ company }) => company)).toEqual(['TV 5" Shop', '"Open', 'Next'])
  })

  it('fails only with a reason', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async noise => {
        const head = bytes('company;phone;website\n')
        const outcome = await readDirectory(Buffer.concat([head, noise])).catch(error => error)
        if (outcome instanceof Error) expect(outcome.name).toBe('DirectoryError')
        else for (const { company } of outcome.entries) expect(company).toMatch(/^\S(?:[^\p{Cc}]*\S)?$/u)
      }),
    )
  })
})

describe('columns', () => {
  it.each([
    ['Наименование организации|Категория компании|Телефон компании|Сайт компании', 'company|category|phone|website'],
    [
      'Name|Phone|Mobile|Email|Email 2|Website|Street address|City|Category',
      'company|phone|phone|email|email|website|address|city|category',
    ],
    ['Контактное лицо|Фирма|тел.|почта|www|Населённый пункт', '|company|phone|email|website|city'],
    ['company_name|phone_number|url|industry|notes', 'company|phone|website|category|'],
    ['ID|Юр. лицо|Рабочий телефон|Электронная почта|Вид деятельности', '|company|phone|email|category'],
    ['Name|Company|Phone', '|company|phone'],
  ])('%s', (headers, expected) => {
    expect(
      mapColumns(headers.split('|'))
        .map(column => column ?? '')
        .join('|'),
    ).toBe(expected)
  })
})

describe('rows of a directory', () => {
  const row = (key: string, more: Partial<DirectoryRow>): DirectoryRow => ({
    key,
    company: 'Ромашка',
    phones: ['+78432123456'],
    emails: [],
    website: null,
    address: null,
    city: null,
    category: null,
    geo: null,
    extra: {},
    ...more,
  })
  const rows = [
    row('1', { category: 'Стоматологические клиники', city: 'Казань' }),
    row('2', { company: 'Стоматология «Дент»', address: 'г. Казань, ул. Баумана, 5' }),
    row('3', { category: 'Dentists', city: 'Набережные Челны' }),
    row('4', { category: 'Автосервис', city: 'Казань' }),
    row('5', { category: 'Квест-комнаты', city: 'Казань' }),
    row('6', { company: 'Dental clinic', city: null }),
    row('7', { category: 'Рестораны', city: 'Ростов' }),
    row('8', { category: 'Печать на футболках', city: 'Рязань' }),
    row('9', { company: 'Фонтан', category: 'Бурение скважин', city: 'Алматы', address: 'Казахстан, Алматы' }),
  ]
  const found = async (niche: string, geo: string) =>
    (await all(createDirectorySource({ directories: rowsOf(rows) }), { niche, geo })).map(({ key }) => key).join()

  it('match niche and place in any inflection', async () => {
    expect(await found('стоматологии', 'Казани')).toBe('1,2,6')
    expect(await found('dental clinics', 'Казань')).toBe('1,2,6')
    expect(await found('стоматология', 'Набережных Челнах')).toBe('3,6')
    expect(await found('стоматология', 'Казань, Набережные Челны')).toBe('1,2,3,6')
    expect(await found('квест-комната', 'Казань')).toBe('5')
    expect(await found('автосервисы', 'Уфа')).toBe('')
    // The stemmer takes these endings for a verb's, or the name's own letters for an ending.
    expect(await found('ресторан', 'Ростове')).toBe('7')
    expect(await found('ресторанов', 'Ростов')).toBe('7')
    expect(await found('печати на футболках', 'Рязани')).toBe('8')
    expect(await found('скважины', 'Казахстане')).toBe('9')
    expect(await found('фонтаны', '')).toBe('9')
    expect(await found('фонтанов', 'Казахстан')).toBe('9')
  })

  it('become complete candidates', async () => {
    const full = row('d/7', {
      category: 'Стоматология',
      city: 'Казань',
      address: 'Баумана, 5',
      extra: { Работники: '5' },
    })
    const [candidate] = await all(createDirectorySource({ directories: rowsOf([full]) }), {
      niche: 'стоматология',
      geo: '',
    })
    expect(candidate).toEqual({
      key: 'd/7',
      company: 'Ромашка',
      phones: ['+78432123456'],
      emails: [],
      website: null,
      address: 'Казань, Баумана, 5',
      geo: null,
      country: null,
      facts: { category: 'Стоматология', Работники: '5' },
    })
  })
})
