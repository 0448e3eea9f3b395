/** Options and interface of the engine's SIP edge. */

import type { DialRateLimiter } from '../../media/bus/dial-rate.ts'
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

export interface EdgeOptions {
  /** The admin port of the signalling server: ours, or a real drachtio-server's. */
  host: string
  port: number
  secret: string
  directory: TrunkDirectory
  media: MediaOptions
  clock: Clock
  log: Log
  /** Called for an inbound call that can be answered. */
  onOffer(offer: InboundOffer): void
  /** True when calls may arrive as soon as it is connected; true by default. False waits for `listen`. */
  listening?: boolean
  /** Reports whether the signalling server is connected. Calls of a lost connection end as `connection_lost`. */
  onState?(up: boolean): void
  onTrunkStatus?(status: TrunkStatus): void
  /** The softphone directory and the installation's secret; no softphones when left out. */
  softphones?: { directory: Softphones; secret: string }
  /** No metrics when left out. */
  metrics?: Metrics
  /**
   * Called when the allowed sources change, in the format of the embedded server's `--allow-file`: CIDRs with `@` before
   * sources of trunks, `?` before strangers and `!` before denied strangers; users of our registrations' contacts with
   * `=`.
   */
  onAllowedSources?(lines: readonly string[]): unknown
  /**
   * True when this engine registers the trunk and reports its status. Call `syncRegistrations` when the answer changes.
   */
  mayRegister?(trunkId: string): boolean
  mediaTimeoutMs?: number
  /**
   * Milliseconds of silence after an accepted REFER before we ask the carrier whether the call still exists; 20,000 by
   * default.
   */
  referSilenceMs?: number
  /** Milliseconds that an outbound call waits for the signalling server to reconnect; 10,000 by default. */
  reconnectWaitMs?: number
  /** Delays a call until its trunk may be dialled; no limit when left out. */
  pace?: DialRateLimiter
  /** Milliseconds that a call waits for its trunk's configuration; 3000 by default. */
  trunkWaitMs?: number
  /**
   * Store of open calls. A drachtio-server keeps the calls of an engine that died or lost its connection, with a caller
   * who hears silence; they are ended at the next connection. May be left out with the embedded server, which ends them
   * on its own.
   */
  calls?: OpenCalls
  /** DNS resolver; the system's by default. */
  resolver?: Resolver
  /** True when a trunk may be at an address; any by default. The SIP server enforces the same rule for requests. */
  mayReach?(address: string): boolean
  /** True when calls may come from a source that a trunk lists, an address or a CIDR; any by default. */
  mayAdmit?(network: string): boolean
}

/** Status of a trunk's registration and hosts. */
export type TrunkStatus = RegistrationStatus & { hosts: readonly HostStatus[] }

export interface Edge {
  dialer: Dialer
  traces: CallTraces
  isUp(): boolean
  /**
   * Identifies the connected signalling server, in the same words as the other engines use; null while disconnected.
   */
  server(): string | null
  /** Sets whether the server sends us new calls. Requests of our own calls arrive in any case. */
  listen(on: boolean): void
  /** Checks a trunk now, in about 14 s at most. Rejects when the signalling server is not connected. */
  check(trunk: TrunkPlan): Promise<TrunkCheckReport>
  /** CIDRs that calls may come from now. */
  allowedSources(): string[]
  syncRegistrations(): void
  /**
   * Stops accepting calls, unregisters, and disconnects from the signalling server. The owners of legs hang up first.
   */
  close(): Promise<void>
}
