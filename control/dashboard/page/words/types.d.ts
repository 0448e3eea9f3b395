/** Types the translation keys, so that an unknown key is a compile error. */
import 'i18next'
import type access from '../access/words.en.json'
import type account from '../account/words.en.json'
import type balance from '../balance/words.en.json'
import type calls from '../calls/words.en.json'
import type campaigns from '../campaigns/words.en.json'
import type contacts from '../contacts/words.en.json'
import type data from '../data/words.en.json'
import type diagnosis from '../diagnosis/words.en.json'
import type doNotCall from '../do-not-call/words.en.json'
import type home from '../home/words.en.json'
import type leads from '../leads/words.en.json'
import type live from '../live/words.en.json'
import type projects from '../projects/words.en.json'
import type talk from '../talk/words.en.json'
import type talkPage from '../talk-page/words.en.json'
import type team from '../team/words.en.json'
import type trunks from '../trunks/words.en.json'
import type words from './words.en.json'

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'words'
    resources: {
      access: typeof access
      account: typeof account
      balance: typeof balance
      calls: typeof calls
      campaigns: typeof campaigns
      contacts: typeof contacts
      data: typeof data
      diagnosis: typeof diagnosis
      'do-not-call': typeof doNotCall
      home: typeof home
      leads: typeof leads
      live: typeof live
      projects: typeof projects
      talk: typeof talk
      'talk-page': typeof talkPage
      team: typeof team
      trunks: typeof trunks
      words: typeof words
    }
  }
}
