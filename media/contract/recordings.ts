/** Keys of recordings in the blob store. An account's recordings share a folder, since they are erased together. */
export const recordingsOf = (ownerId: string) => `recordings/${ownerId}`
export const recordingKey = (ownerId: string, callId: string) => `${recordingsOf(ownerId)}/${callId}.wav`
