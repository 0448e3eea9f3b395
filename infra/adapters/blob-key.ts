const WORDS = /^[a-z0-9][a-z0-9._-]*(?:\/[a-z0-9][a-z0-9._-]*)*$/

/** Rejects keys with unexpected characters: a key comes from the database and must not lead outside the store. */
export function checkedKey(key: string): string {
  if (!WORDS.test(key)) throw new Error('Not a valid blob key')
  return key
}
