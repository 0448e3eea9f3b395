/** Keys are checked: a word that is not there is a type error. */
import 'i18next'
import type account from '../account/words.en.json'
import type home from '../home/words.en.json'
import type words from './words.en.json'

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'words'
    resources: {
      account: typeof account
      home: typeof home
      words: typeof words
    }
  }
}
