/** Ports for trunks and softphones, as engines know them. */
import type { TrunkPlan } from '../contract/plan.ts'
import type { SoftphonePlan, SoftphoneState } from '../contract/softphones.ts'

/** The trunks that control published; reading them needs no request. */
export interface TrunkDirectory {
  all(): readonly TrunkPlan[]
  /** Calls `run` at each change; returns a function that unsubscribes. */
  onChange(run: () => void): () => void
}

/** Softphones that register with us. Without Redis the promises stay pending until it returns. */
export interface Softphones {
  /** True when there are softphones, as of the last update. */
  any(): boolean
  /** Resolves to null when no softphone has that user name. */
  find(username: string): Promise<SoftphonePlan | null>
  /** Resolves to null when the softphone never registered. */
  state(id: string): Promise<SoftphoneState | null>
  /** Replaces the state by `next(before)`, which runs again when another writer came first; null changes nothing. */
  change(id: string, next: (before: SoftphoneState | null) => SoftphoneState | null): Promise<void>
  /** Resolves to true when `count` exceeds every count reported for that nonce before. */
  countUp(nonce: string, count: number, keptMs: number): Promise<boolean>
  /** Addresses and CIDRs that are blocked at present. */
  banned(): string[]
  ban(network: string, forMs: number): Promise<void>
  /**
   * Calls `run` when the first softphone appears, the last one goes, or the bans change; returns a function that
   * unsubscribes.
   */
  onChange(run: () => void): () => void
}
