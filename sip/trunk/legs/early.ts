import type { EarlyMedia } from '../../../media/ports/inbound.ts'
import type { RtpSession } from '../../../media/rtp/session.ts'
import type { AgreedAudio, LocalAudio } from '../../text/offer.ts'
import { rtpParams, sampleRateOf } from './media.ts'

export type EarlyOptions = {
  readonly rtp: RtpSession
  readonly audio: AgreedAudio
  readonly local: LocalAudio
  readonly signal: AbortSignal
  /** Called when required encryption is not available. */
  onInsecure(): void
}

/** True when the far end does not want audio from us (RFC 3264 §6.1). */
export const acceptsNoAudio = ({ direction }: AgreedAudio): boolean =>
  direction === 'recvonly' || direction === 'inactive'

/** Opens our audio on an unanswered call whose caller already has our description. */
export function openEarly({ rtp, audio, local, signal, onInsecure }: EarlyOptions): EarlyMedia {
  const sampleRate = sampleRateOf(audio, local)
  rtp.configure(rtpParams(audio))
  void rtp.insecure.then(onInsecure)
  return {
    sampleRate,
    signal,
    attach: pull => rtp.attach({ pull, push() {}, dtmf() {} }, sampleRate),
  }
}
