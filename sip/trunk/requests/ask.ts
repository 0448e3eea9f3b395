/** Requests that wait for their final response and answer challenges on the way. */
import { isIP } from 'node:net'
import { formatHost } from '../../text/grammar.ts'
import { parseUri } from '../../text/uri.ts'
import { type ChallengeResult, type Credentials, isChallenge } from './credentials.ts'
import type { Agent, IncomingResponse, SipIn, SrfDialog } from './srf.ts'

export interface Asked {
  res: IncomingResponse
  /** Set when the response is a challenge that could not be answered. */
  refused: Exclude<ChallengeResult, 'answer'> | null
}

interface Request {
  method: string
  /** Called for each transmission, because CSeq has to grow. */
  headers(): Record<string, string>
  proxy: string | null
}

/** Sends a request outside dialogs. Rejects when it cannot be sent. */
export async function ask(
  agent: Agent,
  uri: string,
  request: Request,
  credentials: Credentials | null,
): Promise<Asked> {
  const { method } = request
  let proxy = request.proxy
  return answering(credentials, async last => {
    if (last !== null) proxy = challengerUri(last, proxy ?? uri) ?? proxy
    const headers = { ...request.headers(), ...credentials?.headers(method, uri) }
    return new Promise((resolve, reject) => {
      agent.request(uri, { method, headers, ...(proxy === null ? {} : { proxy }) }, (error, sent) => {
        if (sent === undefined) return reject(error)
        sent.on('response', res => {
          if (res.status >= 200) resolve(res)
        })
      })
    })
  })
}

export interface DialogRequest {
  method: string
  headers?: Record<string, string>
  body?: string
}

/** Sends a request inside a dialog. Rejects when it cannot be sent. */
export async function askInDialog(
  dialog: SrfDialog,
  { method, headers = {}, ...body }: DialogRequest,
  credentials: Credentials | null,
): Promise<Asked> {
  return answering(credentials, last => {
    // The digest covers the remote target, which the signalling server knows.
    const proof = last === null ? {} : credentials?.headers(method, last.req.uri)
    return new Promise((resolve, reject) => {
      dialog.request({ method, headers: { ...headers, ...proof }, ...body }, (error, res) => {
        if (res === undefined) reject(error)
        else if (res.status >= 200) resolve(res)
      })
    })
  })
}

async function answering(
  credentials: Credentials | null,
  send: (challenge: IncomingResponse | null) => Promise<IncomingResponse>,
): Promise<Asked> {
  const exchange = credentials?.exchange()
  let last: IncomingResponse | null = null
  for (;;) {
    const res: IncomingResponse = await send(last)
    if (!isChallenge(res)) {
      credentials?.accepted(res)
      return { res, refused: null }
    }
    const result = exchange?.challenged(res) ?? 'rejected'
    if (result !== 'answer') return { res, refused: result }
    last = res
  }
}

/**
 * The URI to send the answer to a challenge to: the host that sent it, since a name may resolve elsewhere the next
 * time. Null when the next hop is an address already, and over TLS, where the certificate names the domain.
 */
export function challengerUri(res: SipIn, nextHop: string): string | null {
  const hop = parseUri(nextHop)
  if (hop?.scheme !== 'sip' || isIP(hop.host) !== 0 || isIP(res.source_address) === 0) return null
  // The transport may have been chosen by DNS.
  const transport = hop.params.get('transport')?.toLowerCase() ?? (res.protocol === 'udp' ? undefined : res.protocol)
  if (transport === 'tls' || res.source_port === undefined) return null
  return `sip:${formatHost(res.source_address)}:${res.source_port}${transport ? `;transport=${transport}` : ''}`
}
