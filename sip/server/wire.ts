/** drachtio's admin protocol as bytes: `length#uuid|type|…` frames, with a SIP message after the first CRLF. Pure. */

export type AppFrame =
  | { type: 'authenticate'; msgId: string; secret: string; tags: readonly string[] }
  | { type: 'route' | 'remove_route'; msgId: string; verb: string }
  /** `refusals` is ours: the doctor asks which destinations nothing was sent to. */
  | { type: 'ping' | 'refusals'; msgId: string }
  | {
      type: 'sip'
      msgId: string
      txnId: string
      dialogId: string
      nextHop: string
      message: Buffer
    }
  | ProxyFrame
  | { type: 'unknown'; msgId: string; verb: string }

/** Forwards the request to the destinations, one after the other or all at once; `message` holds headers to add. */
export interface ProxyFrame {
  type: 'proxy'
  msgId: string
  txnId: string
  remainInDialog: boolean
  fullResponse: boolean
  followRedirects: boolean
  simultaneous: boolean
  /**
   * Milliseconds until a destination must send its first response, and its final response; null for the RFC's limits.
   */
  provisionalMs: number | null
  finalMs: number | null
  destinations: readonly string[]
  message: Buffer
}

export class FrameError extends Error {
  readonly code: 'bad_length' | 'too_long'
  constructor(code: 'bad_length' | 'too_long') {
    super(code)
    this.name = 'FrameError'
    this.code = code
  }
}

const HASH = 35
const MAX_DIGITS = 8

export function encodeFrame(msgId: string, leader: string, message?: Buffer): Buffer {
  const head = Buffer.from(`${msgId}|${leader}${message === undefined ? '' : '\r\n'}`, 'latin1')
  const length = head.length + (message?.length ?? 0)
  const prefix = Buffer.from(`${length}#`, 'latin1')
  return Buffer.concat(message === undefined ? [prefix, head] : [prefix, head, message])
}

/** Collects chunks and returns whole frames. Throws FrameError, after which the connection is unusable. */
export class FrameDecoder {
  #chunks: Buffer = Buffer.alloc(0)
  limit: number
  constructor(limit: number) {
    this.limit = limit
  }

  push(chunk: Buffer): Buffer[] {
    this.#chunks = this.#chunks.length === 0 ? chunk : Buffer.concat([this.#chunks, chunk])
    const frames: Buffer[] = []
    for (;;) {
      const hash = this.#chunks.indexOf(HASH)
      if (hash < 0) {
        if (this.#chunks.length > MAX_DIGITS) throw new FrameError('bad_length')
        return frames
      }
      const digits = this.#chunks.toString('latin1', 0, hash)
      if (!/^\d{1,8}$/.test(digits)) throw new FrameError('bad_length')
      const length = Number(digits)
      if (length > this.limit) throw new FrameError('too_long')
      if (this.#chunks.length < hash + 1 + length) return frames
      frames.push(this.#chunks.subarray(hash + 1, hash + 1 + length))
      this.#chunks = this.#chunks.subarray(hash + 1 + length)
    }
  }
}

const NO_BYTES = Buffer.alloc(0)

export function parseAppFrame(frame: Buffer): AppFrame {
  const end = frame.indexOf('\r\n')
  const leader = frame.toString('latin1', 0, end < 0 ? frame.length : end)
  const tokens = leader.split('|')
  const msgId = tokens[0] ?? ''
  const type = tokens[1] ?? ''
  switch (type) {
    case 'authenticate': {
      // The secret is encoded as UTF-8.
      const secret = Buffer.from(tokens[2] ?? '', 'latin1').toString('utf8')
      return { type, msgId, secret, tags: (tokens[3] ?? '').split(',').filter(tag => tag !== '') }
    }
    case 'route':
    case 'remove_route':
      return { type, msgId, verb: (tokens[2] ?? '').toLowerCase() }
    case 'ping':
    case 'refusals':
      return { type, msgId }
    case 'sip': {
      const [txnId = '', dialogId = '', nextHop = ''] = tokens.slice(2)
      return { type, msgId, txnId, dialogId, nextHop, message: end < 0 ? NO_BYTES : frame.subarray(end + 2) }
    }
    case 'proxy':
      return proxyFrame(msgId, tokens.slice(2), end < 0 ? NO_BYTES : frame.subarray(end + 2))
    default:
      return { type: 'unknown', msgId, verb: type }
  }
}

function proxyFrame(msgId: string, tokens: readonly string[], message: Buffer): ProxyFrame {
  const [txnId = '', remain, full, follow, order, provisional = '', final = '', ...destinations] = tokens
  return {
    type: 'proxy',
    msgId,
    txnId,
    destinations: destinations.filter(text => text !== ''),
    message,
    remainInDialog: remain === 'remainInDialog',
    fullResponse: full === 'fullResponse',
    followRedirects: follow === 'followRedirects',
    simultaneous: order === 'simultaneous',
    provisionalMs: duration(provisional),
    finalMs: duration(final),
  }
}

/** `2s` or `1500ms`. */
function duration(text: string): number | null {
  const parts = /^(\d{1,7})(ms|s)$/.exec(text)
  return parts === null ? null : Number(parts[1]) * (parts[2] === 's' ? 1000 : 1)
}

/** `HH:MM:SS.uuuuuu`, the time format of drachtio's frames. */
export function timeOfDay(at: Date): string {
  return `${at.toISOString().slice(11, 23)}000`
}

export interface Stamp {
  bytes: number
  protocol: string
  address: string
  port: number
  time: string
}

function stamped(stamp: Stamp): string {
  return `${stamp.bytes}|${stamp.protocol}|${stamp.address}|${stamp.port}|${stamp.time}`
}

export interface HostPort {
  host: string
  port: number
}

/** Leaders of the frames we send. drachtio-srf reads the tokens by position. */
export const leader = {
  reply: (toMsgId: string, status: 'OK' | 'NO' | 'NOK', text?: string): string =>
    `response|${toMsgId}|${status}${text === undefined ? '' : `|${text}`}`,
  authenticated: (toMsgId: string, hostports: string, version: string, local: string): string =>
    `response|${toMsgId}|OK|${hostports}|${version}|${local}`,
  requestSent: (toMsgId: string, stamp: Stamp, txnId: string): string =>
    `response|${toMsgId}|OK|application|${stamped(stamp)}|${txnId}|Msg sent:|`,
  responseSent: (toMsgId: string, stamp: Stamp, txnId: string, dialogId: string): string =>
    `response|${toMsgId}|OK|application|${stamped(stamp)}|${txnId}|${dialogId}||Msg sent:|`,
  newRequest: (stamp: Stamp, txnId: string, local: HostPort): string =>
    `sip|network|${stamped(stamp)}|${txnId}||${local.host}|${local.port}|`,
  network: (stamp: Stamp, txnId: string, dialogId: string): string =>
    `sip|network|${stamped(stamp)}|${txnId}|${dialogId}|`,
  synthetic: (time: string, txnId: string, dialogId: string): string =>
    `sip|network|0|udp||0|${time}|${txnId}|${dialogId}|`,
  proxied: (toMsgId: string, stamp: Stamp): string => `response|${toMsgId}|OK|network|${stamped(stamp)}|||continue`,
  cdr: (kind: 'attempt' | 'start' | 'stop', source: string, time: string, detail?: string): string =>
    `cdr:${kind}|${source}|${time}${detail === undefined ? '' : `|${detail}`}`,
  unsolicited: (stamp: Stamp, dialogId: string): string => `sip|application|${stamped(stamp)}|unsolicited|${dialogId}|`,
}
