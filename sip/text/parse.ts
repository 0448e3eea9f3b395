import { isToken } from './grammar.ts'
import { canonicalName, type Header, type SipMessage, SipParseError, type SipRequest } from './message.ts'
import { validate } from './validate.ts'

export type ParseResult = { ok: true; message: SipMessage } | { ok: false; error: SipParseError }

export interface ParseOptions {
  /**
   * Treats everything after the blank line as the body, whatever Content-Length says: drachtio's frames count it in
   * characters.
   */
  bodyIsRest?: boolean
  /** Skips the checks of mandatory headers: an application's frames leave most of them to the server. */
  lax?: boolean
}

const MAX_BYTES = 262_144
const CR = 13
const LF = 10

/** Parses one whole message: a datagram, a framed part of a stream, or the message of an application's frame. */
export function parseMessage(bytes: Buffer, options: ParseOptions = {}): ParseResult {
  try {
    const message = read(bytes, options)
    if (options.lax !== true) validate(message)
    return { ok: true, message }
  } catch (error) {
    if (error instanceof SipParseError) return { ok: false, error }
    throw error
  }
}

function read(bytes: Buffer, options: ParseOptions): SipMessage {
  if (bytes.length > MAX_BYTES) throw new SipParseError('too_large', `${bytes.length} bytes`)
  let start = 0
  while (bytes[start] === CR || bytes[start] === LF) start++
  if (start === bytes.length) throw new SipParseError('empty', 'no start line')
  const end = bytes.indexOf('\r\n\r\n', start)
  const headEnd = end < 0 ? bytes.length : end
  const lines = bytes
    .toString('latin1', start, headEnd)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const draft = startLine(lines[0]!)
  const headers = readHeaders(lines, draft)
  const partial = { ...draft, headers, body: Buffer.alloc(0) }
  const answerable = partial.kind === 'request' ? partial : null
  if (end < 0 && options.lax !== true) throw new SipParseError('truncated', 'no blank line', answerable)
  const rest = end < 0 ? Buffer.alloc(0) : bytes.subarray(end + 4)
  const body = options.bodyIsRest === true ? rest : cutBody(rest, headers, answerable)
  return { ...draft, headers, body }
}

type StartLine = { kind: 'request'; method: string; uri: string } | { kind: 'response'; status: number; reason: string }

function startLine(line: string): StartLine {
  const status = /^SIP\/(\d+)\.(\d+) (\d{3})(?: (.*))?$/i.exec(line)
  if (status !== null) {
    const code = Number(status[3])
    if (status[1] !== '2' || status[2] !== '0') throw new SipParseError('bad_version', 'not SIP/2.0')
    if (code < 100 || code > 699) throw new SipParseError('bad_start_line', 'status out of range')
    return { kind: 'response', status: code, reason: status[4] ?? '' }
  }
  const request = /^([^ ]+) ([^ ]+) SIP\/(\d+)\.(\d+) *$/i.exec(line)
  if (request !== null && isToken(request[1]!))
    return { kind: 'request', method: request[1]!, uri: versioned(request[2]!, request[3]!, request[4]!) }
  // Misplaced blanks: still a request, answered once its headers are read.
  const method = /^(\S+)\s.*\sSIP\/\d+\.\d+\s*$/i.exec(line)?.[1]
  if (method === undefined || !isToken(method))
    throw new SipParseError('bad_start_line', 'neither request nor response')
  return { kind: 'request', method, uri: MISPLACED_BLANKS }
}

/** An invalid URI, so that the request is refused after its headers are read. */
const MISPLACED_BLANKS = ' '

/** A wrong version must be answered with 505, so it is marked in `uri` until the headers are read. */
function versioned(uri: string, major: string, minor: string): string {
  return Number(major) === 2 && Number(minor) === 0 ? uri : `${WRONG_VERSION}${uri}`
}
const WRONG_VERSION = '\0'

function readHeaders(lines: readonly string[], draft: StartLine): Header[] {
  const headers: Header[] = []
  const answerable = (): SipRequest | null =>
    draft.kind === 'request' ? { ...draft, headers: [...headers], body: Buffer.alloc(0) } : null
  let bad: string | null = null
  for (const line of lines.slice(1)) {
    if (line === '') continue
    const colon = line.indexOf(':')
    const name = colon < 0 ? '' : line.slice(0, colon).trimEnd()
    if (!isToken(name)) bad = 'a line is not a header field'
    else headers.push([canonicalName(name), line.slice(colon + 1).trim()])
  }
  if (bad !== null) throw new SipParseError('bad_header', bad, answerable())
  if (draft.kind === 'request' && draft.uri.startsWith(WRONG_VERSION)) {
    throw new SipParseError('bad_version', 'not SIP/2.0', answerable())
  }
  if (draft.kind === 'request' && draft.uri === MISPLACED_BLANKS) {
    throw new SipParseError('bad_uri', 'blanks in the start line', answerable())
  }
  return headers
}

/**
 * RFC 3261 §18.3: drops bytes beyond Content-Length; too few are an error; without the header the body is the rest of
 * the datagram.
 */
function cutBody(rest: Buffer, headers: readonly Header[], request: SipRequest | null): Buffer {
  const given = headers.filter(([name]) => name === 'Content-Length').map(([, value]) => value)
  if (given.length === 0) return rest
  if (given.some(value => value !== given[0] || !/^\d{1,9}$/.test(value))) {
    throw new SipParseError('bad_content_length', 'not one number', request)
  }
  const length = Number(given[0])
  if (length > rest.length) throw new SipParseError('truncated', 'body shorter than Content-Length', request)
  return rest.subarray(0, length)
}
