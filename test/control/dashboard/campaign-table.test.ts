/** Parsing of files and times on the upload page: pure functions, without a browser. */
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import {
  guessColumns,
  hasHeading,
  VARIABLE,
  variableName,
  variablesOf,
} from '../../../control/dashboard/page/campaigns/columns.ts'
import { entryOf, judgeRow, portionsOf } from '../../../control/dashboard/page/campaigns/entries.ts'
import { emptyValues, faultsOf, inputOf, paramsOf, valuesOf } from '../../../control/dashboard/page/campaigns/params.ts'
import {
  type Delimiter,
  decode,
  delimiters,
  guessDelimiter,
  guessEncoding,
  readTable,
  TableError,
} from '../../../control/dashboard/page/campaigns/read-table.ts'
import { refusedCsv } from '../../../control/dashboard/page/campaigns/refused.ts'
import { instantOf, isZone, wallOf } from '../../../control/dashboard/page/campaigns/wall-clock.ts'
import { readPhone } from '../../../control/dashboard/page/ui/phone.ts'
import { cp1251 } from './campaign-files.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)
const problemOf = (run: () => unknown) => {
  try {
    run()
  } catch (error) {
    if (error instanceof TableError) return [error.code, error.line]
    throw error
  }
  return null
}

describe('bytes', () => {
  const text = 'телефон;имя\r\n+79161234567;Ёлкина Щука\r\n'

  it('are told apart by what they can be', () => {
    const utf16 = new Uint8Array(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]))
    const big = new Uint8Array(utf16)
    for (let i = 0; i < big.length; i += 2) [big[i], big[i + 1]] = [big[i + 1]!, big[i]!]
    const files = { 'utf-8': utf8(`\uFEFF${text}`), 'windows-1251': cp1251(text), 'utf-16le': utf16, 'utf-16be': big }
    for (const [encoding, bytes] of Object.entries(files)) {
      expect(guessEncoding(bytes)).toBe(encoding)
      expect(decode(bytes)).toBe(text)
    }
    expect(decode(cp1251(text), 'utf-8')).toContain('\uFFFD')
  })

  it('that are no text say what they are', () => {
    expect(problemOf(() => decode(new Uint8Array([0x50, 0x4b, 3, 4, 0, 0])))).toEqual(['spreadsheet', null])
    expect(problemOf(() => decode(new Uint8Array([0xd0, 0xcf, 0x11, 0xe0, 0])))).toEqual(['spreadsheet', null])
    expect(problemOf(() => decode(utf8('a\0b')))).toEqual(['binary', null])
    expect(problemOf(() => readTable(' \r\n;;\r\n'))).toEqual(['empty', null])
    expect(problemOf(() => readTable('phone;name\n+1;"never closed\nx;y'))).toEqual(['quotes', 3])
  })
})

describe('a table', () => {
  // Words of our own letters and all that is special in one or another dialect, but for what is a row without content.
  const cell = fc.string({ unit: fc.constantFrom('a', 'Ж', ' ', '"', ';', ',', '\t', '|', '\n', '\r', '7', 'é', '😀') })
  const table = fc
    .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 12 }))
    .chain(([columns, rows]) =>
      fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: rows, maxLength: rows }),
    )
    .filter(rows => rows.some(cells => cells.some(text => text.trim() !== '')))

  it('of any cells is read as it was written', () => {
    fc.assert(
      fc.property(
        table,
        fc.constantFrom(...delimiters),
        fc.constantFrom('\r\n', '\n', '\r'),
        fc.boolean(),
        (rows, delimiter, record_delimiter, bom) => {
          const text = stringify(rows, { delimiter, record_delimiter, bom, quoted: true, quoted_empty: true })
          const expected = rows
            .map((cells, index) => ({ number: index + 1, cells }))
            .filter(({ cells }) => cells.some(one => one.trim() !== ''))
          expect(readTable(text, delimiter)).toEqual(expected)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('tells its delimiter by itself, when no other one stands in its cells', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'Ж', ' ', '7', '(', ')', '-', '+'), minLength: 1 })
    const list = fc.array(fc.tuple(word, word, word), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(list, fc.constantFrom(...delimiters), (rows, delimiter: Delimiter) => {
        expect(guessDelimiter(stringify(rows, { delimiter }))).toBe(delimiter)
      }),
    )
  })

  it('tells it among commas in names, in sums and in a line for Excel', () => {
    expect(guessDelimiter('Иванов, Иван;+79161234567;1,5\nПетров, Пётр;+79161234568;2,5\nООО;+79161234569;3')).toBe(';')
    expect(guessDelimiter('sep=|\r\na;b|c')).toBe('|')
    expect(readTable('sep=|\r\na;b|c')).toEqual([{ number: 1, cells: ['a;b', 'c'] }])
    expect(guessDelimiter('+79161234567\n+79161234568\n')).toBe(',')
  })

  it('keeps numbers of rows as a spreadsheet shows them', () => {
    expect(readTable('phone\n\n+79161234567\n;\n\n+79161234568', ';').map(({ number }) => number)).toEqual([1, 3, 6])
    expect(readTable('phone;firm\n+7916;ООО "Ромашка"', ';')[1]!.cells).toEqual(['+7916', 'ООО "Ромашка"'])
  })
})

