import { listOf, type SipMessage, serialise } from '../text/message.ts'
import { parseUri, type SipUri } from '../text/uri.ts'
import { parseVia } from '../text/validate.ts'
import type { App, Apps } from './apps.ts'
import type { Cdr } from './cdr.ts'
import type { DeadHosts } from './dead-hosts.ts'
import type { DialogStore } from './dialogs.ts'
import { PolicyError } from './headers.ts'
import type { Log } from './log.ts'
import type { Network } from './network.ts'
import { type Hop, type Resolver, resolveUri, usualPort } from './resolve.ts'
import type { Timers } from './transaction.ts'
import type { ReplyFlow, Transactions } from './transactions.ts'
import type { Flow, HostPortOf } from './transport.ts'
import { type Stamp, timeOfDay } from './wire.ts'

/** State shared by the parts of the server. Built once, by server.ts. */
export interface Core {
  log: Log
  network: Network
  resolver: Resolver
  dead: DeadHosts
  /** True when anything may be sent to an address. */
  mayReach: (address: string) => boolean
  /** Counts what was not sent because of its destination. */
  blocked: (remote: HostPortOf) => void
  counters: { unhandled: number; shed: number; blocked: number }
  /** Bytes above which a request leaves over TCP in place of UDP. */
  udpMost: number
  txns: Transactions
  dialogs: DialogStore
  apps: Apps
  cdr: Cdr
  timers: Timers
  /** Records that one of our softphones uses that address. */
  proved: (address: string) => void
}

export function stamp(flow: Flow, bytes: number, side: 'local' | 'remote'): Stamp {
  const at = flow[side]
  return { bytes, protocol: flow.protocol, address: at.host, port: at.port, time: timeOfDay(new Date()) }
}

/** Passes a message from the network to the application, serialised anew so that the client's parser can read it. */
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
  | { ok: true; flows: readonly [Flow, ...Flow[]] }
  | { ok: false; reason: 'DNS Error' | 'Service Unavailable' | 'Address Not Allowed' }

/**
 * Resolves a URI to the flows to try, in order, without addresses that nothing may be sent to. Throws PolicyError for
 * anything but a SIP URI.
 */
export async function routeTo(core: Core, text: string, random: () => number = Math.random): Promise<Route> {
  const uri = sipUri(text)
  const { network, resolver, dead, mayReach, blocked } = core
  let hops: Hop[]
  try {
    hops = await resolveUri(uri, { speaks: protocol => network.speaks(protocol), resolver, random })
  } catch {
    return { ok: false, reason: 'DNS Error' }
  }
  // Only this lookup decides which addresses a name has: an earlier one may have had a different answer.
  const allowed = hops.filter(({ remote }) => mayReach(remote.host))
  if (allowed.length === 0 && hops[0] !== undefined) {
    blocked(hops[0].remote)
    return { ok: false, reason: 'Address Not Allowed' }
  }
  const [first, ...others] = dead
    .order(allowed, Date.now())
    .flatMap(({ protocol, remote, name }) => network.flowTo(protocol, remote, name) ?? [])
  return first === undefined ? { ok: false, reason: 'Service Unavailable' } : { ok: true, flows: [first, ...others] }
}

/**
 * The reply flow when the request's connection is gone: the port in its Via, on the host it came from (RFC 3261
 * §18.2.2).
 */
export function replyFlow(network: Network): ReplyFlow {
  return ({ flow, request }) => {
    const port = parseVia(listOf(request, 'Via')[0] ?? '')?.port ?? usualPort(flow.protocol)
    return network.flowTo(flow.protocol, { host: flow.remote.host, port })
  }
}
