/** Why nobody can talk, or talks no more: a code of our own, an `ended_reason`, or a code of the API. */
import type { TFunction } from 'i18next'
import { problemText } from '../api/problems.ts'
import type calls from '../calls/words.en.json'
import type words from './words.en.json'

export class TalkError extends Error {
  readonly code: string

  constructor(code: string, detail?: string) {
    super(detail ?? code)
    this.name = 'TalkError'
    this.code = code
  }
}

type Problem = keyof (typeof words)['problems']
type Reason = keyof (typeof calls)['reasons']

/** What went wrong, in words: of the talking itself, or of a request that was refused. `t` knows `talk` and `calls`. */
export function talkProblem(t: TFunction<['talk', 'calls']>, common: TFunction<'words'>, error: unknown): string {
  if (!(error instanceof TalkError)) return problemText(common, error)
  const { code } = error
  const ofCall = t(`calls:reasons.${code as Reason}`, { defaultValue: t('problems.other', { code }) })
  return t(`problems.${code as Problem}`, { defaultValue: ofCall })
}
