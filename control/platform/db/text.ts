/**
 * Postgres accepts neither NUL nor unpaired surrogates in text or JSON. In requests of customers they are an error at
 * the edge. In reports of engines (such as a tool's response cut inside a character) they are removed, because a call
 * must end.
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
