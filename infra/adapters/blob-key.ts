const WORDS = /^[a-z0-9][a-z0-9._-]*(?:\/[a-z0-9][a-z0-9._-]*)*$/

/** A key comes from the database in the end, and must lead nowhere else. */
export function checkedKey(key: string): string {
  if (!WORDS.test(key)) throw new Error('not a key of the blob store')
  return key
}
