/** Maps the API's English sentences about a failed registration to translation keys. */
const sentences = {
  'The carrier did not accept the user name or password.': 'password',
  'The carrier asks for the password of another realm than the one set for the trunk.': 'realm',
  'The carrier asks to be proven who we are in a way that we do not know.': 'unsupported',
  'The carrier does not let this user register.': 'notAllowed',
  'The carrier does not know this user.': 'unknownUser',
  'The carrier wants a longer registration than it takes.': 'tooBrief',
  'The carrier wants to be paid first.': 'unpaid',
  'The carrier has no free line.': 'busy',
  'Nobody answers at the address of the trunk.': 'silent',
  'Nobody answered in time.': 'silent',
  'The carrier sent the call elsewhere, which is not followed.': 'elsewhere',
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
