/** The trunks that control publishes, as an engine follows them. */
import type { Redis } from 'ioredis'
import { CONTRACT_VERSION, TrunksSnapshot } from '../contract/plan.ts'
import type { Sealer } from '../contract/seal.ts'
import type { TrunkDirectory } from '../ports/trunks.ts'
import type { Log } from '../shared/log.ts'
import type { BusKeys } from './keys.ts'
import { readNew } from './streams.ts'

/** Resolves once the current trunks are loaded; rejects when their snapshot is invalid. */
export async function followTrunks(options: {
  redis: Redis
  keys: BusKeys
  sealer: Sealer
  log: Log
}): Promise<TrunkDirectory & { stop(): Promise<void> }> {
  const { redis, keys, sealer, log } = options
  let current: TrunksSnapshot = { v: CONTRACT_VERSION, version: 0, trunks: [] }
  const listeners = new Set<() => void>()
  const load = async () => {
    const sealed = await redis.get(keys.trunks)
    if (!sealed) return
    current = TrunksSnapshot.parse(sealer.open(sealed, 'trunks'))
    for (const listener of listeners) listener()
  }
  const reader = await readNew({ redis, stream: keys.trunkChanges, log, handle: load })
  await load()
  return {
    all: () => current.trunks,
    onChange(run) {
      listeners.add(run)
      return () => listeners.delete(run)
    },
    stop: () => reader.stop(),
  }
}
