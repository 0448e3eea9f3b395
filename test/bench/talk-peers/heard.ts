/** What scripted speech-to-text take the callers to have said, whatever it was: it tells how long our agents wait for more. */
export const HEARD = 'Please tell me more.'
