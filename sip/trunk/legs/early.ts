import type { EarlySound } from '../../../media/ports/inbound.ts'
import type { RtpSession } from '../../../media/rtp/session.ts'
import type { AgreedAudio, LocalAudio } from '../../text/offer.ts'
import { rtpParams, sampleRateOf } from './media.ts'

export type EarlyOptions = {
  readonly rtp: RtpSession
  readonly audio: AgreedAudio
  readonly local: LocalAudio
  readonly signal: AbortSignal
  /** What must be encrypted can't be. */
  onInsecure(): void
}

/** It has asked us for no sound (RFC 3264 §6.1). */
export const isDeaf = ({ direction }: AgreedAudio): boolean => direction === 'recvonly' || direction === 'inactive'

/** Our sound on a call that is not answered; its description is with the caller. */
export function openEarly({ rtp, audio, local, signal, onInsecure }: EarlyOptions): EarlySound {
  const sampleRate = sampleRateOf(audio, local)
  rtp.configure(rtpParams(audio))
  void rtp.insecure.then(onInsecure)
  return {
    sampleRate,
    signal,
    attach: pull => rtp.attach({ pull, push() {}, dtmf() {} }, sampleRate),
  }
}
