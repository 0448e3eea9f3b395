/** Receives telephone-events (RFC 4733 §2.5): reports each key press once, however many of its packets are lost. */

const KEYS = '0123456789*#ABCD'

export class DtmfReceiver {
  /** The last event: all its packets have the timestamp of its start. */
  #last: { ssrc: number; timestamp: number } | null = null

  /**
   * Returns the key for the first packet of an event, else null. Ignores the marker bit, since that packet may be lost.
   */
  receive(packet: { ssrc: number; timestamp: number; payload: Uint8Array }): string | null {
    if (packet.payload.length < 4) return null
    const key = KEYS[packet.payload[0]!]
    if (key === undefined) return null
    const { ssrc, timestamp } = packet
    // A repetition, or a reordered packet of an earlier event. Timestamps of another stream are unrelated.
    if (this.#last?.ssrc === ssrc && ((timestamp - this.#last.timestamp) | 0) <= 0) return null
    this.#last = { ssrc, timestamp }
    return key
  }
}
