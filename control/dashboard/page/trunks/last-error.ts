/** Maps the API's English sentences about a failed registration to translation keys. */
const sentences = {
  'The carrier did not accept the user name or password.': 'password',
  'The carrier’s realm differs from the trunk’s realm.': 'realm',
  'The carrier asks for an authentication method that we do not support.': 'unsupported',
  'The carrier does not allow this user to register.': 'notAllowed',
  'The carrier does not know this user.': 'unknownUser',
  'The carrier refuses every registration interval as too short.': 'tooBrief',
  'The carrier requires payment first.': 'unpaid',
  'The carrier has no free line.': 'busy',
  'The trunk’s host does not answer.': 'silent',
  'There was no answer in time.': 'silent',
  'The carrier redirected the call, which is not supported.': 'elsewhere',
} as const

export type LastErrorWord = (typeof sentences)[keyof typeof sentences]
export interface LastError {
  word: LastErrorWord | 'code'
  code: string
}

const CODE = /^The carrier refused with code (\d{3})\.$/

/** Returns null for a sentence without a translation. */
export function lastErrorOf(sentence: string): LastError | null {
  const code = CODE.exec(sentence)?.[1]
  if (code !== undefined) return { word: 'code', code }
  const known: Record<string, LastErrorWord> = sentences
  return Object.hasOwn(known, sentence) ? { word: known[sentence]!, code: '' } : null
}
