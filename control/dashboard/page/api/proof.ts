/** Tells the frame of the app that an operation needs another proof of the second factor. */
const wanted = new EventTarget()
const NAME = 'wanted'

export const askForProof = (): boolean => wanted.dispatchEvent(new Event(NAME))

/** Returns the function that stops listening. */
export function onProofWanted(listen: () => void): () => void {
  wanted.addEventListener(NAME, listen)
  return () => wanted.removeEventListener(NAME, listen)
}
