/** RTP packets (RFC 3550 §5.1). */

export interface RtpPacket {
  payloadType: number
  marker: boolean
  /** 16-bit sequence number. */
  sequence: number
  /** 32-bit timestamp, in units of the payload's clock. */
  timestamp: number
  ssrc: number
  payload: Uint8Array
}

export const RTP_HEADER_BYTES = 12
const VERSION_2 = 0x80

/** Returns null unless the data is valid RTP version 2. The payload is a view into `data`. */
export function parseRtp(data: Buffer): RtpPacket | null {
  if (data.length < RTP_HEADER_BYTES || (data[0]! & 0xc0) !== VERSION_2) return null
  let start = RTP_HEADER_BYTES + (data[0]! & 0x0f) * 4
  if (data[0]! & 0x10) {
    if (start + 4 > data.length) return null
    start += 4 + data.readUInt16BE(start + 2) * 4
  }
  let end = data.length
  if (data[0]! & 0x20) {
    const padding = data[data.length - 1]!
    if (padding === 0) return null
    end -= padding
  }
  if (start > end) return null
  return {
    payloadType: data[1]! & 0x7f,
    marker: (data[1]! & 0x80) !== 0,
    sequence: data.readUInt16BE(2),
    timestamp: data.readUInt32BE(4),
    ssrc: data.readUInt32BE(8),
    payload: data.subarray(start, end),
  }
}

/** Writes the header into the first 12 bytes; the payload follows it. */
export function writeRtpHeader(into: Buffer, packet: Omit<RtpPacket, 'payload'>): void {
  into[0] = VERSION_2
  into[1] = (packet.marker ? 0x80 : 0) | packet.payloadType
  into.writeUInt16BE(packet.sequence & 0xffff, 2)
  into.writeUInt32BE(packet.timestamp >>> 0, 4)
  into.writeUInt32BE(packet.ssrc >>> 0, 8)
}

/** Signed distance from `b` to `a` modulo 2^16 (RFC 1982). */
export const sequenceDelta = (a: number, b: number) => ((a - b) << 16) >> 16

/** True for RTCP, whose packet types are in this range of the second byte (RFC 5761 §4). */
export const looksLikeRtcp = (data: Buffer) => data.length >= 8 && data[1]! >= 192 && data[1]! <= 223
