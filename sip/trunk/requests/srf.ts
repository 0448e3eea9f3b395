/**
 * drachtio-srf under our own types: those of the package omit half of the calls used here. No other file imports
 * drachtio-srf.
 */
import Srf from 'drachtio-srf'
import type { OpenCall } from './open-calls.ts'

export interface SipIn {
  body: string
  method: string
  uri: string
  /** Empty on a response that the signalling server generated itself (no answer, or connection refused). */
  source_address: string
  source_port?: number
  /** `udp`, `tcp`, `tls`, and with a real drachtio-server also `ws` and `wss`. */
  protocol?: string
  source: 'network' | 'application'
  /** `host:port` of ours that received the request. */
  receivedOn?: string
  get(name: string): string | undefined
  has(name: string): boolean
}

export type IncomingRequest = SipIn & { on(event: 'cancel', listener: () => void): void }
export type SentRequest = SipIn & {
  /** The server's transaction id. */
  stackTxnId: string
  on(event: 'response', listener: (res: IncomingResponse) => void): void
  cancel(done: (error: Error | null) => void): void
}
export type IncomingResponse = SipIn & {
  status: number
  reason: string
  /** The request that it answers, as sent. */
  req: SipIn
}
export interface Reply {
  finalResponseSent: boolean
  /** `onPrack` applies to a reliable provisional response (RFC 3262); the package answers the PRACK. */
  send(
    status: number,
    options?: { headers?: Record<string, string>; body?: string },
    done?: (error: unknown) => void,
    onPrack?: () => void,
  ): void
}

export interface SrfDialog {
  /** The server's dialog id. */
  id: string
  type: 'uac' | 'uas'
  /** The INVITE, and the 200 that answered it. */
  req: SipIn
  res: SipIn
  sip: { callId: string; localTag: string; remoteTag: string }
  /** `uri` is that of the remote Contact. */
  remote: { uri: string; sdp: string | undefined }
  /** `sdp` is the initial description. */
  local: { contact: string | undefined; sdp: string }
  on(event: 'destroy', listener: (req: SipIn, reason?: string) => void): void
  on(
    event: 'modify' | 'update' | 'info' | 'refer' | 'notify',
    listener: (req: IncomingRequest, res: Reply) => void,
  ): void
  on(event: 'ack', listener: (req: SipIn) => void): void
  /** `done` receives every response; the package acknowledges a 2xx to INVITE. */
  request(
    request: { method: string; headers: Record<string, string>; body?: string },
    done: (error: unknown, res?: IncomingResponse) => void,
  ): void
  /** Sends a BYE and forgets the dialog, even when the BYE could not be sent. */
  destroy(): Promise<unknown>
}

export interface OutgoingCall {
  headers: Record<string, string>
  localSdp: string
  proxy?: string
}

export interface Agent {
  /**
   * `listens`: the server's `transport/host:port` list, comma-separated; `local`: the same without external addresses.
   */
  on(
    event: 'connect',
    listener: (error: Error | null, listens?: string, version?: string, local?: string) => void,
  ): void
  on(event: 'close', listener: () => void): void
  on(event: 'error', listener: (error: Error) => void): void
  connect(options: { host: string; port: number; secret: string; reconnect: { retryMaxDelay: number } }): void
  disconnect(): void
  invite(handler: (req: IncomingRequest, res: Reply) => void): void
  options(handler: (req: IncomingRequest, res: Reply) => void): void
  register(handler: (req: IncomingRequest, res: Reply) => void): void
  /** Receives BYEs of calls that are not yet dialogs of the package: unanswered ones. */
  bye(handler: (req: IncomingRequest, res: Reply) => void): void
  /** The callbacks run in the tick of the frame they are about, so that no event of a new dialog is missed. */
  createUAC(
    uri: string,
    call: OutgoingCall,
    progress: { cbRequest(error: Error | null, req?: SentRequest): void; cbProvisional(res: IncomingResponse): void },
    done: (error: unknown, dialog?: SrfDialog) => void,
  ): void
  createUAS(
    req: IncomingRequest,
    res: Reply,
    options: { localSdp: string },
    done: (error: unknown, dialog?: SrfDialog) => void,
  ): void
  /** Takes a callback, not a promise: the response may be in the same chunk as the report that the request was sent. */
  request(
    uri: string,
    options: { method: string; headers: Record<string, string>; proxy?: string },
    sent: (error: unknown, req?: SentRequest) => void,
  ): void
}

