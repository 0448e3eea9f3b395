/** Errors of a browser call: a local code, an `ended_reason`, or an API error code. */
import type { TFunction } from 'i18next'
import { problemText } from '../api/problems.ts'
import type calls from '../calls/words.en.json'
import type words from '../talk/words.en.json'

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

/** Returns the message for a call error or an API error. `t` must cover the namespaces `talk` and `calls`. */
export function talkProblem(t: TFunction<['talk', 'calls']>, common: TFunction<'words'>, error: unknown): string {
  if (!(error instanceof TalkError)) return problemText(common, error)
  const { code } = error
  const ofCall = t(`calls:reasons.${code as Reason}`, { defaultValue: t('problems.other', { code }) })
  return t(`problems.${code as Problem}`, { defaultValue: ofCall })
}
