/** SRTP and SRTCP for one direction (RFC 3711): protects sent packets, and unprotects each received packet once. */
import { sequenceDelta } from './packet.ts'
import type { MasterKey } from './srtp-keys.ts'
import { createTransform, type Transform } from './srtp-transform.ts'

const RTP_HEADER_BYTES = 12
const RTCP_HEADER_BYTES = 8
const RTCP_WORD_BYTES = 4
const ENCRYPTED = 0x8000_0000
const MAX_RTP_INDEX = 2 ** 48 - 1
const MAX_RTCP_INDEX = 2 ** 31 - 1
/** Replay window; RFC 3711 §3.3.2 requires at least 64. */
const WINDOW = 128
/** Maximum of SSRCs: a peer may change its SSRC for each announcement, but not for each packet. */
const MAX_STREAMS = 256

/** Remembers the indices received (RFC 3711 §3.3.2). */
class ReplayWindow {
  highest = -1
  readonly #seen = new Float64Array(WINDOW).fill(-1)

  isFresh(index: number): boolean {
    return index > this.highest - WINDOW && this.#seen[index % WINDOW] !== index
  }

  mark(index: number): void {
    this.#seen[index % WINDOW] = index
    this.highest = Math.max(this.highest, index)
  }
}

/** Returns the 48-bit index with this sequence number nearest to `highest`; negative: none (RFC 3711 §3.3.1). */
export function indexNear(sequence: number, highest: number): number {
  return highest < 0 ? sequence : highest + sequenceDelta(sequence, highest & 0xffff)
}

/** Length of the clear part: fixed header, contributing sources, extension. Null when the packet is malformed. */
function rtpHeaderBytes(data: Buffer): number | null {
  if (data.length < RTP_HEADER_BYTES || data[0]! >> 6 !== 2) return null
  let bytes = RTP_HEADER_BYTES + (data[0]! & 0x0f) * 4
  if (data[0]! & 0x10) {
    if (bytes + 4 > data.length) return null
    bytes += 4 + data.readUInt16BE(bytes + 2) * 4
  }
  return bytes <= data.length ? bytes : null
}

function rolloverOf(index: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(Math.floor(index / 65_536))
  return bytes
}

function rtcpWord(index: number): Buffer {
  const bytes = Buffer.alloc(RTCP_WORD_BYTES)
  bytes.writeUInt32BE(ENCRYPTED + index)
  return bytes
}

/** Use one per master key and SSRC: encrypting two packets with the same index reveals both. */
export class SrtpSender {
  readonly key: MasterKey
  readonly #rtp: Transform
  readonly #rtcp: Transform
  #index: number
  #rtcpIndex = 0

  /** A new key for the same SSRC continues the rollover counter (RFC 3711 §3.3.1). */
  constructor(key: MasterKey, previous: SrtpSender | null = null) {
    this.key = key
    this.#rtp = createTransform(key, 'rtp')
    this.#rtcp = createTransform(key, 'rtcp')
    this.#index = previous ? previous.#index : -1
  }