/**
 * A header that must not be joined into one line (RFC 3261 §7.3.1 on WWW-Authenticate): the package allows one line per
 * name.
 */
export function lines(name: string, values: readonly string[]): Record<string, string> {
  return { [name]: values.join(`\r\n${name}: `) }
}

export function createAgent(): Agent {
  return new Srf() as unknown as Agent
}

interface Wire {
  closing?: boolean
  reconnectVars?: { retryTimer?: NodeJS.Timeout }
  prependListener(event: 'msg', listener: (socket: unknown, frame: string) => void): void
}
interface Client {
  wp?: Wire
  /** Verbs that it subscribes to, repeated at each new connection. */
  verbs: Map<string, object>
  /** Sends all `verbs` to the server. */
  route(verb: string): void
  removeRoute(verb: string): void
  request(
    options: { method: string; uri?: string; stackDialogId?: string; stackTxnId?: string; headers: object },
    done: (error: unknown) => void,
  ): void
}
interface Internals {
  app?: { client?: Client; routedMethods: Readonly<Record<string, true>> }
}

/** Calls `onFrame` with every frame from the server before the agent handles it. Call it once, after `connect`. */
export function watchFrames(agent: Agent, onFrame: (frame: string) => void): void {
  ;(agent as unknown as Internals).app?.client?.wp?.prependListener('msg', (_socket, frame) => onFrame(frame))
}

/**
 * Sets whether the server sends us requests outside dialogs. Call it after `connect`. Requests already sent, and
 * dialogs, continue. A drachtio-server removes all verbs of a connection on one `remove_route`, and picks a connection
 * once per registered verb: so all are removed, and each is added back once.
 */
export function setRoutes(agent: Agent, on: boolean): void {
  const { client, routedMethods = {} } = (agent as unknown as Internals).app ?? {}
  if (client === undefined || on === client.verbs.size > 0) return
  if (on) {
    const [last, ...others] = Object.keys(routedMethods)
    for (const verb of others) client.verbs.set(verb, {})
    if (last !== undefined) client.route(last)
    return
  }
  for (const verb of [...client.verbs.keys()]) client.removeRoute(verb)
  // Without a connection the package does not remove the verbs itself.
  client.verbs.clear()
}

/** Ends a call that the server still has and the package does not: one of an earlier connection or process. */
export function endCall(agent: Agent, { endedBy, id }: OpenCall, done: (error: unknown) => void): void {
  const { client } = (agent as unknown as Internals).app ?? {}
  // The server knows the address of either; for a CANCEL the package requires one.
  const which = endedBy === 'BYE' ? { stackDialogId: id } : { stackTxnId: id, uri: 'sip:placeholder' }
  try {
    client?.request({ method: endedBy, headers: {}, ...which }, done)
  } catch (error) {
    done(error)
  }
}

/** Disconnects permanently. Without a connection `disconnect` throws and keeps reconnecting for ever. */
export function stopAgent(agent: Agent): void {
  const wire = (agent as unknown as Internals).app?.client?.wp
  if (wire !== undefined) wire.closing = true
  clearTimeout(wire?.reconnectVars?.retryTimer)
  try {
    agent.disconnect()
  } catch {
    // Not connected at the moment.
  }
}

/** The final response behind a rejected createUAC, when there is one. */
export function responseOf(error: unknown): { status: number; res: IncomingResponse | null } | null {
  const { status, res } = error as { status?: unknown; res?: IncomingResponse }
  return typeof status === 'number' ? { status, res: res ?? null } : null
}
