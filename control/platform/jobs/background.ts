/** Work that no request waits for, but the shutdown does. */
import type { Log } from '../../../media/shared/log.ts'
import { errorFields } from '../log.ts'

const running = new WeakMap<object, Set<Promise<void>>>()

/** A failure is only logged, under the message `failure`. */
export function inBackground(deps: { log: Log }, failure: string, work: Promise<unknown>): void {
  const all = running.get(deps) ?? new Set()
  running.set(deps, all)
  const done = work
    .then(
      () => {},
      error => deps.log.error({ error: errorFields(error) }, failure),
    )
    .finally(() => all.delete(done))
  all.add(done)
}

export async function backgroundDone(deps: { log: Log }): Promise<void> {
  await Promise.all(running.get(deps) ?? [])
}
