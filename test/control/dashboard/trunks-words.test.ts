/** Texts for trunks: one for every enum value of the API, in both languages, and valid presets. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { lastErrorOf } from '../../../control/dashboard/page/trunks/last-error.ts'
import { presets } from '../../../control/dashboard/page/trunks/presets.ts'
import { bodyOf, emptyValues, numbersOf, patchOf, valuesOf } from '../../../control/dashboard/page/trunks/values.ts'
import { TrunkCreate } from '../../../control/telephony/trunks/schema.ts'
import { challengeWords, registrationWords } from '../../../sip/trunk/requests/outcome.ts'

// biome-ignore lint/suspicious/noExplicitAny: documents of every shape
const json = (path: string): any =>
  JSON.parse(readFileSync(new URL(`../../../control/${path}`, import.meta.url), 'utf8'))
const { schemas } = json('openapi.json').components
const languages = ['en', 'ru'] as const
const wordsOf = (room: string, language: string) => json(`dashboard/page/${room}/words.${language}.json`)
const wordAt = (words: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((part, key) => (part as Record<string, unknown> | undefined)?.[key], words)

function pathsIn(words: object, before = ''): string[] {
  return Object.entries(words).flatMap(([key, value]) =>
    typeof value === 'object' && !Array.isArray(value) ? pathsIn(value, `${before}${key}.`) : [`${before}${key}`],
  )
}

const trunk = schemas.Trunk.properties
const check = schemas.TrunkCheck.properties.checks.items.properties
const lists: [string, string, string[], (value: string) => string][] = [
  ['findings', 'diagnosis', schemas.Diagnosis.properties.code.enum, code => `message.${code}`],
  ['advice', 'diagnosis', schemas.Diagnosis.properties.code.enum, code => `advice.${code}`],
  ['steps', 'trunks', check.name.enum, name => `checks.${name}.title`],
  ['steps that went well', 'trunks', check.name.enum, name => `checks.${name}.ok`],
  ['steps that failed', 'trunks', check.name.enum, name => `checks.${name}.failed`],
  ['registration', 'trunks', trunk.status.properties.registration.enum, state => `registration.${state}`],
  ['modes', 'trunks', trunk.mode.enum, mode => `modes.${mode}.label`],
  ['encryption', 'trunks', trunk.srtp.enum, value => `srtp.${value}`],
  ['identity', 'trunks', trunk.pai.enum, value => `pai.${value}`],
  ['privacy', 'trunks', trunk.privacy.enum, value => `privacy.${value}`],
  ['formats', 'trunks', trunk.number_format.enum, value => `formats.${value}`],
  ['transfers', 'trunks', trunk.transfer.enum, value => `transfer.${value}`],
  [
    'directions',
    'trunks',
    schemas.Number.properties.bindings.items.properties.direction.enum,
    value => `directions.${value}`,
  ],
]

describe.each(languages)('in %s', language => {
  it.each(lists)('there are words for all %s', (_name, room, values, path) => {
    expect(values.length).toBeGreaterThan(1)
    const words = wordsOf(room, language)
    expect(values.filter(value => !wordAt(words, path(value)))).toEqual([])
  })

  it('every preset says what to do there', () => {
    const words = wordsOf('trunks', language)
    expect(presets.filter(({ id }) => String(wordAt(words, `presets.${id}`) ?? '').length < 20)).toEqual([])
  })
})

it('both languages say the same things', () => {
  const plain = (language: string) =>
    new Set(pathsIn(wordsOf('trunks', language)).map(path => path.replace(/_(?:one|few|many|other)$/, '')))
  expect(plain('ru')).toEqual(plain('en'))
  const russian = pathsIn(wordsOf('trunks', 'ru')).filter(path => /_(?:one|few|many|other)$/.test(path))
  expect(russian.length % 4).toBe(0)
})

it('every sentence of a registration that failed is known', () => {
  const statuses = Array.from({ length: 400 }, (_, index) => 300 + index)
  const said = new Set([
    ...statuses.flatMap(status => [registrationWords(status, true), registrationWords(status, false)]),
    ...(['rejected', 'other_realm', 'unsupported'] as const).map(challengeWords),
  ])
  // These are of calls; no registrar says so of a user.
  const ofCalls = /number|codec|call|switched off|busy|ended before|declined/
  const unknown = [...said].filter(sentence => lastErrorOf(sentence) === null && !ofCalls.test(sentence))
  expect(unknown).toEqual([])
  expect(lastErrorOf('The carrier refused with code 500.')).toEqual({ word: 'code', code: '500' })
  expect(lastErrorOf('constructor')).toBeNull()
})

it.each(presets.map(preset => [preset.id, preset] as const))('the API takes the preset of %s', (_id, preset) => {
  const account = { username: 'u', password: 'p', host: 'sip.example.com' }
  const values = { ...emptyValues, name: preset.name, ...account, ...preset.values }
  expect(TrunkCreate.parse(bodyOf(values))).toMatchObject({ mode: preset.values.mode, username: 'u', password: 'p' })
})

it('only what was changed is sent, and a password goes with its user', () => {
  const before = { ...emptyValues, name: 'A', host: 'h.example', username: 'u', numbers: '+14155550100' }
  expect(patchOf(before, before)).toEqual({})
  expect(patchOf(before, { ...before, name: ' B ', port: '', max_calls: 3 })).toEqual({
    name: 'B',
    port: null,
    max_calls: 3,
  })
  expect(patchOf(before, { ...before, password: 'new' })).toEqual({ password: 'new' })
  expect(patchOf(before, { ...before, mode: 'ip', username: '' })).toEqual({
    mode: 'ip',
    username: null,
    password: null,
  })
})

it('numbers are read as people write them', () => {
  expect(numbersOf({ numbers: '+1 (415) 555-0100\n\n8 (495) 123-45-67; +14155550100', region: 'RU' })).toEqual([
    '+14155550100',
    '+74951234567',
  ])
  // The API rejects values that cannot be numbers.
  expect(numbersOf({ numbers: '12', region: '' })).toEqual(['12'])
})

it('a trunk comes back from its form as it was', () => {
  const body = TrunkCreate.parse(bodyOf({ ...emptyValues, name: 'A', host: 'h.example', mode: 'ip' }))
  const status = { registration: 'none', last_options_ms: null, hosts: [], last_error: null, changed_at: null } as const
  const kept = { ...body, id: '0195f2bf-90d3-7e61-9f40-7a1c4b8e6f23', status: { ...status, hosts: [] }, created_at: '' }
  const values = valuesOf(kept as unknown as Parameters<typeof valuesOf>[0])
  expect(bodyOf(values)).toEqual(body)
})