describe('columns', () => {
  const rowsOf = (text: string) => readTable(text)
  const guess = (text: string) => {
    const rows = rowsOf(text)
    return guessColumns(rows, hasHeading(rows)).map(({ role, variable }) => (role === 'var' ? variable : role))
  }

  it('are guessed by headings in Russian and English', () => {
    expect(guess('ФИО;Телефон;Город;Дата заказа\nАнна;8 916 123-45-67;Москва;1 мая')).toEqual([
      ...['name', 'phone', 'gorod', 'data_zakaza'],
    ])
    expect(guess('id,full name,mobile,plan\n10000001,Ann,+14155550123,gold')).toEqual(['id', 'name', 'phone', 'plan'])
    expect(guess('ИНН;Контакт;Номер\n7707083893;Анна;+79161234567')).toEqual(['inn', 'name', 'phone'])
  })

  it('are guessed by what is in them where there is no heading, and empty ones are left out', () => {
    expect(guess('Анна;;8 (916) 123-45-67\nПётр;;+7 916 123-45-68')).toEqual(['column_1', 'none', 'phone'])
    expect(guess('name;age\nAnna;33')).toEqual(['name', 'age'])
    expect(hasHeading(rowsOf('7,91612E+10;Анна'))).toBe(false)
  })

  it('have names that the API takes, each once', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 8 }), titles => {
        const heading = titles.map((title, i) => `${title || i} x`)
        const rows = [heading, heading.map(() => 'y'), heading.map(() => 'y')].map((cells, i) => ({
          number: i + 1,
          cells,
        }))
        const names = guessColumns(rows, true).map(({ variable }) => variable)
        expect(names.every(name => VARIABLE.test(name))).toBe(true)
        expect(new Set(names).size).toBe(names.length)
      }),
    )
    expect(variableName('Order_ID', 0)).toBe('Order_ID')
    expect(variableName('Größe, см', 0)).toBe('gro_e_sm')
    expect(variableName('—', 4)).toBe('column_5')
  })

  it('are what a text asks for', () => {
    expect(variablesOf('Ask {{ name }} of {{city}} and {{name}}; {{not this}}')).toEqual(['name', 'city'])
  })
})

describe('rows', () => {
  const rows = readTable(
    [
      'Телефон;Имя;Город',
      '8 (916) 123-45-67;Анна;Москва',
      '+7 916 123 45 67;Дубль;',
      '12;Коротко;',
      '7,91612E+10;Excel;',
      ';Пусто;',
    ].join('\n'),
  )
  const columns = guessColumns(rows, true)
  const judged = (region: string | null) => {
    const seen = new Set<string>()
    return rows.slice(1).map(row => judgeRow(row, columns, { read: text => readPhone(text, region), seen }))
  }

  it('become what is uploaded', () => {
    expect(entryOf(rows[1]!, columns)).toEqual({ phone: '8 (916) 123-45-67', name: 'Анна', vars: { gorod: 'Москва' } })
    expect(entryOf(rows[2]!, columns)).toEqual({ phone: '+7 916 123 45 67', name: 'Дубль' })
  })

  it('are judged as the server would', () => {
    expect(judged('RU').map(({ phone, problem }) => [phone, problem])).toEqual([
      ['+79161234567', null],
      ['+79161234567', 'duplicate'],
      [null, 'phone'],
      [null, 'scientific'],
      [null, 'no_phone'],
    ])
    expect(judged(null)[0]).toMatchObject({ phone: null, problem: 'no_country' })
  })

  it('go in portions that lose none and stay in their limits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 30, max: 400 }),
        (n, most, chars) => {
          const many = Array.from({ length: n }, (_, i) => ({ number: i + 1, cells: [`+7916${i}`, 'x'.repeat(i), ''] }))
          const portions = [...portionsOf(many, columns, { most, chars })]
          expect(portions.flatMap(({ entries }) => entries)).toEqual(many.map(row => entryOf(row, columns)))
          let from = 0
          for (const portion of portions) {
            expect(portion.from).toBe(from)
            expect(portion.entries.length).toBeLessThanOrEqual(most)
            if (portion.entries.length > 1)
              expect(JSON.stringify(portion.entries).length).toBeLessThanOrEqual(chars + 2)
            from += portion.entries.length
          }
        },
      ),
    )
  })
})

