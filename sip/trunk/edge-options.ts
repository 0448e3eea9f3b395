/** What an engine gives its end of signalling, and hears from it. */

import type { Pace } from '../../media/bus/pace.ts'
import type { TrunkPlan } from '../../media/contract/plan.ts'
import type { TrunkCheckReport } from '../../media/contract/sip-trace.ts'
import type { CallTraces, Dialer } from '../../media/ports/dialer.ts'
import type { InboundOffer } from '../../media/ports/inbound.ts'
import type { Softphones, TrunkDirectory } from '../../media/ports/trunks.ts'
import type { Clock } from '../../media/shared/clock.ts'
import type { Log } from '../../media/shared/log.ts'
import type { Metrics } from '../../media/shared/metrics.ts'
import type { Resolver } from '../server/resolve.ts'
import type { MediaOptions } from './legs/media.ts'
import type { RegistrationStatus } from './registration/client.ts'
import type { OpenCalls } from './requests/open-calls.ts'
import type { HostStatus } from './routing/hosts.ts'

export type EdgeOptions = {
  /** The signalling server's admin port: ours, or a real drachtio-server's. */
  readonly host: string
  readonly port: number
  readonly secret: string
  readonly directory: TrunkDirectory
  readonly media: MediaOptions
  readonly clock: Clock
  readonly log: Log
  /** A call came in that could be answered. */
  onOffer(offer: InboundOffer): void
  /** Left out: calls may come in as soon as it is connected; false: once `listen` says so. */
  readonly listening?: boolean
  /** The signalling server is there, or not. Calls of a lost connection end as `connection_lost`. */
  onState?(up: boolean): void
  onTrunkStatus?(status: TrunkStatus): void
  /** Telephones that register with us, and the secret of the installation; left out: there are none. */
  readonly softphones?: { readonly directory: Softphones; readonly secret: string }
  /** Left out: nobody reads what is counted. */
  readonly metrics?: Metrics
  /** The CIDRs that calls may come from changed, `?` before strangers, `!` before those of them that are shut out: news for the embedded server's `--allow-file`, or a firewall. */
  onAllowedSources?(cidrs: readonly string[]): unknown
  /** Whether this engine is the one to register the trunk and to tell of it; call `syncRegistrations` when that changes. */
  mayRegister?(trunkId: string): boolean
  readonly mediaTimeoutMs?: number
  /** A carrier that took a REFER and then says nothing is asked after so long whether the call is still there. */
  readonly referSilenceMs?: number
  /** A call that is to be placed while the signalling server is away waits for so long. */
  readonly reconnectWaitMs?: number
  /** Holds a call back until its trunk may be dialled; left out: it always may. */
  readonly pace?: Pace
  /** How long a call waits for news of its trunk. */
  readonly trunkWaitMs?: number
  /**
   * A drachtio-server keeps the calls of an engine that has died or lost its connection, with a caller who hears nothing:
   * they are ended at the next connection. Left out: only by the embedded server, which does so by itself.
   */
  readonly calls?: OpenCalls
  /** Of names; left out: the system's. */
  readonly resolver?: Resolver
  /** Whether a trunk may be at an address; left out: at any. What is sent is the SIP server's to hold back. */
  mayReach?(address: string): boolean
}

/** All that is known of a trunk's far end. */
export type TrunkStatus = RegistrationStatus & { readonly hosts: readonly HostStatus[] }

export type Edge = {
  readonly dialer: Dialer
  readonly traces: CallTraces
  isUp(): boolean
  /** Which signalling server this is, in words that other engines at it use too; null while it is away. */
  server(): string | null
  /** Whether the server shall send us calls. What belongs to one of ours comes in any case. */
  listen(on: boolean): void
  /** Examines a trunk now, within some 14 s. Rejects when the signalling server is away. */
  check(trunk: TrunkPlan): Promise<TrunkCheckReport>
  /** CIDRs that calls may come from, as of now. */
  allowedSources(): string[]
  syncRegistrations(): void
  /** Takes no more calls, unregisters, and leaves the signalling server. Legs are their owners' to hang up first. */
  close(): Promise<void>
}
