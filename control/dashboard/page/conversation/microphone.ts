/** Microphone access and its errors. */
import { createLocalAudioTrack, type LocalAudioTrack } from 'livekit-client'
import { TalkError } from './talk-error.ts'

/** Requests the microphone first, so that a refusal costs nothing. */
export async function openMicrophone(): Promise<LocalAudioTrack> {
  if (!navigator.mediaDevices) throw new TalkError('insecure')
  try {
    return await createLocalAudioTrack({ echoCancellation: true, noiseSuppression: true, autoGainControl: true })
  } catch (error) {
    throw new TalkError(error instanceof Error && error.name === 'NotFoundError' ? 'missing' : 'refused')
  }
}
