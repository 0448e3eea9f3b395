/** Texts of the page: Russian and English have the same keys and values, and all plural forms. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { problems } from '../../../control/platform/http/problem.ts'

const page = join(import.meta.dirname, '../../../control/dashboard/page')
const languages = ['en', 'ru'] as const
type Language = (typeof languages)[number]

const rooms = readdirSync(page, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('words.en.json'))
  .map(name => name.split('/')[0]!)

function wordsOf(room: string, language: Language): Map<string, string> {
  const found = new Map<string, string>()
  const walk = (value: unknown, path: string) => {
    if (typeof value === 'string') found.set(path, value)
    else for (const [key, inner] of Object.entries(value as object)) walk(inner, path ? `${path}.${key}` : key)
  }
  walk(JSON.parse(readFileSync(join(page, room, `words.${language}.json`), 'utf8')), '')
  return found
}

/** English shows the server's sentence; other languages have their own text for its code. */
const SERVERS_OWN = /^\{\{(?:detail|message|words|advice)\}\}$/
/** A number picks the form; the server's own words may be added. */
const BESIDE = ['count', 'words']

const PLURAL = /_(?:zero|one|two|few|many|other)$/
const stem = (key: string) => key.replace(PLURAL, '')
const valuesIn = (text: string) => [...text.matchAll(/\{\{\s*([\w.]+)[^}]*\}\}/g)].map(match => match[1]!).sort()

it('reads the words of some rooms', () => {
  expect(rooms).toContain('words')
  expect(rooms.length).toBeGreaterThan(2)
})

describe.each(rooms)('of %s', room => {
  const words = { en: wordsOf(room, 'en'), ru: wordsOf(room, 'ru') }

  it('have the same keys in both languages, and none is empty', () => {
    const stems = languages.map(language => [...new Set([...words[language].keys()].map(stem))].sort())
    expect(stems[1]).toEqual(stems[0])
    for (const language of languages) {
      for (const [key, text] of words[language]) expect(text.trim(), `${language} ${key}`).not.toBe('')
    }
  })

  it('name the same values', () => {
    const named = (language: Language) =>
      Object.fromEntries(
        [...words[language]]
          .filter(([, text]) => !SERVERS_OWN.test(text))
          .map(([key, text]) => [stem(key), [...new Set(valuesIn(text))].filter(value => !BESIDE.includes(value))]),
      )
    const [en, ru] = [named('en'), named('ru')]
    for (const [key, values] of Object.entries(en)) expect([key, ru[key]]).toEqual([key, values])
  })

  it.each(languages)('have every form of a number in %s', language => {
    const wanted = new Intl.PluralRules(language).resolvedOptions().pluralCategories
    const plural = new Map<string, string[]>()
    for (const key of words[language].keys()) {
      const form = PLURAL.exec(key)?.[0].slice(1)
      if (form) plural.set(stem(key), [...(plural.get(stem(key)) ?? []), form])
    }
    for (const [key, forms] of plural) expect(forms.sort(), key).toEqual([...wanted].sort())
  })
})

it('there are words for every refusal of the API', () => {
  for (const language of languages) {
    const words = wordsOf('words', language)
    const known = [...words.keys()].filter(key => key.startsWith('problem.codes.')).map(key => key.split('.')[2])
    expect(known.sort()).toEqual(Object.keys(problems).sort())
  }
})

/** Letters of the other alphabet give away what was forgotten; names, codes and examples are the same everywhere. */
it('Russian is Russian', () => {
  const strangers = rooms.flatMap(room =>
    [...wordsOf(room, 'ru')]
      .filter(([, text]) => /[a-z]{4,}/i.test(text.replace(/\{\{[^}]*\}\}/g, '')) && !/[а-яё]/i.test(text))
      .map(([key, text]) => `${room}.${key}: ${text}`),
  )
  // Proper names and what is typed as it stands.
  expect(strangers.filter(line => !/: [A-Z][\w.+\-/ ]*$|: baresip$|https?:|@|[{}<>_/]/.test(line))).toEqual([])
})
