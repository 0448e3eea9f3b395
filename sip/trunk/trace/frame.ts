/** Extracts SIP messages from drachtio's frames: those received, and those that the server reports as sent. Pure. */

export type Framed = {
  /** `sent` by us; `generated` by the server because the network sent no answer. */
  readonly way: 'came' | 'sent' | 'generated'
  readonly txnId: string
  /** Empty when the frame omits it (an ACK over the real drachtio-server). */
  readonly protocol: string
  /** `host:port` of the far end for a received message, otherwise of ours; null when the frame omits it. */
  readonly at: string | null
  /** Our address, for a new request. */
  readonly local: string | null
  readonly callId: string
  readonly text: string
}

const CALL_ID = /^(?:call-id|i)[ \t]*:[ \t]*(\S+)/im
/** A longer leader is not one of ours. */
const LONGEST_LEADER = 1000

/** Parses a frame without its length prefix: `id|type|…`, CRLF, message. Returns null when it holds no message. */
export function readFrame(frame: string): Framed | null {
  const end = frame.slice(0, LONGEST_LEADER).indexOf('\r\n')
  if (end < 0) return null
  const text = frame.slice(end + 2)
  const callId = CALL_ID.exec(text)?.[1]
  if (callId === undefined) return null
  const tokens = frame.slice(0, end).split('|')
  const found = tokens[1] === 'sip' ? readSip(tokens) : tokens[1] === 'response' ? readSent(tokens) : null
  return found === null ? null : { ...found, callId, text }
}

type Leader = Omit<Framed, 'callId' | 'text'>

/** `id|sip|source|bytes|protocol|address|port|time|txn|dialog|localAddress|localPort|` */
function readSip(tokens: readonly string[]): Leader {
  const [, , source, , protocol = '', address = '', port = '', , txnId = '', , localHost = '', localPort = ''] = tokens
  const at = hostPort(address, port)
  // A message that the server sends on its own in a dialog has source `application`, and the address is the far end's.
  if (source === 'application') return { way: 'sent', txnId, protocol, at: null, local: null }
  return { way: at === null ? 'generated' : 'came', txnId, protocol, at, local: hostPort(localHost, localPort) }
}

/** `id|response|msgId|OK|application|bytes|protocol|address|port|time|txn|…` */
function readSent(tokens: readonly string[]): Leader | null {
  const [, , , status, source, , protocol = '', address = '', port = '', , txnId = ''] = tokens
  if (status !== 'OK' || source !== 'application') return null
  return { way: 'sent', txnId, protocol, at: hostPort(address, port), local: null }
}

function hostPort(address: string, port: string): string | null {
  if (address === '') return null
  return `${address.includes(':') && !address.startsWith('[') ? `[${address}]` : address}:${port}`
}
