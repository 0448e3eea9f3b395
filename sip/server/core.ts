import { type SipMessage, serialise } from '../text/message.ts'
import { parseUri, type SipUri } from '../text/uri.ts'
import type { App, Apps } from './apps.ts'
import type { DialogStore } from './dialogs.ts'
import { PolicyError } from './headers.ts'
import type { Log } from './log.ts'
import type { Network } from './network.ts'
import { type Hop, type Resolver, resolveUri } from './resolve.ts'
import type { Timers } from './transaction.ts'
import type { Transactions } from './transactions.ts'
import type { Flow } from './transport.ts'
import { type Stamp, timeOfDay } from './wire.ts'

/** What the parts of the server share. Built once, by server.ts. */
export type Core = {
  readonly log: Log
  readonly network: Network
  readonly resolver: Resolver
  readonly txns: Transactions
  readonly dialogs: DialogStore
  readonly apps: Apps
  readonly timers: Timers
}

export function stamp(flow: Flow, bytes: number, side: 'local' | 'remote'): Stamp {
  const at = flow[side]
  return { bytes, protocol: flow.protocol, address: at.host, port: at.port, time: timeOfDay(new Date()) }
}

/** Gives a message from the network to the application. It is written anew, so that the client's parser can read it. */
export function forward(app: App, leaderText: string, message: SipMessage): void {
  app.send(leaderText, serialise(message))
}

export function sipUri(text: string): SipUri {
  const uri = parseUri(text)
  if (uri === null || uri.scheme === 'other' || uri.scheme === 'tel')
    throw new PolicyError(`invalid request-uri: ${text}`)
  return uri
}

export type Route =
  | { readonly ok: true; readonly flow: Flow; readonly hop: Hop }
  | { readonly ok: false; readonly reason: 'DNS Error' | 'Service Unavailable' }

/** From a URI to a flow. Throws PolicyError for what is no SIP URI. */
export async function routeTo(core: Core, text: string): Promise<Route> {
  const uri = sipUri(text)
  let hop: Hop
  try {
    hop = await resolveUri(uri, core.network.speaks('udp'), core.resolver)
  } catch {
    return { ok: false, reason: 'DNS Error' }
  }
  const flow = core.network.flowTo(hop.protocol, hop.remote)
  return flow === null ? { ok: false, reason: 'Service Unavailable' } : { ok: true, flow, hop }
}
