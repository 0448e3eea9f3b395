/** What is to be read: the bytes of a file, or what was pasted. */
export type Source = { name: string; bytes: Uint8Array } | { name: null; text: string }
