/** Where the recordings of calls lie in the blob store. Those of an account lie together, since they are erased together. */
export const recordingsOf = (ownerId: string) => `recordings/${ownerId}`
export const recordingKey = (ownerId: string, callId: string) => `${recordingsOf(ownerId)}/${callId}.wav`
