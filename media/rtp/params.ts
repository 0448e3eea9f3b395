/** What signalling has agreed for one stream of sound. */
import type { OpusSending } from '../audio/coder.ts'
import type { CodecName } from '../contract/plan.ts'
import type { Address } from './address.ts'
import type { RtpSecurity } from './srtp-session.ts'

export interface RtpParams {
  /** As signalled (SDP c= and m=). */
  remote: Address
  /** Where the far end takes RTCP (a=rtcp); the port above `remote` unless given. */
  rtcp?: Address
  /** What we send. */
  codec: CodecName
  payloadType: number
  /** Of the telephone-events that we send; null: the far end takes none. */
  dtmfPayloadType: number | null
  /** Of those events, in Hz; the codec's unless given. */
  dtmfClockRate?: number
  /** What the far end may send, by payload type; the same as we do unless given. */
  receive?: { formats: ReadonlyMap<number, CodecName>; dtmfPayloadTypes: readonly number[] }
  /** Of the packets that we send; 20 unless given. */
  ptimeMs?: number
  opus?: OpusSending
  /** From our side: `recvonly` and `inactive` send nothing. */
  direction: 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'
  /** None unless given. */
  security?: RtpSecurity
  /** RTCP goes over the socket of the sound (RFC 5761); not unless given. */
  rtcpMux?: boolean
}

export const maySend = ({ direction }: RtpParams) => direction === 'sendrecv' || direction === 'sendonly'
export const mayReceive = ({ direction }: RtpParams) => direction === 'sendrecv' || direction === 'recvonly'

/** What a packet of this number is to us. */
export function kindOf(params: RtpParams, payloadType: number): CodecName | 'dtmf' | null {
  const { receive } = params
  const dtmf = receive ? receive.dtmfPayloadTypes.includes(payloadType) : payloadType === params.dtmfPayloadType
  if (dtmf) return 'dtmf'
  if (receive) return receive.formats.get(payloadType) ?? null
  return payloadType === params.payloadType ? params.codec : null
}
