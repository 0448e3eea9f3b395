/**
 * Postgres takes neither NUL nor half a surrogate pair in text or JSON. From customers they are an error at the edge;
 * in what engines report (a tool's answer cut in the middle of a character) they are dropped, since a call must end.
 */
export function isCleanText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

export function cleanText(text: string): string {
  return isCleanText(text) ? text : text.replaceAll('\0', '').toWellFormed()
}

export function cleanJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'string') return cleanText(inner)
    if (inner === null || typeof inner !== 'object' || Object.keys(inner).every(isCleanText)) return inner
    return Object.fromEntries(Object.entries(inner).map(([key, one]) => [cleanText(key), one]))
  })
}
