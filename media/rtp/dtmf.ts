/** Keys as telephone-events (RFC 4733 §2.5): each press is reported once, however many packets of it are lost. */

const KEYS = '0123456789*#ABCD'

export class DtmfReceiver {
  /** The last press: all its packets carry the timestamp of its start. */
  #last: { ssrc: number; timestamp: number } | null = null

  /** The key when this packet is the first seen of a press, else null. The marker bit is not trusted: it may be lost. */
  receive(packet: { ssrc: number; timestamp: number; payload: Uint8Array }): string | null {
    if (packet.payload.length < 4) return null
    const key = KEYS[packet.payload[0]!]
    if (key === undefined) return null
    const { ssrc, timestamp } = packet
    // The same press, or a straggler of an earlier one, reordered. Another stream has times of its own.
    if (this.#last?.ssrc === ssrc && ((timestamp - this.#last.timestamp) | 0) <= 0) return null
    this.#last = { ssrc, timestamp }
    return key
  }
}
