/**
 * Splits a byte stream into SIP messages by Content-Length (RFC 3261 §18.3) and detects keep-alives (RFC 5626 §3.5.1: a
 * double CRLF is a ping, answered with a single one).
 */
export type StreamEvent =
  | { type: 'message'; bytes: Buffer }
  | { type: 'ping' }
  | { type: 'broken'; code: FramingErrorCode }

/** After any of these errors the stream is unusable: the start of the next message is unknown. */
export type FramingErrorCode = 'head_too_large' | 'body_too_large' | 'bad_content_length'

const MAX_HEAD = 65_536
const MAX_BODY = 131_072
const CONTENT_LENGTH = /(?:^|\r\n)(?:content-length|l)[ \t]*:[ \t]*([^\r\n]*?)[ \t]*(?=\r\n|$)/gi

export class StreamFramer {
  #buffer: Buffer = Buffer.alloc(0)
  #broken = false
  /** Offset at which the search for the blank line continues, so that a slow sender causes no second scan. */
  #scanned = 0
  /** Bytes of the current message, once its head is read. Until they have arrived, chunks are not joined or scanned. */
  #needed = 0
  readonly #waiting: Buffer[] = []
  #waitingBytes = 0

  /** True in the middle of a message. A peer that stops there occupies memory. */
  get partial(): boolean {
    return this.#buffer.length + this.#waitingBytes > 0
  }

  push(chunk: Buffer): StreamEvent[] {
    const events: StreamEvent[] = []
    if (this.#broken) return events
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.length
    if (this.#buffer.length + this.#waitingBytes < this.#needed) return events
    const pieces = this.#waiting.splice(0)
    this.#waitingBytes = 0
    this.#buffer = this.#buffer.length === 0 && pieces.length === 1 ? chunk : Buffer.concat([this.#buffer, ...pieces])
    for (;;) {
      const event = this.#next()
      if (event === null) return events
      events.push(event)
      if (event.type === 'broken') {
        this.#broken = true
        this.#buffer = Buffer.alloc(0)
        return events
      }
    }
  }

  #next(): StreamEvent | null {
    if (this.#skipLineEnds()) return { type: 'ping' }
    const end = this.#buffer.indexOf('\r\n\r\n', this.#scanned)
    if (end < 0) {
      this.#scanned = Math.max(0, this.#buffer.length - 3)
      return this.#buffer.length > MAX_HEAD ? { type: 'broken', code: 'head_too_large' } : null
    }
    if (end > MAX_HEAD) return { type: 'broken', code: 'head_too_large' }
    const length = contentLength(this.#buffer.toString('latin1', 0, end))
    if (length === null) return { type: 'broken', code: 'bad_content_length' }
    if (length > MAX_BODY) return { type: 'broken', code: 'body_too_large' }
    const total = end + 4 + length
    if (this.#buffer.length < total) {
      this.#needed = total
      return null
    }
    const bytes = Buffer.from(this.#buffer.subarray(0, total))
    this.#take(total)
    return { type: 'message', bytes }
  }

  /** Returns true when it removed a ping (CRLF CRLF). A lone CRLF between messages is dropped. */
  #skipLineEnds(): boolean {
    while (this.#buffer[0] === 13 && this.#buffer[1] === 10) {
      const ping = this.#buffer[2] === 13 && this.#buffer[3] === 10
      // A lone CRLF may be the first half of a ping, or a pong: wait for more bytes.
      if (!ping && this.#buffer.length < 4 && (this.#buffer.length === 2 || this.#buffer[2] === 13)) return false
      this.#take(ping ? 4 : 2)
      if (ping) return true
    }
    return false
  }

  #take(count: number): void {
    this.#buffer = this.#buffer.subarray(count)
    this.#scanned = 0
    this.#needed = 0
  }
}

/**
 * RFC 3261 §20.14: mandatory on streams. A missing one counts as 0, for peers that omit it in a request without body.
 */
function contentLength(head: string): number | null {
  const values = [...head.matchAll(CONTENT_LENGTH)].map(match => match[1]!)
  if (values.length === 0) return 0
  if (values.some(value => value !== values[0] || !/^\d{1,9}$/.test(value))) return null
  return Number(values[0])
}
