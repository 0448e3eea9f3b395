/** The parameters that signalling has negotiated for one audio stream. */
import type { OpusSending } from '../audio/coder.ts'
import type { CodecName } from '../contract/plan.ts'
import type { Address } from './address.ts'
import type { RtpSecurity } from './srtp-session.ts'

export interface RtpParams {
  /** Remote address from SDP (c= and m=). */
  remote: Address
  /** Remote address for RTCP (a=rtcp); the port above `remote` by default. */
  rtcp?: Address
  /** Codec that we send. */
  codec: CodecName
  payloadType: number
  /** Payload type of the telephone-events that we send; null when the far end does not accept them. */
  dtmfPayloadType: number | null
  /** Clock rate of those events in Hz; the codec's by default. */
  dtmfClockRate?: number
  /** Formats that the far end may send, by payload type; by default the ones that we send. */
  receive?: { formats: ReadonlyMap<number, CodecName>; dtmfPayloadTypes: readonly number[] }
  /** Milliseconds of audio per packet that we send; 20 by default. */
  ptimeMs?: number
  opus?: OpusSending
  /** Direction from our side: `recvonly` and `inactive` send nothing. */
  direction: 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'
  /** No encryption by default. */
  security?: RtpSecurity
  /** RTCP shares the RTP socket (RFC 5761); false by default. */
  rtcpMux?: boolean
}

export const maySend = ({ direction }: RtpParams) => direction === 'sendrecv' || direction === 'sendonly'
export const mayReceive = ({ direction }: RtpParams) => direction === 'sendrecv' || direction === 'recvonly'

/** Codec of a payload type, `dtmf` for telephone-events, or null when it was not negotiated. */
export function kindOf(params: RtpParams, payloadType: number): CodecName | 'dtmf' | null {
  const { receive } = params
  const dtmf = receive ? receive.dtmfPayloadTypes.includes(payloadType) : payloadType === params.dtmfPayloadType
  if (dtmf) return 'dtmf'
  if (receive) return receive.formats.get(payloadType) ?? null
  return payloadType === params.payloadType ? params.codec : null
}
