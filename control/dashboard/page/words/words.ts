/**
 * Translations in English and Russian. Each folder of the page is an i18next namespace, with its strings in
 * `words.en.json` and `words.ru.json`; the namespace `words` holds the shared strings. A namespace is loaded when a
 * page first uses it.
 */
import i18next, { type BackendModule } from 'i18next'
import { initReactI18next } from 'react-i18next'

export const languages = { en: 'English', ru: 'Русский' } as const
export type Language = keyof typeof languages

const KEPT_AS = 'parley-language'
const isLanguage = (value: string | null | undefined): value is Language =>
  typeof value === 'string' && Object.hasOwn(languages, value)

const files = import.meta.glob<Record<string, unknown>>('/*/words.*.json', { import: 'default' })

/** Loads translations as chunks of the build. */
const backend: BackendModule = {
  type: 'backend',
  init() {},
  read(language, namespace, callback) {
    const load = files[`/${namespace}/words.${language}.json`]
    if (!load) return callback(new Error(`No translations for ${namespace} in ${language}`), false)
    load().then(
      words => callback(null, words),
      error => callback(error as Error, false),
    )
  },
}

/**
 * Returns the language chosen earlier, or the first of the browser's languages that is available; English otherwise.
 */
function preferred(): Language {
  const kept = localStorage.getItem(KEPT_AS)
  if (isLanguage(kept)) return kept
  return navigator.languages.map(tag => tag.slice(0, 2)).find(isLanguage) ?? 'en'
}

export async function startWords(): Promise<void> {
  i18next.on('languageChanged', language => {
    document.documentElement.lang = language
  })
  await i18next
    .use(backend)
    .use(initReactI18next)
    .init({
      lng: preferred(),
      fallbackLng: false,
      ns: ['words'],
      defaultNS: 'words',
      interpolation: { escapeValue: false }, // React escapes values
      returnNull: false,
    })
}

export async function speak(language: Language): Promise<void> {
  localStorage.setItem(KEPT_AS, language)
  await i18next.changeLanguage(language)
}

export const spoken = (): Language => (isLanguage(i18next.language) ? i18next.language : 'en')
