/**
 * RTCP sender and receiver reports (RFC 3550 §6.4): enough for peers that require them, and for the loss that peers
 * report.
 */

export interface ReportBlock {
  ssrc: number
  /** Loss since the last report, in units of 1/256. */
  fractionLost: number
  cumulativeLost: number
  highestSequence: number
  /** Jitter in timestamp units. */
  jitter: number
  lastSr: number
  delaySinceLastSr: number
}

export interface RtcpReport {
  ssrc: number
  /** The middle 32 bits of the NTP time of a sender report, to be returned as `lastSr`; null for a receiver report. */
  ntpMiddle: number | null
  blocks: ReportBlock[]
  bye: boolean
}

const SR = 200
const RR = 201
const SDES = 202
const BYE = 203
const NTP_EPOCH_OFFSET_S = 2_208_988_800

/** Returns null when the compound packet is malformed; skips unknown packet types. */
export function parseRtcp(data: Buffer): RtcpReport | null {
  const report: RtcpReport = { ssrc: 0, ntpMiddle: null, blocks: [], bye: false }
  for (let at = 0; at < data.length; ) {
    if (at + 8 > data.length || (data[at]! & 0xc0) !== 0x80) return null
    const count = data[at]! & 0x1f
    const type = data[at + 1]!
    const end = at + 4 + data.readUInt16BE(at + 2) * 4
    if (end > data.length) return null
    if (type === SR || type === RR) {
      const blocksAt = at + (type === SR ? 28 : 8)
      if (blocksAt + count * 24 > end) return null
      report.ssrc = data.readUInt32BE(at + 4)
      if (type === SR) report.ntpMiddle = data.readUInt32BE(at + 10)
      for (let i = 0; i < count; i++) report.blocks.push(readBlock(data, blocksAt + i * 24))
    }
    if (type === BYE) report.bye = true
    at = end
  }
  return report
}

function readBlock(data: Buffer, at: number): ReportBlock {
  return {
    ssrc: data.readUInt32BE(at),
    fractionLost: data[at + 4]!,
    cumulativeLost: (data.readUInt32BE(at + 4) << 8) >> 8,
    highestSequence: data.readUInt32BE(at + 8),
    jitter: data.readUInt32BE(at + 12),
    lastSr: data.readUInt32BE(at + 16),
    delaySinceLastSr: data.readUInt32BE(at + 20),
  }
}

export interface SenderInfo {
  ssrc: number
  cname: string
  wallMs: number
  timestamp: number
  packets: number
  octets: number
  blocks: ReportBlock[]
  bye: boolean
}

/** Builds SR + SDES CNAME (+ BYE), the minimum that RFC 3550 §6.1 requires. */
export function buildRtcp(info: SenderInfo): Buffer {
  const sr = Buffer.alloc(28 + info.blocks.length * 24)
  sr[0] = 0x80 | info.blocks.length
  sr[1] = SR
  sr.writeUInt16BE(sr.length / 4 - 1, 2)
  sr.writeUInt32BE(info.ssrc >>> 0, 4)
  sr.writeUInt32BE((Math.floor(info.wallMs / 1000) + NTP_EPOCH_OFFSET_S) >>> 0, 8)
  sr.writeUInt32BE(Math.floor(((info.wallMs % 1000) / 1000) * 2 ** 32) >>> 0, 12)
  sr.writeUInt32BE(info.timestamp >>> 0, 16)
  sr.writeUInt32BE(info.packets >>> 0, 20)
  sr.writeUInt32BE(info.octets >>> 0, 24)
  info.blocks.forEach((block, i) => {
    const at = 28 + i * 24
    sr.writeUInt32BE(block.ssrc >>> 0, at)
    sr.writeUInt32BE(((block.fractionLost << 24) | (block.cumulativeLost & 0xffffff)) >>> 0, at + 4)
    sr.writeUInt32BE(block.highestSequence >>> 0, at + 8)
    sr.writeUInt32BE(block.jitter >>> 0, at + 12)
    sr.writeUInt32BE(block.lastSr >>> 0, at + 16)
    sr.writeUInt32BE(block.delaySinceLastSr >>> 0, at + 20)
  })
  const name = Buffer.from(info.cname, 'utf8').subarray(0, 255)
  const sdes = Buffer.alloc(8 + Math.ceil((name.length + 3) / 4) * 4)
  sdes[0] = 0x81
  sdes[1] = SDES
  sdes.writeUInt16BE(sdes.length / 4 - 1, 2)
  sdes.writeUInt32BE(info.ssrc >>> 0, 4)
  sdes[8] = 1
  sdes[9] = name.length
  name.copy(sdes, 10)
  if (!info.bye) return Buffer.concat([sr, sdes])
  const bye = Buffer.alloc(8)
  bye[0] = 0x81
  bye[1] = BYE
  bye.writeUInt16BE(1, 2)
  bye.writeUInt32BE(info.ssrc >>> 0, 4)
  return Buffer.concat([sr, sdes, bye])
}
