/** Keys as telephone-events (RFC 4733 §2.5): each press is reported once, however many packets of it are lost. */

const KEYS = '0123456789*#ABCD'

export class DtmfReceiver {
  #lastTimestamp: number | null = null

  /** The key when this packet is the first seen of a press, else null. The marker bit is not trusted: it may be lost. */
  receive(packet: { timestamp: number; payload: Uint8Array }): string | null {
    if (packet.payload.length < 4) return null
    const key = KEYS[packet.payload[0]!]
    // All packets of one press carry the timestamp of its start.
    if (key === undefined || packet.timestamp === this.#lastTimestamp) return null
    // A straggler of an earlier press, reordered.
    if (this.#lastTimestamp !== null && ((packet.timestamp - this.#lastTimestamp) | 0) < 0) return null
    this.#lastTimestamp = packet.timestamp
    return key
  }
}
