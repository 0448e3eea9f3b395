/** The transcript of scripted STT for any audio; it determines how long our agents wait for more. */
export const HEARD = 'Please tell me more.'