describe('refused rows', () => {
  it('come back as a file that reads as the one they were in, and runs nothing in a spreadsheet', () => {
    const refused = [
      { row: { number: 7, cells: ['+7 916 12', 'ООО "Роза"; и Ко', '=cmd|calc', '-1,5', '@SUM(A1)'] }, reason: 'bad' },
    ]
    const text = refusedCsv(['Row', 'Reason', 'a', 'b', 'c', 'd', 'e'], refused, ';')
    expect(text.startsWith('\uFEFFRow;Reason;a')).toBe(true)
    expect(readTable(text, ';')[1]!.cells).toEqual([
      ...['7', 'bad', '+7 916 12', 'ООО "Роза"; и Ко', "'=cmd|calc", '-1,5', "'@SUM(A1)"],
    ])
  })
})

describe('settings', () => {
  const params = {
    timezone: 'Europe/Berlin',
    window_start: '10:00',
    window_end: '18:30',
    days: [1, 3, 7],
    concurrency: 7,
    retries: 0,
    retry_interval_min: 90,
    quiet_hours: { start: '22:00', end: '07:00' },
    scheduled_start_at: '2026-07-01T08:00:00.000Z',
    max_spend: '99.5000',
    resume_on_top_up: true,
  }
  const campaign = { name: 'Spring', project_id: 'p', task: 'Ask.', params }

  it('come back from the form as they went in', () => {
    const bare = { ...params, days: null, quiet_hours: null, scheduled_start_at: null, max_spend: null }
    for (const one of [params, bare]) expect(paramsOf(valuesOf({ ...campaign, params: one }))).toEqual(one)
    expect(valuesOf(campaign).params.scheduled_start_at).toBe('2026-07-01T10:00')
    expect(inputOf(valuesOf(campaign), { fixed: false })).toEqual(campaign)
    expect(inputOf(valuesOf(campaign), { fixed: true })).toEqual({ name: 'Spring', params })
  })

  it('say what is wrong by the field it is in', () => {
    expect(faultsOf(valuesOf(campaign), isZone)).toEqual({})
    expect(faultsOf(emptyValues, isZone)).toEqual({
      name: 'required',
      project_id: 'required',
      'params.timezone': 'zone',
    })
    const values = valuesOf(campaign)
    const bad = {
      ...values.params,
      timezone: 'Mars/Base',
      days: [],
      window_start: '24:00',
      concurrency: '',
      retries: 6,
      max_spend: '0,00',
      quiet_hours: { on: true, start: '', end: '07:00' },
    }
    expect(faultsOf({ ...values, params: bad }, isZone)).toEqual({
      'params.timezone': 'zone',
      'params.days': 'days',
      'params.window_start': 'time',
      'params.quiet_hours.start': 'time',
      'params.concurrency': 'range',
      'params.retries': 'range',
      'params.max_spend': 'money',
    })
  })
})

describe('a clock on the wall', () => {
  it('is what Temporal says of it, also when clocks are moved', () => {
    const zones = ['Europe/Moscow', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC']
    const near = fc.oneof(
      fc.integer({ min: Date.UTC(2026, 2, 28), max: Date.UTC(2026, 3, 6) }),
      fc.integer({ min: Date.UTC(2026, 9, 1), max: Date.UTC(2026, 10, 3) }),
      fc.integer({ min: Date.UTC(2020), max: Date.UTC(2040) }),
    )
    fc.assert(
      fc.property(fc.constantFrom(...zones), near, (zone, ms) => {
        const wall = new Date(ms).toISOString().slice(0, 16)
        const expected = Temporal.PlainDateTime.from(wall).toZonedDateTime(zone, { disambiguation: 'compatible' })
        expect(instantOf(wall, zone)).toBe(new Date(expected.epochMilliseconds).toISOString())
        const shown = expected.toPlainDateTime().toString({ smallestUnit: 'minute' })
        expect(wallOf(new Date(expected.epochMilliseconds).toISOString(), zone)).toBe(shown)
      }),
      { numRuns: 1000 },
    )
  })
})
