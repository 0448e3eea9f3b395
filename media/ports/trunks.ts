/** Trunks and softphones, as engines know them. */
import type { TrunkPlan } from '../contract/plan.ts'
import type { SoftphonePlan, SoftphoneState } from '../contract/softphones.ts'

/** What engines must know of trunks without being asked. */
export interface TrunkDirectory {
  all(): readonly TrunkPlan[]
  /** Calls back at each change; returns what stops it. */
  onChange(run: () => void): () => void
}

/** Telephones that register with us. While Redis is away promises may take as long as it does. */
export interface Softphones {
  /** Whether there are any, as last heard. */
  any(): boolean
  /** Null: nobody has that name. */
  find(username: string): Promise<SoftphonePlan | null>
  /** Null: it never registered. */
  state(id: string): Promise<SoftphoneState | null>
  /** `next` makes the new state of the old one, more than once when others do so too; null leaves it. */
  change(id: string, next: (before: SoftphoneState | null) => SoftphoneState | null): Promise<void>
  /** Whether `count` is higher than every count told of that nonce before. */
  countUp(nonce: string, count: number, keptMs: number): Promise<boolean>
  /** Addresses and CIDRs that are shut out for now. */
  banned(): string[]
  ban(network: string, forMs: number): Promise<void>
  /** Calls back when there are some or none any more, or who is banned changes; returns what stops it. */
  onChange(run: () => void): () => void
}
