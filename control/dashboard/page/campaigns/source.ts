/** The input of an upload: the bytes of a file, or pasted text. */
export type Source = { name: string; bytes: Uint8Array } | { name: null; text: string }