  /** Takes packets in the order of their sequence numbers. Returns null when the key has no index left. */
  rtp(packet: Buffer): Buffer | null {
    const bytes = rtpHeaderBytes(packet)
    const index = indexNear(packet.readUInt16BE(2), this.#index)
    if (bytes === null || index <= this.#index || index > MAX_RTP_INDEX) return null
    this.#index = index
    const header = packet.subarray(0, bytes)
    const sealed = this.#rtp.seal(header, packet.subarray(bytes), rolloverOf(index), packet.readUInt32BE(8), index)
    return Buffer.concat([header, sealed.body, sealed.tag])
  }

  /** Returns null when the key has no index left. */
  rtcp(packet: Buffer): Buffer | null {
    if (packet.length < RTCP_HEADER_BYTES || this.#rtcpIndex > MAX_RTCP_INDEX) return null
    const index = this.#rtcpIndex++
    const header = packet.subarray(0, RTCP_HEADER_BYTES)
    const word = rtcpWord(index)
    const { body, tag } = this.#rtcp.seal(header, packet.subarray(8), word, packet.readUInt32BE(4), index)
    // GCM has its tag before the word, counter mode after it (RFC 7714 §9.2, RFC 3711 §3.4).
    return Buffer.concat(this.#rtcp.tagBytes === 16 ? [header, body, tag, word] : [header, body, word, tag])
  }
}

interface Stream {
  rtp: ReplayWindow
  rtcp: ReplayWindow
}

/**
 * Unprotects packets of one master key of the far end. `rtp` and `rtcp` return null for a packet that is not authentic,
 * repeated, too old or malformed; such a packet changes no state.
 */
export class SrtpReceiver {
  readonly key: MasterKey
  readonly #rtp: Transform
  readonly #rtcp: Transform
  readonly #streams = new Map<number, Stream>()
  /** The previous key remains valid for packets in transit until the first packet under the new key. */
  #previous: SrtpReceiver | null
  readonly #earlier: ReadonlyMap<number, number>

  constructor(key: MasterKey, previous: SrtpReceiver | null = null) {
    this.key = key
    this.#rtp = createTransform(key, 'rtp')
    this.#rtcp = createTransform(key, 'rtcp')
    this.#previous = previous && previous.#streams.size === 0 ? previous.#previous : previous
    this.#earlier = previous ? previous.#highest() : new Map()
  }

  #highest(): ReadonlyMap<number, number> {
    return new Map([...this.#earlier, ...[...this.#streams].map(([ssrc, { rtp }]) => [ssrc, rtp.highest] as const)])
  }

  rtp(data: Buffer): Buffer | null {
    return this.#openRtp(data) ?? this.#previous?.rtp(data) ?? null
  }

  rtcp(data: Buffer): Buffer | null {
    return this.#openRtcp(data) ?? this.#previous?.rtcp(data) ?? null
  }

  #openRtp(data: Buffer): Buffer | null {
    const bytes = rtpHeaderBytes(data)
    const end = data.length - this.#rtp.tagBytes
    if (bytes === null || bytes > end) return null
    const ssrc = data.readUInt32BE(8)
    const header = data.subarray(0, bytes)
    for (const index of this.#indices(ssrc, data.readUInt16BE(2))) {
      if (index < 0 || index > MAX_RTP_INDEX || this.#streams.get(ssrc)?.rtp.isFresh(index) === false) continue
      const body = data.subarray(bytes, end)
      const clear = this.#rtp.open(header, body, rolloverOf(index), data.subarray(end), ssrc, index)
      if (clear === null) continue
      const stream = this.#admit(ssrc)
      if (stream === null) return null
      stream.rtp.mark(index)
      return Buffer.concat([header, clear])
    }
    return null
  }

  /** After a new key some senders continue the rollover counter, as required, and some restart it. */
  #indices(ssrc: number, sequence: number): number[] {
    const stream = this.#streams.get(ssrc)
    if (stream && stream.rtp.highest >= 0) return [indexNear(sequence, stream.rtp.highest)]
    const earlier = this.#earlier.get(ssrc) ?? -1
    return earlier > 0xffff ? [indexNear(sequence, earlier), sequence] : [sequence]
  }

  #openRtcp(data: Buffer): Buffer | null {
    const { tagBytes } = this.#rtcp
    const end = data.length - tagBytes - RTCP_WORD_BYTES
    if (end < RTCP_HEADER_BYTES || data[0]! >> 6 !== 2) return null
    const tagFirst = tagBytes === 16
    const word = data.subarray(tagFirst ? end + tagBytes : end).subarray(0, RTCP_WORD_BYTES)
    const tag = data.subarray(tagFirst ? end : end + RTCP_WORD_BYTES).subarray(0, tagBytes)
    const index = word.readUInt32BE(0) - ENCRYPTED
    const ssrc = data.readUInt32BE(4)
    // Unencrypted SRTCP requires agreement (RFC 4568 §6.3.3), and we never agree to it.
    if (index < 0 || this.#streams.get(ssrc)?.rtcp.isFresh(index) === false) return null
    const header = data.subarray(0, RTCP_HEADER_BYTES)
    const clear = this.#rtcp.open(header, data.subarray(RTCP_HEADER_BYTES, end), word, tag, ssrc, index)
    const stream = clear && this.#admit(ssrc)
    if (!stream) return null
    stream.rtcp.mark(index)
    return Buffer.concat([header, clear])
  }

  /** Only an authentic packet creates a stream, so that forged ones cannot fill the table. */
  #admit(ssrc: number): Stream | null {
    this.#previous = null
    const known = this.#streams.get(ssrc)
    if (known) return known
    if (this.#streams.size >= MAX_STREAMS) return null
    const stream = { rtp: new ReplayWindow(), rtcp: new ReplayWindow() }
    this.#streams.set(ssrc, stream)
    return stream
  }
}
