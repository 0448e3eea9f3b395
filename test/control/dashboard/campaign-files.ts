/** Contact files as offices export them. */

/** Encodes a text as Russian Excel does; supports letters, digits and signs of both alphabets. */
export function cp1251(text: string): Uint8Array {
  const bytes = [...text].map(letter => {
    const code = letter.codePointAt(0)!
    if (code < 0x80) return code
    if (letter === 'Ё') return 0xa8
    if (letter === 'ё') return 0xb8
    if (code >= 0x410 && code <= 0x44f) return code - 0x410 + 0xc0
    throw new Error(`windows-1251 has no ${letter}, or this table does not`)
  })
  return new Uint8Array(bytes)
}
