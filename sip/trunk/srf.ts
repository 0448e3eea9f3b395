/**
 * drachtio-srf as this room uses it, under types of our own: the package's leave out half of what is called here. The
 * only importer of drachtio-srf in the whole project.
 */
import Srf from 'drachtio-srf'

export type SipIn = {
  readonly body: string
  readonly method: string
  readonly uri: string
  /** Empty on a response that the signalling server made up itself (nobody answered, nobody listens). */
  readonly source_address: string
  readonly source: 'network' | 'application'
  /** `host:port` of ours that the request came in at. */
  readonly receivedOn?: string
  get(name: string): string | undefined
  has(name: string): boolean
}

export type Credentials = (
  req: unknown,
  res: SipIn,
  done: (error: Error | null, user?: string, password?: string) => void,
) => void

export type IncomingRequest = SipIn & { on(event: 'cancel', listener: () => void): void }
export type SentRequest = SipIn & {
  on(event: 'response', listener: (res: IncomingResponse) => void): void
  cancel(done: (error: Error | null) => void): void
}
export type IncomingResponse = SipIn & { readonly status: number; readonly reason: string }
export type Reply = {
  readonly finalResponseSent: boolean
  send(status: number, options?: { headers?: Record<string, string>; body?: string }): void
}

export type SrfDialog = {
  readonly remote: { readonly sdp: string | undefined }
  on(event: 'destroy', listener: (req: SipIn, reason?: string) => void): void
  on(event: 'modify' | 'info' | 'refer', listener: (req: IncomingRequest, res: Reply) => void): void
  on(event: 'ack', listener: (req: SipIn) => void): void
  destroy(): Promise<unknown>
}

export type OutgoingCall = {
  readonly headers: Record<string, string>
  readonly localSdp: string
  readonly proxy?: string
  readonly auth?: Credentials
}

export type Agent = {
  on(event: 'connect', listener: (error: Error | null) => void): void
  on(event: 'close', listener: () => void): void
  on(event: 'error', listener: (error: Error) => void): void
  connect(options: { host: string; port: number; secret: string; reconnect: { retryMaxDelay: number } }): void
  disconnect(): void
  invite(handler: (req: IncomingRequest, res: Reply) => void): void
  options(handler: (req: IncomingRequest, res: Reply) => void): void
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
  request(
    uri: string,
    options: { method: string; headers: Record<string, string>; proxy?: string; auth?: Credentials },
  ): Promise<SentRequest>
}

export function createAgent(): Agent {
  return new Srf() as unknown as Agent
}

type Internals = { app?: { client?: { wp?: { closing?: boolean; reconnectVars?: { retryTimer?: NodeJS.Timeout } } } } }

/** Leaves the server for good. Without a connection `disconnect` throws and goes on trying to reconnect for ever. */
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
export function responseOf(error: unknown): { readonly status: number; readonly res: SipIn | null } | null {
  const { status, res } = error as { status?: unknown; res?: SipIn }
  return typeof status === 'number' ? { status, res: res ?? null } : null
}
