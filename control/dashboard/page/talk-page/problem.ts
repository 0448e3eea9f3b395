/** Error messages of the page `/talk`. */
import type { TFunction } from 'i18next'
import { ParleyError } from '../api/queries.ts'
import { TalkError, talkProblem } from '../conversation/talk-error.ts'
import type words from './words.en.json'

type Problem = keyof (typeof words)['problems']

/** Returns the page's own message for an error code, else that of the talk panel, else the server's. */
export function talkPageProblem(
  t: TFunction<['talk-page', 'talk', 'calls']>,
  common: TFunction<'words'>,
  error: unknown,
): string {
  const panel = t as unknown as TFunction<['talk', 'calls']>
  if (!(error instanceof TalkError || error instanceof ParleyError)) return talkProblem(panel, common, error)
  const code = error.code as Problem
  const own = t([`problems.${code}`, `talk:problems.${code}` as 'talk:problems.lost'], { defaultValue: '' })
  return own || talkProblem(panel, common, error)
}
